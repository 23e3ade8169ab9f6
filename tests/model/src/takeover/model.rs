//! What can happen next to a slot that is taken over.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::state::{Base, Budget, Msg, Pair, Phase, Store};
use super::{Mutant, Takeover, properties};
use crate::explore::Converges;

/// One thing that can happen; the number is that of the base.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// It confirms an effect.
    Confirm(u8),
    /// Its process dies.
    Crash(u8),
    /// Its next life begins with the lock of its log.
    Start(u8),
    /// It says in the store that it writes the log.
    Own(u8),
    /// It asks the store, or hears, whose the slot is.
    Ask(u8),
    /// The leader takes the holder for lost and orders the other to take the slot over.
    Order(u8),
    /// An order or a transaction arrives.
    Deliver(Msg),
    /// One never arrives any more.
    Lose(Msg),
    /// It reads the other log.
    Read(u8),
    /// What it read is in its own.
    Hold(u8),
    /// It gives up before it has said that it holds anything.
    Abandon(u8),
    /// The leader writes the key anew for the base that is said to be lost.
    CallOff(u8),
    /// It sees that the key changed.
    End(u8),
}

impl Takeover {
    fn deliver(&self, s: &mut Pair, msg: Msg) {
        match msg {
            Msg::Order { to, term, life } => self.on_order(s, to, (term, life)),
            Msg::Commit { to, term, life } => {
                let from = usize::from(1 - to);
                let same_term = s.store.term == term || self.mutant == Mutant::CommitIgnoresTerm;
                let same_life =
                    s.store.wrote[from] == life || self.mutant == Mutant::CommitIgnoresLife;
                if s.store.holder != to && same_term && same_life {
                    (s.store.holder, s.store.term) = (to, s.store.term + 1);
                    s.committed += 1;
                }
            }
        }
    }

    fn happen(&self, s: &mut Pair, action: Action) {
        match action {
            Action::Confirm(base) => {
                s.bases[usize::from(base)].effects += 1;
                s.confirmed += 1;
            }
            Action::Crash(base) => {
                s.used.crashes += 1;
                Self::crash(s, base);
            }
            Action::Start(base) => self.start(s, base),
            Action::Own(base) => Self::own(s, base),
            Action::Ask(base) => self.ask(s, base),
            Action::Order(to) => {
                s.used.orders += 1;
                let (term, life) = (s.store.term, s.store.wrote[usize::from(1 - to)]);
                s.net.insert(Msg::Order { to, term, life });
            }
            Action::Deliver(msg) => self.deliver(s, msg),
            Action::Lose(msg) => {
                s.used.losses += 1;
                s.net.remove(&msg);
            }
            Action::Read(base) => self.read(s, base),
            Action::Hold(base) => Self::hold(s, base),
            Action::Abandon(base) => s.bases[usize::from(base)].take = None,
            Action::CallOff(_) => s.store.term += 1,
            Action::End(base) => self.end(s, base),
        }
    }

    fn base_actions(&self, s: &Pair, base: u8, out: &mut Vec<Action>) {
        let own = &s.bases[usize::from(base)];
        let is_named = s.store.holder == base;
        let asks_first = self.mutant == Mutant::AsksBeforeItOwns;
        match own.phase {
            Phase::Down if !s.is_locked(base) => out.push(Action::Start(base)),
            Phase::Started if asks_first => out.push(Action::Ask(base)),
            Phase::Started | Phase::Asked => out.push(Action::Own(base)),
            Phase::Owned => out.push(Action::Ask(base)),
            Phase::Idle if is_named => out.push(Action::Ask(base)),
            Phase::Serving if !is_named || own.row != Some(s.store.term) => {
                out.push(Action::Ask(base));
            }
            Phase::Down | Phase::Idle | Phase::Serving => {}
        }
        if own.phase == Phase::Serving && s.confirmed < self.effects {
            out.push(Action::Confirm(base));
        }
        if own.phase != Phase::Down && s.used.crashes < self.budget.crashes {
            out.push(Action::Crash(base));
        }
        if !is_named && s.used.orders < self.budget.orders {
            out.push(Action::Order(base));
        }
        let Some(take) = own.take else { return };
        let is_over = s.store.term != take.term;
        match (take.read, take.held) {
            (None, _) => out.push(Action::Read(base)),
            (Some(_), false) => out.push(Action::Hold(base)),
            (Some(_), true) => {}
        }
        if !take.held {
            out.push(Action::Abandon(base));
        }
        if is_over {
            out.push(Action::End(base));
        } else if self.mutant != Mutant::NeverCallsOff {
            out.push(Action::CallOff(base));
        }
    }
}

impl Model for Takeover {
    type State = Pair;
    type Action = Action;

    fn init_states(&self) -> Vec<Pair> {
        let holder = Base {
            row: Some(1),
            effects: 0,
            import: None,
            life: 1,
            phase: Phase::Serving,
            take: None,
        };
        vec![Pair {
            bases: [holder, Base { row: None, phase: Phase::Idle, ..holder }],
            store: Store { holder: 0, term: 1, wrote: [1; 2] },
            net: BTreeSet::new(),
            used: Budget::default(),
            confirmed: 0,
            committed: 0,
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

impl Converges for Takeover {
    fn is_disturbance(&self, _: &Pair, action: &Action) -> bool {
        matches!(action, Action::Crash(_) | Action::Order(_) | Action::Lose(_))
    }

    fn has_converged(&self, s: &Pair) -> bool {
        properties::has_converged(self, s)
    }
}
