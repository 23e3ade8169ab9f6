//! What an invariant is about.
//!
//! An invariant that was never checked says nothing, and keeps a verdict from being one; unless
//! the journals prove that nothing of the kind happened. Each subject names every event without
//! which there is nothing to check; what all runs do, no journal can excuse.

use crate::facts::Kind;
use marchland_common::journal::{Event, OwnerWhy};
use marchland_common::world::MessageOutcome;

/// What must have happened for an invariant to have anything to check.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The kinds of events that tell of it.
    kinds: &'static [Kind],
    /// Which of them do.
    tells: fn(&Event) -> bool,
    /// What is said of a run without it; none where every run has it.
    none: Option<&'static str>,
}

/// Processes run ticks, entities are born, owned and stepped.
pub const EVERY_RUN: Subject = Subject { kinds: &[], tells: any, none: None };

/// Clients that command.
pub const COMMANDS: Subject = Subject {
    kinds: &[
        Kind::ClientSent,
        Kind::ClientAnswered,
        Kind::CommandQueued,
        Kind::CommandRun,
        Kind::CommandConfirmed,
        Kind::CommandAnswered,
    ],
    tells: any,
    none: Some("no command was sent"),
};

/// Clients that look on.
pub const CLIENTS: Subject = Subject {
    kinds: &[
        Kind::SessionOpened,
        Kind::SessionClosed,
        Kind::ClientWelcome,
        Kind::ClientSaw,
        Kind::ClientSent,
        Kind::ClientAnswered,
        Kind::CommandQueued,
        Kind::CommandAnswered,
        Kind::Entered,
        Kind::Left,
        Kind::ViewRestarted,
    ],
    tells: any,
    none: Some("no client played"),
};

/// Messages that an owner decided. What bases decide alone takes no effect at an owner.
pub const MESSAGES_TAKEN: Subject = Subject {
    kinds: &[Kind::MessageRun, Kind::MessageTaken, Kind::Accepted],
    tells: |event| match event {
        Event::MessageTaken { outcome, .. } => matches!(outcome, MessageOutcome::Applied(_)),
        Event::Accepted { flow, .. } => flow.is_some_and(|flow| flow.received != 0),
        _ => true,
    },
    none: Some("no message was taken"),
};

/// Commands and messages: everything that is owed an answer.
pub const REQUESTS: Subject = Subject {
    kinds: &[
        Kind::ClientSent,
        Kind::ClientAnswered,
        Kind::CommandQueued,
        Kind::CommandRun,
        Kind::CommandConfirmed,
        Kind::CommandAnswered,
        Kind::MessageReleased,
        Kind::MessageRun,
        Kind::MessageTaken,
        Kind::MessageClosed,
        Kind::Accepted,
    ],
    tells: |event| match event {
        Event::Accepted { flow, .. } => flow.is_some_and(|flow| flow.sent != 0),
        _ => true,
    },
    none: Some("no command and no message was sent"),
};

/// Steps that account for the conserved number, and ends.
pub const VALUE: Subject = Subject {
    kinds: &[Kind::Accepted, Kind::MessageReleased, Kind::Destroyed],
    tells: |event| match event {
        Event::Accepted { flow, .. } => flow.is_some(),
        _ => true,
    },
    none: Some("no value moved"),
};

/// Ghosts.
pub const GHOSTS: Subject = Subject {
    kinds: &[Kind::GhostFlushed, Kind::GhostApplied, Kind::GhostEnded],
    tells: any,
    none: Some("no ghost was shown"),
};

/// Entities past a border.
pub const STRAYS: Subject =
    Subject { kinds: &[Kind::Strayed], tells: any, none: Some("nobody strayed") };

/// Handoffs.
pub const HANDOFFS: Subject = Subject {
    kinds: &[Kind::Frozen, Kind::OwnerChanged],
    tells: |event| match event {
        Event::OwnerChanged { why, last_tick, .. } => {
            matches!(why, OwnerWhy::Handoff(_)) || last_tick.is_some()
        }
        _ => true,
    },
    none: Some("nobody was handed over"),
};

/// Timers.
pub const TIMERS: Subject = Subject {
    kinds: &[Kind::TimerFired, Kind::TimerLate],
    tells: any,
    none: Some("no timer fired"),
};

const fn any(_: &Event) -> bool {
    true
}

/// Which subjects of the table were met.
pub struct Subjects {
    met: Vec<bool>,
    /// Rows to ask, by kind of event.
    wanted: Vec<Vec<usize>>,
}

impl Subjects {
    /// Before the first event.
    pub fn new() -> Self {
        let mut wanted = vec![Vec::new(); Kind::ALL.len()];
        for (row, rule) in super::TABLE.iter().enumerate() {
            rule.about.kinds.iter().for_each(|kind| wanted[*kind as usize].push(row));
        }
        Self { met: vec![false; super::TABLE.len()], wanted }
    }

    /// Takes note of an event.
    pub fn note(&mut self, kind: Kind, event: &Event) {
        let met = &mut self.met;
        self.wanted[kind as usize].retain(|row| {
            met[*row] |= (super::TABLE[*row].about.tells)(event);
            !met[*row]
        });
    }

    /// Why there is nothing to check for an invariant of the table; none if there is.
    pub fn absent(&self, row: usize) -> Option<&'static str> {
        super::TABLE[row].about.none.filter(|_| !self.met[row])
    }
}
