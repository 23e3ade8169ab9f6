//! What a client may send, and how fast.

use std::time::Duration;
use tokio::time::Instant;

/// Largest message of a client, in bytes; a larger one ends its stream before it is read.
pub const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Longest arguments of a command, in bytes.
pub const ARGS_BYTES_MAX: usize = 8 << 10;
/// Longest account name, in bytes.
pub(super) const ACCOUNT_BYTES_MAX: usize = 64;
/// Messages a second that a client may send; a faster one is read more slowly.
pub const RATE_PER_SECOND: u32 = 200;
/// Messages that may come at once.
const BURST: f64 = 400.0;
/// Frames that wait for a client to read them; with more it is cut off.
pub(super) const TOLD_MAX: usize = 1_024;
/// How long a stream may take to say who it is.
pub(super) const HELLO_MAX: Duration = Duration::from_secs(5);
/// How long a login may take to be answered.
pub(super) const WELCOME_MAX: Duration = Duration::from_secs(10);

/// A bucket that fills with time.
pub(super) struct Pace {
    tokens: f64,
    at: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { tokens: BURST, at: Instant::now() }
    }

    /// How long the next message has to wait.
    pub(super) fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let rate = f64::from(RATE_PER_SECOND);
        let earned = now.duration_since(self.at).as_secs_f64() * rate;
        (self.tokens, self.at) = ((self.tokens + earned).min(BURST) - 1.0, now);
        (self.tokens < 0.0).then(|| Duration::from_secs_f64(-self.tokens / rate))
    }
}
