//! What can happen next to a log and those who want to write it.

use stateright::{Model, Property};

use super::state::{Budget, Effects, Folder, Life, Phase, Record};
use super::{Mutant, Term, properties};
use crate::explore::Converges;

/// One thing that can happen; the number is that of the life.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// A life takes the lock and reads the log.
    Open(u8),
    /// It takes a new term from the store.
    Raise(u8),
    /// Its term is in the log, and it serves.
    Serve(u8),
    /// It writes an effect.
    Write(u8, Effects),
    /// What it wrote is on disk, and it confirms it.
    Confirm(u8),
    /// The file is synced, for whatever reason.
    Sync,
    /// It ends in good order.
    Retire(u8),
    /// It is killed.
    Kill(u8),
    /// The host dies.
    LoseHost,
    /// The store is replaced by an empty one.
    LoseStore,
    /// An operator raises the new store above the log.
    RecoverStore,
}

impl Term {
    fn open(&self, s: &mut Folder, life: u8) {
        s.lock = Some(life);
        let (mut image, mut top) = (0, 0);
        for record in &s.records {
            if record.term >= top || self.mutant == Mutant::ReadsAnyTerm {
                image |= record.effect;
            }
            top = top.max(record.term);
        }
        // What is read counts from now on, so it has to be on disk.
        s.synced = s.records.len();
        s.lives[usize::from(life)] = Life { phase: Phase::Opened, image, ..Life::default() };
    }

    fn raise(&self, s: &mut Folder, life: u8) {
        let term = match self.mutant {
            Mutant::KeepsOldTerm => s.highest().max(1),
            _ => s.store + 1,
        };
        s.store = s.store.max(term);
        let own = &mut s.lives[usize::from(life)];
        (own.term, own.phase) = (term, Phase::Raised);
        s.records.push(Record { term, effect: 0 });
    }

    fn serve(&self, s: &mut Folder, life: u8) {
        if self.mutant != Mutant::TermNotSynced {
            s.synced = s.records.len();
        }
        let own = &mut s.lives[usize::from(life)];
        own.phase = Phase::Serving;
        // Clients that were not told ask again.
        own.pending = own.image & !s.confirmed;
        s.term_fell |= own.term <= s.top;
        s.top = s.top.max(own.term);
    }

    fn confirm(&self, s: &mut Folder, life: u8) {
        if self.mutant != Mutant::ConfirmsBeforeSync {
            s.synced = s.records.len();
        }
        let highest = s.highest();
        let own = &mut s.lives[usize::from(life)];
        s.confirmed |= std::mem::take(&mut own.pending);
        s.confirmed_below |= own.term < highest;
    }

    fn retire(&self, s: &mut Folder, life: u8) {
        let own = &mut s.lives[usize::from(life)];
        if own.pending != 0 && self.mutant != Mutant::LockLeftEarly {
            // Its last act is to wait for its disk.
            self.confirm(s, life);
        }
        s.lives[usize::from(life)].phase = Phase::Retired;
        s.lock = s.lock.filter(|holder| *holder != life);
    }

    fn end(s: &mut Folder, life: u8) {
        s.lives[usize::from(life)] = Life { phase: Phase::Over, ..Life::default() };
        s.lock = s.lock.filter(|holder| *holder != life);
    }

    fn lose_host(s: &mut Folder) {
        s.records.truncate(s.synced);
        for life in 0..s.lives.len() as u8 {
            if s.lives[usize::from(life)].phase != Phase::Waiting {
                Self::end(s, life);
            }
        }
    }

