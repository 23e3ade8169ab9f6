//! One page in the browser, and the hands of whoever looks at it.

use crate::driver::Driver;
use crate::until;
use serde_json::{Value, json};

/// Where something is on the screen, in pixels.
pub type Point = (f64, f64);

/// A page of the console.
pub struct Page {
    driver: Driver,
    url: String,
}

impl Page {
    /// Opens a console's address in a window of this size, and waits for its first picture.
    pub fn open(url: &str, (width, height): (u32, u32)) -> Self {
        let page = Self { driver: Driver::start(width, height), url: url.to_owned() };
        page.go("");
        page
    }

    /// Goes to a fragment of the console's address. A page whose scripts did not all come (the
    /// machine's network changed meanwhile) is asked for again, as a person would.
    pub fn go(&self, fragment: &str) {
        let url = format!("{}{fragment}", self.url);
        until("the page to start", || {
            self.driver.ask("POST", "/url", &json!({ "url": url }));
            if !self.is("window.March && March.app") {
                self.driver.ask("POST", "/refresh", &json!({}));
            }
            self.is("window.March && March.app").then_some(())
        });
        self.wait("the feed's first words", "March.app.model.hello");
    }

    /// The value of an expression.
    pub fn value(&self, expression: &str) -> Value {
        let script = format!("return ({expression})");
        self.driver.ask("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The value that these statements return, which may wait.
    pub fn run(&self, statements: &str) -> Value {
        let script = format!(
            "const done = arguments[0]; (async () => {{ {statements} }})()
             .then(done, (error) => done({{ failed: String(error.stack || error) }}))"
        );
        let value =
            self.driver.ask("POST", "/execute/async", &json!({"script": script, "args": []}));
        assert!(value.get("failed").is_none(), "{statements}\n{}", value["failed"]);
        value
    }

    /// Whether an expression is true.
    pub fn is(&self, expression: &str) -> bool {
        self.value(&format!("Boolean({expression})")) == json!(true)
    }

    /// Waits until an expression is true.
    pub fn wait(&self, what: &str, expression: &str) {
        until(what, || self.is(expression).then_some(()));
    }

    /// Waits for a text somewhere in what a selector finds.
    pub fn wait_text(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.wait(
            &format!("{text} in {selector}"),
            &format!("[...document.querySelectorAll({selector})].some((one) => one.innerText.includes({text}))"),
        );
    }

    /// The middle of what a selector finds first.
    pub fn place(&self, selector: &str) -> Point {
        let script = format!(
            "(() => {{ const one = document.querySelector({}); one.scrollIntoView({{ block: 'nearest' }});
               const box = one.getBoundingClientRect();
               return [box.left + box.width / 2, box.top + box.height / 2]; }})()",
            json!(selector)
        );
        point(&self.value(&script)).unwrap_or_else(|| panic!("no {selector} on the page"))
    }

    /// Clicks with the mouse on what a selector finds first.
    pub fn click(&self, selector: &str) {
        self.click_at(self.place(selector));
    }

    /// Clicks with the mouse on a place.
    pub fn click_at(&self, at: Point) {
        self.mouse(&[move_to(at, 0), press(), release()]);
    }

    /// Taps with a finger.
    pub fn tap(&self, at: Point) {
        self.pointer("touch", &[move_to(at, 0), press(), release()]);
    }

    fn mouse(&self, actions: &[Value]) {
        self.pointer("mouse", actions);
    }

    fn pointer(&self, kind: &str, actions: &[Value]) {
        let pointer = json!({"type": "pointer", "id": kind, "parameters": {"pointerType": kind},
            "actions": actions});
        self.driver.ask("POST", "/actions", &json!({"actions": [pointer]}));
    }

    /// Presses keys one after the other; names as WebDriver's, such as `\u{E006}` for Enter.
    pub fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
            })
            .collect();
        let board = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.driver.ask("POST", "/actions", &json!({"actions": [board]}));
    }

    /// Makes the page believe that the system wishes for this: `prefers-color-scheme`, `dark`.
    pub fn prefer(&self, feature: &str, value: &str) {
        let features = json!({"features": [{"name": feature, "value": value}]});
        self.driver.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// Keeps a picture of the page, if somebody asked for pictures: `MARCH_PICTURES` is the folder.
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("MARCH_PICTURES") else { return };
        let text = self.driver.ask("GET", "/screenshot", &Value::Null);
        let bytes = base64(text.as_str().unwrap());
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }

    /// What the page complained of since it was asked last. That the network of the machine changes
    /// just now, and that a server has no answer, are none of its faults.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.driver.ask("POST", "/se/log", &json!({"type": "browser"}));
        log.as_array()
            .into_iter()
            .flatten()
            .filter(|line| line["level"] == "SEVERE")
            .filter_map(|line| line["message"].as_str().map(str::to_owned))
            .filter(|text| !text.contains("ERR_NETWORK_CHANGED"))
            .filter(|text| !(text.contains("/api/") && text.contains("Failed to load resource")))
            .collect()
    }
}

fn move_to((x, y): Point, ms: u32) -> Value {
    json!({"type": "pointerMove", "x": x.round(), "y": y.round(), "duration": ms, "origin": "viewport"})
}

fn press() -> Value {
    json!({"type": "pointerDown", "button": 0})
}

fn release() -> Value {
    json!({"type": "pointerUp", "button": 0})
}

/// Reads `[x, y]` or `{x, y}`.
pub fn point(value: &Value) -> Option<Point> {
    let part = |name: &str, at: usize| value.get(name).or_else(|| value.get(at))?.as_f64();
    Some((part("x", 0)?, part("y", 1)?))
}

/// What base64 stands for; what is no letter of it is passed over.
fn base64(text: &str) -> Vec<u8> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let place = |letter| letters.iter().position(|known| *known == letter);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for value in text.bytes().filter_map(place) {
        held = (held << 6) | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    bytes
}
