//! Everything that a process may refuse or drop, by reason: each is one journal event and one
//! counter.

use serde::{Deserialize, Serialize};

/// Why something had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refused {
    /// The sender's epoch is lower than the entity's.
    StaleEpoch,
    /// The sender is an earlier life, or one that was declared dead.
    StaleIncarnation,
    /// The step's number was accepted before.
    DuplicateStep,
    /// The step's number leaves a gap.
    StepGap,
    /// The digests before or after a step differ.
    DigestMismatch,
    /// A change does not fit the state.
    BadChange,
    /// The sender does not own the entity.
    NotOwner,
    /// Not this base's slot.
    WrongBase,
    /// A message for the other direction.
    WrongDirection,
    /// The entity never existed here or ended.
    UnknownEntity,
    /// The command's number was run before.
    DuplicateCommand,
    /// A number between was never seen.
    CommandGap,
    /// The session is not attached.
    UnknownSession,
    /// The message was taken before.
    DuplicateMessage,
    /// The answer's message is closed.
    DuplicateAnswer,
    /// What was for an owner reached a process that is none; its base sends it again.
    NotHere,
    /// A grant for another life.
    NotForMe,
    /// A grant of an epoch that is not higher than the known one.
    GrantStale,
    /// An offload that no grant followed.
    OffloadExpired,
    /// A layout that is older than the known one.
    StaleLayout,
    /// A ghost message of an older epoch.
    GhostStale,
    /// A ghost delta for an index without a ghost.
    GhostUnknown,
    /// A ghost message with a gap or a wrong digest: a snapshot was asked for.
    GhostGap,
    /// A packed block that does not decode.
    Malformed,
    /// A signal forwarded too often.
    SignalHops,
    /// A signal whose receiver nobody here knows.
    SignalLost,
    /// A signal that came twice.
    SignalDuplicate,
    /// A bounded queue was full.
    QueueFull,
    /// A bundle number that does not follow.
    BundleGap,
    /// The input was replaced by a newer one before it was used.
    InputReplaced,
    /// A completion whose asker is gone.
    CompletionLost,
    /// A grant that came while no new entities are taken.
    NotAccepting,
    /// A jump into a space that nobody here knows.
    UnknownSpace,
    /// What waited for a process that is gone.
    PeerGone,
    /// Larger than what is carried.
    TooLarge,
    /// The slot is on its way to another base; whoever said it says it again to its keeper.
    SlotMoving,
}

impl Refused {
    /// The reason as a metric label and in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StaleEpoch => "stale_epoch",
            Self::StaleIncarnation => "stale_incarnation",
            Self::DuplicateStep => "duplicate_step",
            Self::StepGap => "step_gap",
            Self::DigestMismatch => "digest_mismatch",
            Self::BadChange => "bad_change",
            Self::NotOwner => "not_owner",
            Self::WrongBase => "wrong_base",
            Self::WrongDirection => "wrong_direction",
            Self::UnknownEntity => "unknown_entity",
            Self::DuplicateCommand => "duplicate_command",
            Self::CommandGap => "command_gap",
            Self::UnknownSession => "unknown_session",
            Self::DuplicateMessage => "duplicate_message",
            Self::DuplicateAnswer => "duplicate_answer",
            Self::NotHere => "not_here",
            Self::NotForMe => "not_for_me",
            Self::GrantStale => "grant_stale",
            Self::OffloadExpired => "offload_expired",
            Self::StaleLayout => "stale_layout",
            Self::GhostStale => "ghost_stale",
            Self::GhostUnknown => "ghost_unknown",
            Self::GhostGap => "ghost_gap",
            Self::Malformed => "malformed",
            Self::SignalHops => "signal_hops",
            Self::SignalLost => "signal_lost",
            Self::SignalDuplicate => "signal_duplicate",
            Self::QueueFull => "queue_full",
            Self::BundleGap => "bundle_gap",
            Self::InputReplaced => "input_replaced",
            Self::CompletionLost => "completion_lost",
            Self::NotAccepting => "not_accepting",
            Self::UnknownSpace => "unknown_space",
            Self::PeerGone => "peer_gone",
            Self::TooLarge => "too_large",
            Self::SlotMoving => "slot_moving",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_keep_their_numbers_for_journals_that_were_written_before() {
        // A reason is encoded as its place: a new one goes to the end.
        for (reason, number) in [
            (Refused::StaleEpoch, 0),
            (Refused::NotHere, 15),
            (Refused::QueueFull, 27),
            (Refused::PeerGone, 33),
            (Refused::TooLarge, 34),
            (Refused::SlotMoving, 35),
        ] {
            assert_eq!(postcard::to_stdvec(&reason), Ok(vec![number]), "{}", reason.name());
        }
    }
}
