//! Keeping a lease alive, for as long as the lease exists.
//!
//! Invariants: the loop ends only when etcd says that the lease is gone, never on an error; a
//! renewal counts from the moment it was *sent*; after a pause of the process there is one renewal,
//! not one for each that was missed.

use super::client::{CoordClient, LeaseId};
use super::error::{CallError, CoordError};
use etcd_client::{LeaseKeepAliveStream, LeaseKeeper};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

/// Longest pause between renewals, whatever the time to live: see the module `client`.
const PERIOD_MAX: Duration = Duration::from_secs(2);

/// What is known about a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseProof {
    /// When the last renewal that was answered had been sent.
    pub proven_at: Instant,
    /// The granted time to live.
    pub ttl: Duration,
    /// Since when renewals have failed, if they do.
    pub failing_since: Option<Instant>,
    /// etcd has said that the lease is gone.
    pub gone: bool,
}

impl LeaseProof {
    /// A lease that was granted by a call sent at `asked_at`.
    #[must_use]
    pub fn granted(asked_at: Instant, ttl: Duration) -> Self {
        Self { proven_at: asked_at, ttl, failing_since: None, gone: false }
    }

    /// Whether the lease certainly lives at `now`, with a fifth of its time as a margin. Never true
    /// again once it is gone.
    #[must_use]
    pub fn holds(&self, now: Instant) -> bool {
        !self.gone && now < self.proven_at + self.ttl * 4 / 5
    }

    /// How long the lease certainly lives on; zero once that cannot be said.
    #[must_use]
    pub fn remaining(&self, now: Instant) -> Duration {
        if self.gone { Duration::ZERO } else { (self.proven_at + self.ttl) - now }
    }

    /// Since when the lease is unproven: renewals fail, or half its time passed without one.
    #[must_use]
    pub fn unproven_since(&self, now: Instant) -> Option<Instant> {
        let half = self.proven_at + self.ttl / 2;
        self.failing_since.or((now >= half).then_some(half))
    }
}

/// etcd has no such lease any more.
#[derive(Debug)]
pub(super) struct LeaseGone;

type KeepAlive = (LeaseKeeper, LeaseKeepAliveStream);

/// Renews until etcd says that the lease is gone; keeps `proof` up to date meanwhile.
pub(super) async fn keep_alive(
    client: &CoordClient,
    lease: LeaseId,
    proof: &watch::Sender<LeaseProof>,
) -> LeaseGone {
    let ttl = proof.borrow().ttl;
    let period = (ttl / 3).min(PERIOD_MAX);
    let patience = period.min(client.options().request_timeout);
    let mut backoff = client.backoff(Duration::from_millis(50), period);
    let mut stream: Option<KeepAlive> = None;
    let mut next = Instant::now() + period;
    loop {
        sleep_until(next).await;
        let sent = Instant::now();
        client.begun("lease_renewals");
        let renewed = timeout(patience, renew(client, lease, &mut stream)).await;
        match renewed.unwrap_or(Err(CallError::Deadline(patience))) {
            Ok(true) => {
                proof.send_modify(|p| {
                    p.proven_at = sent;
                    p.failing_since = None;
                });
                backoff.reset();
                next = sent + period;
            }
            Ok(false) => {
                proof.send_modify(|p| p.gone = true);
                return LeaseGone;
            }
            Err(error) => {
                // Half-read streams are not trusted: the next attempt opens a new one.
                stream = None;
                let error = CoordError::Renew(error);
                tracing::debug!(lease, error = %chain(&error), "a renewal failed");
                proof.send_modify(|p| {
                    p.failing_since.get_or_insert(sent);
                });
                next = Instant::now() + backoff.next_delay();
            }
        }
    }
}

/// One renewal. False: the lease is gone.
async fn renew(
    client: &CoordClient,
    lease: LeaseId,
    stream: &mut Option<KeepAlive>,
) -> Result<bool, CallError> {
    let Some((keeper, answers)) = stream else {
        // Opening the stream renews once.
        return match client.lease_client().keep_alive(lease).await.map_err(CallError::Etcd) {
            Ok(opened) => {
                *stream = Some(opened);
                Ok(true)
            }
            Err(error) if error.is_lease_not_found() => Ok(false),
            Err(error) => Err(error),
        };
    };
    keeper.keep_alive().await?;
    match answers.message().await? {
        Some(answer) => Ok(answer.ttl() > 0),
        None => Err(CallError::Incomplete("next message: the stream ended")),
    }
}

/// An error with its sources, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_four_fifths_of_its_time_and_is_doubted_after_half() {
        let start = Instant::now();
        let proof = LeaseProof::granted(start, Duration::from_secs(10));
        let after = |s| start + Duration::from_secs(s);
        assert!(proof.holds(after(7)) && !proof.holds(after(8)));
        assert_eq!(proof.remaining(after(7)), Duration::from_secs(3));
        assert_eq!(proof.remaining(after(11)), Duration::ZERO);
        assert_eq!(proof.unproven_since(after(4)), None);
        assert_eq!(proof.unproven_since(after(5)), Some(after(5)));
        let failing = LeaseProof { failing_since: Some(after(1)), ..proof };
        assert_eq!(failing.unproven_since(after(2)), Some(after(1)));
        assert!(!LeaseProof { gone: true, ..proof }.holds(start));
    }
}
