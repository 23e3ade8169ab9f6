//! What one event says, apart from what it means: its kind by name, and which entity, epoch, step,
//! logical message and peer it is about. The merged order and the audit's witnesses show it so.

mod about;
mod kind;

pub use about::{About, about, text};
pub use kind::Kind;

use marchland_common::digest::digest_of;
use marchland_common::world::{CommandOutcome, MessageOutcome};

/// A short name of a command's outcome.
#[must_use]
pub const fn command_outcome(outcome: &CommandOutcome) -> &'static str {
    match outcome {
        CommandOutcome::Applied(_) => "applied",
        CommandOutcome::Rejected(_) => "rejected",
        CommandOutcome::Expired => "expired",
    }
}

/// A short name of a message's outcome.
#[must_use]
pub const fn message_outcome(outcome: &MessageOutcome) -> &'static str {
    match outcome {
        MessageOutcome::Applied(_) => "applied",
        MessageOutcome::Spawned(_) => "spawned",
        MessageOutcome::Rejected(_) => "rejected",
        MessageOutcome::Undeliverable => "undeliverable",
    }
}

/// What two outcomes are compared by.
#[must_use]
pub fn outcome_digest<T: serde::Serialize>(outcome: &T) -> u64 {
    digest_of(outcome)
}
