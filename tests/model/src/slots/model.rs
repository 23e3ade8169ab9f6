//! What can happen next to a slot.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::state::{Base, Budget, Image, Key, Msg, Pair, Phase};
use super::{Mutant, Slots, properties};
use crate::explore::Converges;

/// One thing that can happen; the number is that of the base.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// It confirms an effect.
    Confirm(u8),
    /// Its entity sends the one message.
    Send(u8),
    /// The message leaves its outbox and arrives.
    Carry(u8),
    /// The answer arrives: the message leaves the outbox for good.
    Answered(u8),
    /// The one message to its entity is taken; its sender says it until it has heard an answer.
    Receive(u8),
    /// A move to the other base is ordered.
    Export(u8),
    /// A message or a transaction arrives.
    Deliver(Msg),
    /// One never arrives any more.
    Lose(Msg),
    /// It asks the store whose the slot is.
    AskStore(u8),
    /// It dies and comes up again.
    Crash(u8),
    /// It serves without asking (mutants).
    ServeUnasked(u8),
    /// It gets its import to disk late (a mutant).
    SyncLate(u8),
}

impl Slots {
    fn deliver(&self, s: &mut Pair, msg: Msg) {
        match msg {
            Msg::Export { to, export } => self.on_export(s, to, export),
            Msg::Synced { to, term } => self.on_synced(s, to, term),
            Msg::Move { to, term } => {
                let any = self.mutant == Mutant::TransactionUnconditional && s.key.holder != to;
                if s.key.term == term || any {
                    s.key = Key { holder: to, term: s.key.term + 1, from: term };
                }
            }
        }
    }

    fn serve(s: &mut Pair, action: Action) {
        match action {
            Action::Confirm(base) => {
                if let Some(image) = Self::served(s, base) {
                    image.effects += 1;
                    s.confirmed += 1;
                }
            }
            Action::Send(base) => {
                if let Some(image) = Self::served(s, base) {
                    (image.sent, image.outbox) = (true, true);
                }
            }
            Action::Answered(base) => {
                if let Some(image) = Self::served(s, base) {
                    image.outbox = false;
                }
            }
            Action::Receive(base) => {
                if let Some(image) = Self::served(s, base) {
                    (image.received, image.mark) = (image.received + 1, true);
                }
            }
            _ => {}
        }
    }

    fn happen(&self, s: &mut Pair, action: Action) {
        match action {
            Action::Carry(_) => s.arrived = true,
            Action::Export(base) => {
                s.used.moves += 1;
                self.export(s, base);
            }
            Action::Deliver(msg) => self.deliver(s, msg),
            Action::Lose(msg) => {
                s.used.losses += 1;
                s.net.remove(&msg);
            }
            Action::AskStore(base) => self.ask_store(s, base),
            Action::Crash(base) => {
                s.used.crashes += 1;
                Self::crash(s, base);
            }
            Action::ServeUnasked(base) => s.bases[usize::from(base)].phase = Phase::Serving,
            Action::SyncLate(base) => {
                let own = &mut s.bases[usize::from(base)];
                own.import = own.unsynced.take();
            }
            served => Self::serve(s, served),
        }
    }

    fn serving_actions(&self, s: &Pair, base: u8, image: &Image, out: &mut Vec<Action>) {
        if s.confirmed < self.effects {
            out.push(Action::Confirm(base));
        }
        if !image.sent {
            out.push(Action::Send(base));
        }
        if image.outbox {
            out.push(if s.arrived { Action::Answered(base) } else { Action::Carry(base) });
        }
        if !image.mark && image.received < 2 {
            out.push(Action::Receive(base));
        }
        if s.used.moves < self.budget.moves {
            out.push(Action::Export(base));
        }
    }

    fn base_actions(&self, s: &Pair, base: u8, out: &mut Vec<Action>) {
        let own = &s.bases[usize::from(base)];
        let holds = s.key.holder == base;
        match own.phase {
            Phase::Serving => self.serving_actions(s, base, &own.image, out),
            Phase::Starting => out.push(Action::AskStore(base)),
            Phase::Frozen if !holds || self.mutant != Mutant::NeverCallsOff => {
                out.push(Action::AskStore(base));
            }
            Phase::Idle if holds => out.push(Action::AskStore(base)),
            Phase::Frozen | Phase::Idle => {}
        }
        let unasked = match self.mutant {
            Mutant::RestartServesUnasked => {
                own.phase == Phase::Starting && own.term > 0 && !own.gave
            }
            Mutant::SourceUnfreezes => own.phase == Phase::Frozen,
            _ => false,
        };
        if unasked {
            out.push(Action::ServeUnasked(base));
        }
        if own.unsynced.is_some() {
            out.push(Action::SyncLate(base));
        }
        if s.used.crashes < self.budget.crashes {
            out.push(Action::Crash(base));
        }
    }
}

impl Model for Slots {
    type State = Pair;
    type Action = Action;

    fn init_states(&self) -> Vec<Pair> {
        let holder = Base {
            term: 1,
            image: Image::default(),
            gave: false,
            import: None,
            unsynced: None,
            phase: Phase::Serving,
        };
        vec![Pair {
            bases: [holder, Base { term: 0, phase: Phase::Idle, ..holder }],
            key: Key { holder: 0, term: 1, from: 0 },
            net: BTreeSet::new(),
            arrived: false,
            used: Budget::default(),
            confirmed: 0,
            died: [false; 2],
        }]
    }

    fn actions(&self, s: &Pair, out: &mut Vec<Action>) {
        (0..2).for_each(|base| self.base_actions(s, base, out));
        for msg in &s.net {
            out.push(Action::Deliver(*msg));
            if s.used.losses < self.budget.losses {
                out.push(Action::Lose(*msg));
            }
        }
    }

    fn next_state(&self, last: &Pair, action: Action) -> Option<Pair> {
        let mut next = last.clone();
        self.happen(&mut next, action);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Converges for Slots {
    fn is_disturbance(&self, _: &Pair, action: &Action) -> bool {
        matches!(action, Action::Crash(_) | Action::Export(_) | Action::Lose(_))
    }

    fn has_converged(&self, s: &Pair) -> bool {
        properties::has_converged(self, s)
    }
}
