//! What can happen next at the store.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::state::{Budget, Layout, LeaderKey, LifeNumber, Manager, Store, Txn};
use super::{Lead, Mutant, properties};
use crate::explore::Converges;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// A manager creates the leader's key, which is free.
    Campaign(u8),
    /// A manager sends a layout for what it sees.
    SendLayout(u8),
    /// A manager sends a tombstone.
    SendStone(u8, LifeNumber),
    /// A transaction reaches the store.
    Apply(Txn),
    /// The lease of the leader's key ends.
    LeaseEnds,
    /// A manager learns that its key is gone.
    LearnDeposed(u8),
    /// The registration of the cellapp ends although it is well.
    Lapse,
    /// The cellapp sends its registration.
    SendRegister,
    /// The cellapp finds that its life was declared dead.
    FindStone,
    /// The cellapp dies, and its successor starts.
    Crash,
}

fn bit(life: LifeNumber) -> u8 {
    1 << life
}

impl Lead {
    fn may_write(&self, s: &Store, by: LeaderKey) -> bool {
        match self.mutant {
            Mutant::NoGuard => true,
            Mutant::GuardsByName => s.leader.is_some_and(|leader| leader.manager == by.manager),
            _ => s.leader == Some(by),
        }
    }

    /// Notes a manager's write, or that it was refused.
    fn admit(&self, s: &mut Store, by: LeaderKey, asked: bool) -> bool {
        if asked || self.may_write(s, by) {
            return true;
        }
        s.refused_old_leader = true;
        let manager = &mut s.managers[usize::from(by.manager)];
        if manager.leads == Some(by.term) && self.mutant != Mutant::RefusedLeaderStays {
            manager.leads = None;
        }
        false
    }

    fn apply_layout(&self, s: &mut Store, by: LeaderKey, from: u8, owner: LifeNumber) {
        let stands = from == s.layout.version;
        if !stands && self.mutant != Mutant::LayoutUnconditional {
            return;
        }
        s.overwrote |= !stands;
        s.not_by_leader |= s.leader != Some(by);
        s.term_fell |= by.term < s.layout.term;
        s.layout = Layout { owner, version: s.layout.version + 1, term: by.term };
    }

    fn apply_stone(&self, s: &mut Store, by: LeaderKey, life: LifeNumber, asked: bool) {
        s.not_by_leader |= s.leader != Some(by);
        s.dead |= bit(life);
        s.ever_dead |= bit(life);
        let leaves = asked || self.mutant == Mutant::StoneLeavesMember;
        if s.member == Some(life) && !leaves {
            s.member = None;
        }
    }

    fn apply_register(&self, s: &mut Store, life: LifeNumber, asked: bool) {
        if s.dead & bit(life) != 0 && !asked {
            s.refused_dead = true;
            return;
        }
        match s.member {
            Some(other) if other > life => {}
            Some(other) if other < life => {
                // Nobody answers under the name any more: its end and our beginning are one.
                s.dead |= bit(other);
                s.ever_dead |= bit(other);
                s.member = Some(life);
            }
            _ => s.member = Some(life),
        }
    }

    fn apply(&self, s: &mut Store, txn: Txn) {
        s.net.remove(&txn);
        match txn {
            Txn::Layout { by, from, owner, asked } => {
                if !self.admit(s, by, asked) {
                    return;
                }
                if self.mutant == Mutant::AsksThenWrites && !asked {
                    s.net.insert(Txn::Layout { by, from, owner, asked: true });
                } else {
                    self.apply_layout(s, by, from, owner);
                }
            }
            Txn::Stone { by, life, asked } => {
                if !self.admit(s, by, asked) {
                    return;
                }
                let looks = self.mutant == Mutant::StoneLooksFirst && s.member != Some(life);
                if looks && !asked {
                    s.net.insert(Txn::Stone { by, life, asked: true });
                } else {
                    self.apply_stone(s, by, life, asked);
                }
            }
            Txn::Register { life, asked } => {
                let looks = self.mutant == Mutant::RegistersAfterLook;
                if looks && !asked && s.dead & bit(life) == 0 {
                    s.net.insert(Txn::Register { life, asked: true });
                } else {
                    self.apply_register(s, life, asked);
                }
            }
        }
    }

    fn begin_new_life(s: &mut Store) {
        s.life += 1;
        s.net.retain(|txn| !matches!(txn, Txn::Register { asked: false, .. }));
    }

