//! Questions about one entity, answered at the end of a tick.

use crossbeam_channel::{Receiver, Sender, bounded};
use marchland_common::order::{EntityId, Node};
use marchland_proto::observer::PassportReply;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tonic::Status;

/// Questions that wait. One more is refused.
const WAIT_MAX: usize = 64;
/// Questions that are answered in one tick.
const ANSWERS_A_TICK: usize = 8;
/// How long a question waits for the tick thread.
const ANSWER_MAX: Duration = Duration::from_millis(900);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// About whom.
    pub entity: EntityId,
    /// Whether it could be handed over to that life of a cellapp.
    pub to: Option<Node>,
}

struct Question {
    subject: Subject,
    answer: oneshot::Sender<PassportReply>,
}

/// Where questions are put. Clones share it.
#[derive(Clone)]
pub struct Desk(Sender<Question>);

/// The tick thread's end of it.
pub struct Questions(Receiver<Question>);

impl Desk {
    /// A desk and its other end.
    #[must_use]
    pub fn new() -> (Self, Questions) {
        let (put, take) = bounded(WAIT_MAX);
        (Self(put), Questions(take))
    }

    /// Asks about an entity.
    ///
    /// # Errors
    /// Too many questions wait, or no tick runs.
    pub async fn ask(&self, subject: Subject) -> Result<PassportReply, Status> {
        let (answer, passport) = oneshot::channel();
        self.0
            .try_send(Question { subject, answer })
            .map_err(|_| Status::resource_exhausted("too many questions wait; try again"))?;
        match timeout(ANSWER_MAX, passport).await {
            Ok(Ok(passport)) => Ok(passport),
            _ => Err(Status::unavailable("it runs no ticks at present")),
        }
    }
}

impl Questions {
    /// Answers some of what was asked; the rest waits for the next tick.
    pub fn answer(&self, mut passport: impl FnMut(Subject) -> PassportReply) {
        for Question { subject, answer } in self.0.try_iter().take(ANSWERS_A_TICK) {
            if !answer.is_closed() {
                // Whoever asked may go meanwhile.
                let _ = answer.send(passport(subject));
            }
        }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Desk with {} questions", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_flood_of_questions_is_refused_and_a_tick_answers_a_few() {
        let (desk, questions) = Desk::new();
        let asked: Vec<_> = (0..100_u64)
            .map(|n| {
                let desk = desk.clone();
                tokio::spawn(
                    async move { desk.ask(Subject { entity: EntityId(n), to: None }).await },
                )
            })
            .collect();
        while questions.0.len() < WAIT_MAX {
            tokio::task::yield_now().await;
        }
        let mut answered = 0;
        questions.answer(|subject| {
            answered += 1;
            PassportReply { tick: subject.entity.0, ..PassportReply::default() }
        });
        assert_eq!(answered, ANSWERS_A_TICK);
        drop(questions);
        let mut replies = Vec::new();
        for asked in asked {
            replies.push(asked.await.unwrap().map_err(|status| status.code()));
        }
        let of = |code| replies.iter().filter(|r| **r == Err(code)).count();
        assert_eq!(replies.iter().filter(|r| r.is_ok()).count(), ANSWERS_A_TICK);
        assert_eq!(of(tonic::Code::ResourceExhausted), 100 - WAIT_MAX);
        assert_eq!(of(tonic::Code::Unavailable), WAIT_MAX - ANSWERS_A_TICK);
    }
}
