//! Waiting for a state instead of for a time.

use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a condition may take on a machine that does ten other things.
const PATIENCE: Duration = Duration::from_secs(40);

/// Polls until `probe` gives a value; panics with `what` if it never does.
pub async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut probe: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(Instant::now() < deadline, "never happened: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Repeats an operation through failures that will pass, until it succeeds.
pub async fn never_fails<T, E: std::fmt::Debug, F: Future<Output = Result<T, E>>>(
    what: &str,
    mut operation: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match operation().await {
            Ok(value) => return value,
            Err(error) => assert!(Instant::now() < deadline, "{what}: {error:?}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}
