//! The pages in a real browser, over a small recording and out of one file. The browser is Chromium,
//! spoken to by WebDriver.
#![allow(clippy::unwrap_used, missing_docs)]

mod driver;
mod exported;
mod logic;
mod looks;
mod page;
mod recorded;
mod served;
#[path = "../http/support.rs"]
#[allow(dead_code)]
mod support;

use std::time::{Duration, Instant};

/// The window of a laptop.
const LAPTOP: (u32, u32) = (1440, 900);
/// A phone in the hand.
const PHONE: (u32, u32) = (390, 844);

/// A condition that is awaited; the limit is patience, not a measurement.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
