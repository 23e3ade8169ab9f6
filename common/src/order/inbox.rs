//! Which messages of which other entity an entity has applied, and what it answered: what makes
//! value that crosses between two entities cross once. It travels with the entity.
//!
//! A source numbers the messages of its outbox upwards over all receivers, so that one receiver
//! sees rising numbers with holes, in order. Invariants: messages of a source are recorded in
//! rising order, each once; at most [`INBOX_SOURCES_MAX`] sources and, for each,
//! [`INBOX_ANSWERS_MAX`] answers that are not settled are kept; a mark is forgotten only when the
//! source's base says that nothing below it can be sent again.

#[cfg(test)]
mod tests;

use super::{EntityId, checked_serde};
use serde::{Deserialize, Serialize};

/// Most sources of an entity; deliveries from others wait at the entity's base.
pub const INBOX_SOURCES_MAX: usize = 256;
/// Most answers of one source that are not settled: as many as an outbox may hold.
pub const INBOX_ANSWERS_MAX: usize = 64;

/// What to do with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxVerdict<A> {
    /// Apply it, then record its answer.
    New,
    /// It was applied. Give the answer again; None when it is settled.
    Duplicate(Option<A>),
    /// There is no room for its source or its answer: it waits at the base, and every later one of
    /// its source behind it, for a later one that passed it would make it look applied.
    Full,
}

/// Why an answer was not recorded. The marks are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum InboxRefused {
    /// A message with this number or a later one is recorded.
    #[error("message {high} of this source is recorded already")]
    Known {
        /// The newest message recorded.
        high: u64,
    },
    /// No room.
    #[error("no room for another source or another answer")]
    Full,
}

/// What settling did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Answers dropped.
    pub answers: usize,
    /// True when the source was forgotten.
    pub forgotten: bool,
}

/// What is known of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxMark<A> {
    /// The source.
    pub source: EntityId,
    /// Its newest message that was answered.
    pub high: u64,
    /// The answers that are not settled, by rising message number.
    pub answers: Vec<(u64, A)>,
}

/// The marks. See the module for their invariants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", bound(serialize = "A: Serialize", deserialize = "A: Deserialize<'de>"))]
pub struct InboxMarks<A> {
    /// Sorted by source.
    marks: Vec<InboxMark<A>>,
}

checked_serde!(InboxMarks<A>);

impl<A> Default for InboxMarks<A> {
    fn default() -> Self {
        Self { marks: Vec::new() }
    }
}

impl<A: Clone> InboxMarks<A> {
    /// What to do with message `out_seq` of a source.
    #[must_use]
    pub fn check(&self, source: EntityId, out_seq: u64) -> InboxVerdict<A> {
        let Ok(at) = self.position(source) else {
            return match self.marks.len() < INBOX_SOURCES_MAX {
                true => InboxVerdict::New,
                false => InboxVerdict::Full,
            };
        };
        let mark = &self.marks[at];
        if out_seq <= mark.high {
            let answer = mark.answers.iter().find(|(known, _)| *known == out_seq);
            return InboxVerdict::Duplicate(answer.map(|(_, answer)| answer.clone()));
        }
        match mark.answers.len() < INBOX_ANSWERS_MAX {
            true => InboxVerdict::New,
            false => InboxVerdict::Full,
        }
    }

    /// Records the answer to message `out_seq`, whatever it is: applied or rejected.
    ///
    /// # Errors
    /// Refused unless [`check`](Self::check) says that the message is new.
    pub fn record(
        &mut self,
        source: EntityId,
        out_seq: u64,
        answer: A,
    ) -> Result<(), InboxRefused> {
        match self.position(source) {
            Ok(at) => {
                let mark = &mut self.marks[at];
                if out_seq <= mark.high {
                    return Err(InboxRefused::Known { high: mark.high });
                }
                if mark.answers.len() >= INBOX_ANSWERS_MAX {
                    return Err(InboxRefused::Full);
                }
                mark.high = out_seq;
                mark.answers.push((out_seq, answer));
            }
            Err(_) if self.marks.len() >= INBOX_SOURCES_MAX => return Err(InboxRefused::Full),
            Err(at) => {
                let answers = vec![(out_seq, answer)];
                self.marks.insert(at, InboxMark { source, high: out_seq, answers });
            }
        }
        Ok(())
    }

    /// The source's base has dropped the outbox entries up to `through`: their answers are dropped.
    /// `forget` says besides that it holds no entry for this entity and will send none of those
    /// again; then the source is forgotten, unless it has sent something later.
    pub fn settle(&mut self, source: EntityId, through: u64, forget: bool) -> Settled {
        let Ok(at) = self.position(source) else { return Settled::default() };
        let mark = &mut self.marks[at];
        let before = mark.answers.len();
        mark.answers.retain(|(out_seq, _)| *out_seq > through);
        let answers = before - mark.answers.len();
        let forgotten = forget && mark.high <= through;
        if forgotten {
            self.marks.remove(at);
        }
        Settled { answers, forgotten }
    }

    /// The marks, by source.
    #[must_use]
    pub fn rows(&self) -> &[InboxMark<A>] {
        &self.marks
    }

    fn position(&self, source: EntityId) -> Result<usize, usize> {
        self.marks.binary_search_by_key(&source, |mark| mark.source)
    }
}

impl<A> InboxMarks<A> {
    fn validate(&self) -> Result<(), &'static str> {
        let sound = |mark: &InboxMark<A>| {
            let mut numbers = mark.answers.iter().map(|(n, _)| *n);
            let rising = numbers.clone().zip(numbers.clone().skip(1)).all(|(one, two)| one < two);
            let known = numbers.all(|n| n <= mark.high);
            rising && known && mark.answers.len() <= INBOX_ANSWERS_MAX
        };
        let rising = self.marks.windows(2).all(|two| two[0].source < two[1].source);
        if rising && self.marks.len() <= INBOX_SOURCES_MAX && self.marks.iter().all(sound) {
            Ok(())
        } else {
            Err("broken inbox marks")
        }
    }
}
