//! Waiting for a file that a child writes.

use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The content of a file once it is there, within a limit.
pub(super) async fn until_file(path: &Path, within: Duration) -> Option<Vec<u8>> {
    let deadline = Instant::now() + within;
    loop {
        if let Ok(text) = std::fs::read(path) {
            return Some(text);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(Duration::from_millis(10)).await;
    }
}
