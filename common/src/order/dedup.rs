//! Which commands of which session an entity has applied, and what it answered: the table that
//! makes a command that is sent again an answer that is given again. It travels with the entity.
//!
//! Invariants: commands of a session are numbered from 1 without gaps and recorded in that order,
//! each once; at most [`SESSIONS_MAX`] sessions and, for each, [`COMMAND_ANSWERS_MAX`] answers that
//! its client has not acknowledged are kept, so the table is bounded whatever a client does.

#[cfg(test)]
mod tests;

use super::{SessionId, checked_serde};
use serde::{Deserialize, Serialize};

/// Most sessions of an entity: the one in use, and the one that it replaced or that a second
/// device holds.
pub const SESSIONS_MAX: usize = 2;
/// Most answers kept for a client that does not acknowledge; its next command is told busy.
pub const COMMAND_ANSWERS_MAX: usize = 64;

/// What to do with a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandVerdict<A> {
    /// Apply it, then record its answer.
    New,
    /// It was applied. Give the answer again; None when the client has acknowledged it.
    Duplicate(Option<A>),
    /// A command before it is missing: it must not be applied.
    Gap {
        /// The number that is next.
        expected: u64,
    },
    /// The client must acknowledge answers first.
    Busy,
    /// The session is not attached: it never was, was detached, or a newer login replaced it.
    NotAttached,
}

/// Why an answer was not recorded. The table is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum RecordRefused {
    /// The session is not attached.
    #[error("the session is not attached to the entity")]
    NotAttached,
    /// The answer is not for the next command.
    #[error("the next command to be answered is {expected}")]
    OutOfOrder {
        /// The number that is next.
        expected: u64,
    },
    /// Too many answers wait to be acknowledged.
    #[error("{COMMAND_ANSWERS_MAX} answers wait to be acknowledged")]
    Busy,
}

/// What attaching a session did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached<A> {
    /// False when the session was attached already; it keeps its numbers and answers.
    pub new: bool,
    /// The oldest session, when it had to make room.
    pub replaced: Option<SessionRow<A>>,
}

/// One session of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow<A> {
    /// The session.
    pub session: SessionId,
    /// The newest command that was answered; 0 before the first.
    pub high: u64,
    /// The answers that are not acknowledged, by rising command number.
    pub answers: Vec<(u64, A)>,
}

/// The table. See the module for its invariants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", bound(serialize = "A: Serialize", deserialize = "A: Deserialize<'de>"))]
pub struct CommandDedup<A> {
    /// Oldest login first.
    rows: Vec<SessionRow<A>>,
}

checked_serde!(CommandDedup<A>);

impl<A> Default for CommandDedup<A> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<A: Clone> CommandDedup<A> {
    /// Makes a session the newest of the entity. The oldest makes room.
    pub fn attach(&mut self, session: SessionId) -> Attached<A> {
        if let Some(at) = self.position(session) {
            let row = self.rows.remove(at);
            self.rows.push(row);
            return Attached { new: false, replaced: None };
        }
        let replaced = (self.rows.len() >= SESSIONS_MAX).then(|| self.rows.remove(0));
        self.rows.push(SessionRow { session, high: 0, answers: Vec::new() });
        Attached { new: true, replaced }
    }

    /// Ends a session; gives what was known of it.
    pub fn detach(&mut self, session: SessionId) -> Option<SessionRow<A>> {
        self.position(session).map(|at| self.rows.remove(at))
    }

    /// What to do with command `n` of a session.
    #[must_use]
    pub fn check(&self, session: SessionId, n: u64) -> CommandVerdict<A> {
        let Some(row) = self.position(session).map(|at| &self.rows[at]) else {
            return CommandVerdict::NotAttached;
        };
        if n <= row.high {
            let answer = row.answers.iter().find(|(known, _)| *known == n);
            return CommandVerdict::Duplicate(answer.map(|(_, answer)| answer.clone()));
        }
        if n - 1 > row.high {
            return CommandVerdict::Gap { expected: row.high + 1 };
        }
        match row.answers.len() < COMMAND_ANSWERS_MAX {
            true => CommandVerdict::New,
            false => CommandVerdict::Busy,
        }
    }

    /// Records the answer to command `n`, whatever it is: applied, rejected or expired.
    ///
    /// # Errors
    /// Refused unless [`check`](Self::check) says that the command is new.
    pub fn record(&mut self, session: SessionId, n: u64, answer: A) -> Result<(), RecordRefused> {
        let at = self.position(session).ok_or(RecordRefused::NotAttached)?;
        let row = &mut self.rows[at];
        if n == 0 || n - 1 != row.high {
            return Err(RecordRefused::OutOfOrder { expected: row.high.saturating_add(1) });
        }
        if row.answers.len() >= COMMAND_ANSWERS_MAX {
            return Err(RecordRefused::Busy);
        }
        row.high = n;
        row.answers.push((n, answer));
        Ok(())
    }

    /// The client has seen all answers up to `upto`: they are dropped. Returns how many.
    ///
    /// No command up to `upto` is new any more, also one that never came here: its base answered
    /// it alone, and the client knows.
    pub fn acknowledge(&mut self, session: SessionId, upto: u64) -> usize {
        let Some(at) = self.position(session) else { return 0 };
        self.rows[at].high = self.rows[at].high.max(upto);
        let answers = &mut self.rows[at].answers;
        let before = answers.len();
        answers.retain(|(n, _)| *n > upto);
        before - answers.len()
    }

    /// The sessions, oldest login first.
    #[must_use]
    pub fn rows(&self) -> &[SessionRow<A>] {
        &self.rows
    }

    fn position(&self, session: SessionId) -> Option<usize> {
        self.rows.iter().position(|row| row.session == session)
    }
}

impl<A> CommandDedup<A> {
    fn validate(&self) -> Result<(), &'static str> {
        let sound = |row: &SessionRow<A>| {
            let mut numbers = row.answers.iter().map(|(n, _)| *n);
            let rising = numbers.clone().zip(numbers.clone().skip(1)).all(|(one, two)| one < two);
            let known = numbers.all(|n| (1..=row.high).contains(&n));
            rising && known && row.answers.len() <= COMMAND_ANSWERS_MAX
        };
        let twice = self.rows.len() == 2 && self.rows[0].session == self.rows[1].session;
        if self.rows.len() <= SESSIONS_MAX && !twice && self.rows.iter().all(sound) {
            Ok(())
        } else {
            Err("a broken table of sessions")
        }
    }
}
