//! A client's command: decided once, by the owner, and never again in the entity's lineage.

use super::turn::{Disposition, Turn};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Command};
use marchland_common::order::{CommandVerdict, SessionId};
use marchland_common::world::{Change, CommandOutcome, EntityState, Rejection};

impl Turn<'_> {
    /// Decides a command. It is held while one before it is missing or its client must first
    /// acknowledge answers, for a later one may bring what is needed.
    pub fn command(&mut self, command: &Command) -> Disposition {
        let Command { session, n, .. } = *command;
        self.acknowledged(session, command.acknowledged.min(n.saturating_sub(1)));
        let mut verdict = self.real.state.commands.check(session, n);
        if matches!(verdict, CommandVerdict::Gap { .. } | CommandVerdict::Busy) {
            self.acknowledge_ahead(session, n);
            verdict = self.real.state.commands.check(session, n);
        }
        match verdict {
            CommandVerdict::New => self.run_command(command),
            CommandVerdict::Duplicate(_) => self.refuse(Refused::DuplicateCommand),
            CommandVerdict::NotAttached => self.refuse(Refused::UnknownSession),
            CommandVerdict::Gap { .. } | CommandVerdict::Busy => return Disposition::Hold,
        }
        Disposition::Done
    }

    /// A later command says which answers its client has; that holds for this one too.
    fn acknowledge_ahead(&mut self, session: SessionId, n: u64) {
        let acknowledged = self.real.queue.iter().filter_map(|msg| match msg {
            BaseToCell::Command(later) if later.session == session => Some(later.acknowledged),
            _ => None,
        });
        if let Some(upto) = acknowledged.max() {
            self.acknowledged(session, upto.min(n.saturating_sub(1)));
        }
    }

    /// Drops answers that the client has; recorded only if it changes something.
    fn acknowledged(&mut self, session: SessionId, upto: u64) {
        let rows = self.real.state.commands.rows();
        let says_something = rows.iter().any(|row| {
            let drops = row.answers.first().is_some_and(|(oldest, _)| *oldest <= upto);
            row.session == session && (drops || row.high < upto)
        });
        if says_something {
            self.me().record(Change::Acknowledged(session, upto));
        }
    }

    fn run_command(&mut self, command: &Command) {
        let Command { session, n, method, deadline, .. } = *command;
        let is_exposed = self.kind.methods.get(usize::from(method)).is_some_and(|m| m.exposed);
        let outcome = if self.tick > deadline {
            CommandOutcome::Expired
        } else if !is_exposed {
            CommandOutcome::Rejected(Rejection::NotExposed)
        } else {
            self.call(|behaviour, me, sight| behaviour.command(me, sight, method, &command.args))
        };
        let outcome = self.fitting(outcome);
        self.me().record(Change::Command(session, n, outcome.clone()));
        let (entity, epoch) = (self.real.id, self.real.epoch);
        self.events.push(Event::CommandRun { entity, epoch, session, n, outcome });
    }

    /// An answer that the state has no room for becomes a short one.
    fn fitting(&self, outcome: CommandOutcome) -> CommandOutcome {
        let size = postcard::experimental::serialized_size(&outcome).unwrap_or(usize::MAX);
        let room = self.room();
        if size <= room.max(ANSWER_SHORT) {
            return outcome;
        }
        CommandOutcome::Rejected(too_large(size, room))
    }
}

/// Answers up to this many bytes are always kept: a refusal must fit also when nothing else does.
pub(super) const ANSWER_SHORT: usize = 64;

/// The refusal of something that the state has no room for.
pub(super) fn too_large(size: usize, room: usize) -> Rejection {
    let limit = EntityState::BYTES_MAX;
    let size = limit.saturating_sub(room).saturating_add(size);
    Rejection::TooLarge { limit: limit as u32, size: u32::try_from(size).unwrap_or(u32::MAX) }
}
