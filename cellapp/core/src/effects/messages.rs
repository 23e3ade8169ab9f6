//! Messages between entities: one is applied exactly once or refused, and its value is with
//! exactly one of the two at every step.

use super::commands::{ANSWER_SHORT, too_large};
use super::turn::{Disposition, Turn};
use crate::behaviour::{LateMessages, MESSAGE_FRESH_TICKS};
use crate::io::CellBug;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::InboxMessage;
use marchland_common::order::{EntityId, InboxVerdict};
use marchland_common::world::{Change, EntityState, MessageOutcome, Rejection};

/// How much larger than its limit a state may grow by records of what it decided: a message must
/// get its answer also when the entity's own data take all the room.
const RECORDS_BYTES_MAX: usize = EntityState::BYTES_MAX / 2;

impl Turn<'_> {
    /// Decides a message of another entity. It is held, and with it all later ones of its source,
    /// while the marks have no room: one that passed it would make it look decided.
    pub fn message(&mut self, message: &InboxMessage, blocked: &mut Vec<EntityId>) -> Disposition {
        let InboxMessage { source, out_seq, .. } = *message;
        self.settled(source, message.settled, false);
        if blocked.contains(&source) {
            return Disposition::Hold;
        }
        let verdict = self.real.state.inbox.check(source, out_seq);
        let is_blind = self.bug == Some(CellBug::NoInbox);
        let has_room = self.real.state.encoded_len() <= EntityState::BYTES_MAX + RECORDS_BYTES_MAX;
        match verdict {
            InboxVerdict::New if has_room => self.run_message(message, true),
            InboxVerdict::Duplicate(_) if is_blind => self.run_message(message, false),
            InboxVerdict::Duplicate(_) => self.refuse(Refused::DuplicateMessage),
            InboxVerdict::New | InboxVerdict::Full => {
                blocked.push(source);
                return Disposition::Hold;
            }
        }
        Disposition::Done
    }

    fn run_message(&mut self, message: &InboxMessage, record: bool) {
        let InboxMessage { source, out_seq, value, .. } = *message;
        let outcome = self.outcome(message);
        let outcome = self.fitting_answer(outcome);
        let outcome = match outcome.is_kept() && value > 0 {
            true if self.me().can_add_value(value) => {
                self.credit(value);
                outcome
            }
            true => cannot_hold(value),
            false => outcome,
        };
        if record {
            self.me().record(Change::Received(source, out_seq, outcome.clone()));
        }
        let (entity, epoch) = (self.real.id, self.real.epoch);
        self.events.push(Event::MessageRun { entity, epoch, source, out_seq, outcome });
    }

    /// Credits value that came with a message. If the entity ended meanwhile, the value leaves the
    /// world with it.
    fn credit(&mut self, value: i64) {
        self.me().add_value(value);
        if self.is_over() {
            self.me().add_value(-value);
            self.me().record(Change::Minted(-value));
        }
    }

    fn outcome(&mut self, message: &InboxMessage) -> MessageOutcome {
        let InboxMessage { source, value, .. } = *message;
        if value < 0 || value > 0 && !self.me().can_add_value(value) {
            return cannot_hold(value);
        }
        let payload = &message.payload;
        let age = self.tick.0.saturating_sub(message.origin.tick.0);
        let rule = match age > MESSAGE_FRESH_TICKS {
            true => self.behaviour.late_messages(),
            false => LateMessages::Apply,
        };
        match rule {
            LateMessages::Apply => self
                .call(|behaviour, me, sight| behaviour.message(me, sight, source, payload, value)),
            LateMessages::Correct => self.call(|behaviour, me, sight| {
                behaviour.late_message(me, sight, source, payload, value, age)
            }),
            LateMessages::Reject => MessageOutcome::Rejected(Rejection::TooOld),
        }
    }

    fn fitting_answer(&self, outcome: MessageOutcome) -> MessageOutcome {
        let size = postcard::experimental::serialized_size(&outcome).unwrap_or(usize::MAX);
        let room = self.room();
        if size <= room.max(ANSWER_SHORT) {
            return outcome;
        }
        MessageOutcome::Rejected(too_large(size, room))
    }

    /// The source will not ask again for answers up to a number; `forget` says besides that
    /// nothing of it is open. Recorded only if it changes something.
    pub fn settled(&mut self, source: EntityId, through: u64, forget: bool) {
        let rows = self.real.state.inbox.rows();
        let says_something = rows.iter().any(|mark| {
            let drops = mark.answers.first().is_some_and(|(oldest, _)| *oldest <= through);
            mark.source == source && (drops || forget && mark.high <= through)
        });
        if says_something {
            self.me().record(Change::Settled(source, through, forget));
        }
    }

    /// Takes in how a message that this entity sent ended: closes it, takes back value that was
    /// not kept, and tells the behaviour, once.
    pub fn answer(&mut self, out_seq: u64, outcome: &MessageOutcome) -> Disposition {
        let Some(message) = self.real.state.outbox.open.get(&out_seq).cloned() else {
            self.refuse(Refused::DuplicateAnswer);
            return Disposition::Done;
        };
        let returned = if outcome.is_kept() { 0 } else { message.value };
        if returned > 0 && !self.me().can_add_value(returned) {
            // It has more than anybody may hold: the value stays in the outbox until it fits.
            return Disposition::Hold;
        }
        self.me().add_value(returned);
        self.me().record(Change::Answered(out_seq));
        self.call(|behaviour, me, _| behaviour.answered(me, &message, outcome));
        Disposition::Done
    }
}

fn cannot_hold(value: i64) -> MessageOutcome {
    MessageOutcome::Rejected(Rejection::Rule(format!("cannot hold {value} more")))
}
