//! Starting the program and reading what it says.

use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
pub fn march() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_march"));
    command.env_remove("MARCH_CLUSTER").stdin(Stdio::null());
    command
}

/// Runs a verb to its end.
pub fn run(args: &[&str]) -> Output {
    march().args(args).output().unwrap()
}

/// The last line of an output as JSON.
pub fn last_json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_else(|| panic!("nothing on stdout: {output:?}"));
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A condition that is awaited; the limit is patience, not a measurement.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A demo that runs until it is dropped.
pub struct Demo {
    child: Child,
    pub dir: PathBuf,
    temp: tempfile::TempDir,
}

impl Demo {
    pub fn start(more: &[&str]) -> Self {
        Self::start_in(&[], more)
    }

    /// With these environment variables, which its processes inherit.
    pub fn start_in(environment: &[(&str, &str)], more: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("demo");
        let child = march()
            .args(["demo", "--json", "--dir", dir.to_str().unwrap()])
            .args(more)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut demo = Self { child, dir, temp };
        until("the demo to be ready", || {
            let ended = demo.child.try_wait().unwrap();
            assert!(ended.is_none(), "the demo ended before it was ready: {ended:?}");
            demo.dir.join("cluster.json").exists().then_some(())
        });
        demo
    }

    pub fn file(&self) -> Value {
        let text = std::fs::read_to_string(self.dir.join("cluster.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub fn dir(&self) -> &str {
        self.dir.to_str().unwrap()
    }

    /// A verb against this cluster.
    pub fn ask(&self, args: &[&str]) -> Output {
        march().args(args).args(["--cluster", self.dir()]).output().unwrap()
    }

    /// Asks it to end, as Ctrl-C does, and gives its report.
    pub fn end(self) -> (i32, Value) {
        let (code, report, _) = self.end_and_keep();
        (code, report)
    }

    /// The same, with the folder that it left.
    pub fn end_and_keep(mut self) -> (i32, Value, tempfile::TempDir) {
        signal(self.child.id(), nix::sys::signal::Signal::SIGINT);
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        let report = serde_json::from_str(text.lines().last().unwrap_or("null")).unwrap();
        let left = std::mem::replace(&mut self.temp, tempfile::tempdir().unwrap());
        (status.code().unwrap_or(-1), report, left)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Its children end with it: they hold the other end of a pipe.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal(pid: u32, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    let _ = nix::sys::signal::kill(pid, signal);
}

/// Whether a process still runs.
pub fn is_alive(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// A real etcd with its own folder and ports; ends when it is dropped.
pub struct Etcd {
    child: Child,
    pub url: String,
    peers: String,
    temp: tempfile::TempDir,
}

impl Etcd {
    pub fn start() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let url = format!("http://127.0.0.1:{}", free_port());
        let peers = format!("http://127.0.0.1:{}", free_port());
        let child = Self::run(&temp, &url, &peers);
        Self { child, url, peers, temp }
    }

    /// Kills it and starts it again with what it knew.
    pub fn killed_and_started_again(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = Self::run(&self.temp, &self.url, &self.peers);
    }

    fn run(temp: &tempfile::TempDir, url: &str, peers: &str) -> Child {
        let child = Command::new("etcd")
            .args(["--data-dir", temp.path().join("data").to_str().unwrap()])
            .args(["--listen-client-urls", url, "--advertise-client-urls", url])
            .args(["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("a real etcd is needed here (package etcd-server): {e}"));
        until("etcd to listen", || {
            std::net::TcpStream::connect(url.trim_start_matches("http://")).ok().map(drop)
        });
        child
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
