//! Waiting between attempts: doubling, bounded, and jittered from a seed, so that many processes
//! that fail at once do not come back at once, and a test can repeat what it saw.

use super::CoordError;
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// A sequence of delays. Each lies between half of and the whole of a step that doubles from
/// `first` to `longest`.
#[derive(Clone, Debug)]
pub struct Backoff {
    state: u64,
    step: Duration,
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Delays from `first` to `longest`, drawn from `seed`.
    #[must_use]
    pub fn new(seed: u64, first: Duration, longest: Duration) -> Self {
        Self { state: seed, step: first, first, longest: longest.max(first) }
    }

    /// The next delay.
    pub fn next_delay(&mut self) -> Duration {
        let step = self.step;
        self.step = (step * 2).min(self.longest);
        self.jitter(step)
    }

    /// Between half of `whole` and `whole`, without a step: for work that is repeated for ever.
    pub fn jitter(&mut self, whole: Duration) -> Duration {
        let half = whole / 2;
        let span = u64::try_from(half.as_micros()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_micros(self.draw() % span)
    }

    /// Starts over with the shortest step, after a success.
    pub fn reset(&mut self) {
        self.step = self.first;
    }

    /// splitmix64: small, and well enough mixed for seeds that differ by one.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.state;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Tries `operation` until it succeeds, fails for good, or `deadline` has passed. Returns the last
/// error.
pub async fn retry<T, F: Future<Output = Result<T, CoordError>>>(
    mut backoff: Backoff,
    deadline: Instant,
    mut operation: impl FnMut() -> F,
) -> Result<T, CoordError> {
    loop {
        let error = match operation().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let again = Instant::now() + backoff.next_delay();
        if !error.is_transient() || again >= deadline {
            return Err(error);
        }
        tracing::debug!(%error, "trying again");
        tokio::time::sleep_until(again).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_stay_within_half_of_their_step() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_millis(900));
        let mut backoff = Backoff::new(7, first, longest);
        for step in [100, 200, 400, 800, 900, 900] {
            let step = Duration::from_millis(step);
            let delay = backoff.next_delay();
            assert!(delay >= step / 2 && delay <= step, "{delay:?} for {step:?}");
        }
        backoff.reset();
        assert!(backoff.next_delay() <= first);
    }

    #[test]
    fn the_same_seed_gives_the_same_delays_and_another_seed_others() {
        let delays = |seed| {
            let mut b = Backoff::new(seed, Duration::from_secs(1), Duration::from_secs(60));
            (0..8).map(|_| b.next_delay()).collect::<Vec<_>>()
        };
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }
}