    fn happen(&self, s: &mut Store, action: Action) {
        match action {
            Action::Campaign(manager) => {
                s.revision += 1;
                let term = s.revision;
                s.leader = Some(LeaderKey { manager, term });
                s.managers[usize::from(manager)].leads = Some(term);
            }
            Action::SendLayout(manager) => {
                let by = Self::believed(s, manager);
                let (from, owner) = (s.layout.version, s.member.unwrap_or(0));
                s.net.insert(Txn::Layout { by, from, owner, asked: false });
            }
            Action::SendStone(manager, life) => {
                // What is past is truly dead.
                s.used.verdicts += u8::from(life == s.life);
                let by = Self::believed(s, manager);
                s.net.insert(Txn::Stone { by, life, asked: false });
            }
            Action::Apply(txn) => self.apply(s, txn),
            Action::LeaseEnds => {
                s.used.leases += 1;
                s.leader = None;
            }
            Action::LearnDeposed(manager) => s.managers[usize::from(manager)].leads = None,
            Action::Lapse => {
                s.used.lapses += 1;
                s.member = None;
            }
            Action::SendRegister => {
                let life = s.life;
                s.net.insert(Txn::Register { life, asked: false });
            }
            Action::FindStone if self.mutant == Mutant::RemovesOwnStone => s.dead &= !bit(s.life),
            Action::FindStone => Self::begin_new_life(s),
            Action::Crash => {
                s.used.crashes += 1;
                Self::begin_new_life(s);
            }
        }
    }

    fn believed(s: &Store, manager: u8) -> LeaderKey {
        let term = s.managers[usize::from(manager)].leads.unwrap_or(0);
        LeaderKey { manager, term }
    }

    fn manager_actions(&self, s: &Store, manager: u8, out: &mut Vec<Action>) {
        let Manager { leads } = s.managers[usize::from(manager)];
        let Some(term) = leads else {
            if s.leader.is_none() {
                out.push(Action::Campaign(manager));
            }
            return;
        };
        let by = LeaderKey { manager, term };
        if s.leader != Some(by) && self.mutant != Mutant::RefusedLeaderStays {
            out.push(Action::LearnDeposed(manager));
        }
        if s.member.is_some_and(|life| life != s.layout.owner) {
            out.push(Action::SendLayout(manager));
        }
        let budget_left = s.used.verdicts < self.budget.verdicts;
        if s.dead & bit(s.life) == 0 && budget_left {
            out.push(Action::SendStone(manager, s.life));
        }
        let past = (1..s.life).filter(|life| s.dead & bit(*life) == 0);
        let in_store = past.filter(|life| s.member == Some(*life));
        out.extend(in_store.map(|life| Action::SendStone(manager, life)));
    }
}

impl Model for Lead {
    type State = Store;
    type Action = Action;

    fn init_states(&self) -> Vec<Store> {
        vec![Store {
            leader: None,
            revision: 0,
            layout: Layout::default(),
            member: Some(1),
            dead: 0,
            managers: [Manager::default(); 2],
            life: 1,
            net: BTreeSet::new(),
            used: Budget::default(),
            not_by_leader: false,
            term_fell: false,
            overwrote: false,
            ever_dead: 0,
            refused_old_leader: false,
            refused_dead: false,
        }]
    }

    fn actions(&self, s: &Store, out: &mut Vec<Action>) {
        let (used, budget) = (&s.used, &self.budget);
        (0..2).for_each(|manager| self.manager_actions(s, manager, out));
        out.extend(s.net.iter().map(|txn| Action::Apply(*txn)));
        if s.leader.is_some() && used.leases < budget.leases {
            out.push(Action::LeaseEnds);
        }
        if s.member == Some(s.life) && used.lapses < budget.lapses {
            out.push(Action::Lapse);
        }
        let is_dead = s.dead & bit(s.life) != 0;
        if s.member != Some(s.life) && !s.net.iter().any(|t| matches!(t, Txn::Register { .. })) {
            out.push(Action::SendRegister);
        }
        if is_dead && self.mutant != Mutant::NeverBornAgain {
            out.push(Action::FindStone);
        }
        if used.crashes < budget.crashes {
            out.push(Action::Crash);
        }
    }

    fn next_state(&self, last: &Store, action: Action) -> Option<Store> {
        let mut next = last.clone();
        self.happen(&mut next, action);
        (next != *last).then_some(next)
    }

    /// Only mutants can go on for ever.
    fn within_boundary(&self, s: &Store) -> bool {
        s.layout.version < 8 && s.life < 7 && s.revision < 8
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Converges for Lead {
    fn is_disturbance(&self, s: &Store, action: &Action) -> bool {
        match action {
            Action::LeaseEnds | Action::Lapse | Action::Crash => true,
            Action::SendStone(_, life) => *life == s.life,
            _ => false,
        }
    }

    fn has_converged(&self, s: &Store) -> bool {
        properties::has_converged(s)
    }
}
