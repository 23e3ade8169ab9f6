//! How a command ended, as a client program sees it.

use marchland_common::world::{CommandOutcome, Rejection};
use marchland_proto::client::{Answer, answer};

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The method ran; its answer.
    Applied(Vec<u8>),
    /// It had no effect.
    Rejected {
        /// A stable word.
        code: String,
        /// Why, for people.
        message: String,
    },
    /// Its deadline passed before it was run.
    Expired,
}

/// Reads the outcome of an answer; none when the gateway left it out.
#[must_use]
pub fn outcome_of(answer: &Answer) -> Option<Outcome> {
    Some(match answer.outcome.as_ref()? {
        answer::Outcome::Applied(reply) => Outcome::Applied(reply.to_vec()),
        answer::Outcome::Rejected(r) => {
            Outcome::Rejected { code: r.code.clone(), message: r.message.clone() }
        }
        answer::Outcome::Expired(_) => Outcome::Expired,
    })
}

impl Outcome {
    /// The domain's form, for a journal.
    #[must_use]
    pub fn to_domain(&self) -> CommandOutcome {
        match self {
            Self::Applied(reply) => CommandOutcome::Applied(reply.clone()),
            Self::Expired => CommandOutcome::Expired,
            Self::Rejected { code, message } => CommandOutcome::Rejected(rejection(code, message)),
        }
    }
}

fn rejection(code: &str, message: &str) -> Rejection {
    match code {
        "not-exposed" => Rejection::NotExposed,
        "bad-arguments" => Rejection::BadArguments,
        "busy" => Rejection::Busy,
        "not-yours" => Rejection::NotYours,
        "no-such-entity" => Rejection::NoSuchEntity,
        "too-old" => Rejection::TooOld,
        _ => Rejection::Rule(message.to_owned()),
    }
}