    fn happen(&self, s: &mut Folder, action: Action) {
        match action {
            Action::Open(life) => self.open(s, life),
            Action::Raise(life) => self.raise(s, life),
            Action::Serve(life) => self.serve(s, life),
            Action::Write(life, effect) => {
                let own = &mut s.lives[usize::from(life)];
                own.image |= effect;
                own.pending |= effect;
                let term = own.term;
                s.records.push(Record { term, effect });
            }
            Action::Confirm(life) => self.confirm(s, life),
            Action::Sync => s.synced = s.records.len(),
            Action::Retire(life) => {
                s.used.retirements += 1;
                self.retire(s, life);
            }
            Action::Kill(life) => {
                s.used.kills += 1;
                Self::end(s, life);
            }
            Action::LoseHost => {
                s.used.host_losses += 1;
                Self::lose_host(s);
            }
            Action::LoseStore => {
                s.used.store_losses += 1;
                s.store = 0;
            }
            Action::RecoverStore => s.store = s.highest(),
        }
    }

    fn life_actions(&self, s: &Folder, life: u8, out: &mut Vec<Action>) {
        let (own, used, budget) = (&s.lives[usize::from(life)], &s.used, &self.budget);
        let is_first = s.lives[..usize::from(life)].iter().all(|l| l.phase != Phase::Waiting);
        match own.phase {
            Phase::Waiting if is_first && (s.lock.is_none() || self.mutant == Mutant::NoLock) => {
                out.push(Action::Open(life));
            }
            // A store whose next term is not above the log's is a foreign one.
            Phase::Opened if s.store >= s.highest() || self.mutant == Mutant::TrustsAnyStore => {
                out.push(Action::Raise(life));
            }
            Phase::Raised => out.push(Action::Serve(life)),
            Phase::Serving => {
                let effects = (0..self.effects).map(|n| 1 << n);
                let open = effects.filter(|effect| own.image & effect == 0);
                out.extend(open.map(|effect| Action::Write(life, effect)));
                if used.retirements < budget.retirements {
                    out.push(Action::Retire(life));
                }
            }
            _ => {}
        }
        if own.pending != 0 {
            out.push(Action::Confirm(life));
        }
        let lives = !matches!(own.phase, Phase::Waiting | Phase::Over);
        if lives && used.kills < budget.kills {
            out.push(Action::Kill(life));
        }
    }
}

impl Model for Term {
    type State = Folder;
    type Action = Action;

    fn init_states(&self) -> Vec<Folder> {
        vec![Folder {
            records: Vec::new(),
            synced: 0,
            lock: None,
            lives: vec![Life::default(); usize::from(self.lives)],
            store: 0,
            used: Budget::default(),
            confirmed: 0,
            top: 0,
            term_fell: false,
            confirmed_below: false,
        }]
    }

    fn actions(&self, s: &Folder, out: &mut Vec<Action>) {
        (0..self.lives).for_each(|life| self.life_actions(s, life, out));
        if s.synced < s.records.len() {
            out.push(Action::Sync);
        }
        let any = s.lives[0].phase != Phase::Waiting;
        if any && s.used.host_losses < self.budget.host_losses {
            out.push(Action::LoseHost);
        }
        if any && s.used.store_losses < self.budget.store_losses {
            out.push(Action::LoseStore);
        }
        if s.store < s.highest() && self.mutant != Mutant::NoRecovery {
            out.push(Action::RecoverStore);
        }
    }

    fn next_state(&self, last: &Folder, action: Action) -> Option<Folder> {
        let mut next = last.clone();
        self.happen(&mut next, action);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Converges for Term {
    fn is_disturbance(&self, _: &Folder, action: &Action) -> bool {
        matches!(action, Action::Kill(_) | Action::LoseHost | Action::LoseStore | Action::Retire(_))
    }

    fn has_converged(&self, s: &Folder) -> bool {
        let serves = s.lives.iter().any(|life| life.phase == Phase::Serving);
        serves && s.confirmed == (1 << self.effects) - 1
    }

    /// With its last life gone nobody is left to go on.
    fn is_asked(&self, s: &Folder) -> bool {
        let may = |life: &Life| !matches!(life.phase, Phase::Over | Phase::Retired);
        s.lives.iter().any(may)
    }
}
