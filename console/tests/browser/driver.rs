//! Chromium by WebDriver: a chromedriver of its own, one session, and the few commands that the
//! tests need. The protocol is JSON over HTTP; a client library would bring fifty crates for it.

use crate::until;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A browser lives no longer than this: what is asked of it later fails, and so the test ends.
const LIFE_MAX: Duration = Duration::from_secs(150);
/// What the end of a session may take.
const END_MAX: Duration = Duration::from_secs(5);
/// What `deploy/test` says when it has seen to it that there is a browser.
const INSTALLED: &str = "MARCH_BROWSER_INSTALLED";

/// Whether there is a browser to test in. Where there is none the tests say so and pass, except in
/// CI that has installed one.
pub fn is_here() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let browsers = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    if has("chromedriver") && browsers.into_iter().any(has) {
        return true;
    }
    let is_set = |name: &str| std::env::var(name).is_ok_and(|value| value == "true");
    assert!(
        !(is_set("CI") && is_set(INSTALLED)),
        "deploy/test installed a browser, and none is found"
    );
    eprintln!("NOT TESTED: no chromedriver with a browser (deploy/install-tools chromium)");
    false
}

/// A running chromedriver with one session. Both end when it is dropped, and with this process.
pub struct Driver {
    child: Child,
    port: u16,
    session: String,
    born: Instant,
    _files: TempDir,
}

impl Driver {
    /// Starts a browser with a window of this size; a narrow one is a phone with a touch screen.
    pub fn start(width: u32, height: u32) -> Self {
        let port = free_port();
        let files = tempfile::tempdir().unwrap();
        let child = chromedriver(port, &files).spawn().unwrap_or_else(|e| {
            panic!("chromedriver does not start: {e}");
        });
        let (session, born) = (String::new(), Instant::now());
        let mut driver = Self { child, port, session, born, _files: files };
        until("chromedriver to answer", || driver.call("GET", "/status", None).ok());
        let mut options = json!({"args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--force-device-scale-factor=1", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", "--disable-component-update",
            format!("--window-size={width},{height}"),
        ]});
        if width < 600 {
            let metrics =
                json!({"width": width, "height": height, "pixelRatio": 2.0, "touch": true});
            options["mobileEmulation"] = json!({"deviceMetrics": metrics});
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 30_000, "pageLoad": 30_000},
        }}});
        let session = driver.call("POST", "/session", Some(&wanted)).unwrap_or_else(|e| {
            panic!("no browser starts (deploy/install-tools chromium has one): {e}")
        });
        session["sessionId"].as_str().unwrap().clone_into(&mut driver.session);
        if width >= 600 {
            let metrics =
                json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
            driver.devtools("Emulation.setDeviceMetricsOverride", &metrics);
        }
        driver
    }

    /// A command of the session.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        let body = (method != "GET").then_some(body);
        self.call(method, &path, body).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    /// A command of the browser's own protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.ask("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        if self.born.elapsed() > LIFE_MAX && method != "DELETE" {
            return Err(format!("this browser has run for {LIFE_MAX:?}"));
        }
        let answer = self.exchange(method, path, body).map_err(|e| e.to_string())?;
        let value: Value = serde_json::from_slice(&answer).map_err(|e| e.to_string())?;
        match value["value"].get("error").filter(|error| error.is_string()) {
            Some(error) => Err(format!("{error}: {}", value["value"]["message"])),
            None => Ok(value["value"].clone()),
        }
    }

    fn exchange(&self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Vec<u8>> {
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let left = LIFE_MAX.saturating_sub(self.born.elapsed());
        stream.set_read_timeout(Some(left.max(END_MAX)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            self.port,
            text.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line.trim() != "" {
            let (name, value) = line.split_once(':').unwrap_or(("", ""));
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The browser ends with its session; whatever is left ends with the group.
        let _ = self.call("DELETE", &format!("/session/{}", self.session), None);
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The driver, in a process group with its browser and a shell. The shell ends them all when its
/// input closes: when the driver is dropped, and also when this process is killed.
fn chromedriver(port: u16, files: &TempDir) -> Command {
    const UNTIL_CLOSED: &str = "chromedriver \"$@\" & read -r _; kill -KILL 0";
    let mut command = Command::new("sh");
    command
        .args(["-c", UNTIL_CLOSED, "sh", &format!("--port={port}"), "--log-level=SEVERE"])
        .env("TMPDIR", files.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
