//! What can happen next between a cellapp and a base.

use stateright::{Model, Property};

use super::state::{Base, Budget, Cell, Pair, Real, Report};
use super::{Mutant, Window, properties};
use crate::explore::Converges;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// The cellapp runs a tick; the entity changes in it, if it is simulated at all.
    Tick {
        /// The entity changes, so there is a step to send.
        change: bool,
    },
    /// The base reads the next bundle.
    BaseReads,
    /// The base's log is synced and the base reports.
    Sync,
    /// The cellapp reads the next report.
    CellReads,
    /// The cellapp reads a report of the other stream (mutant only).
    CellReadsAside(Report),
    /// The incarnation is declared dead, wrongly.
    Verdict,
    /// The Grant deadline passes and somebody else gets the entity.
    Deadline,
    /// The entity is granted to the cellapp again.
    GrantAgain,
    /// The base dies and returns.
    RestartBase,
    /// The cellapp connects to the new base.
    Reconnect,
    /// The base sends a Grant again whose first step it has not got.
    RepeatGrant,
    /// The stream to the base begins anew: what was under way in it is lost.
    LoseUp,
    /// The stream from the base begins anew.
    LoseDown,
}

impl Window {
    fn happen(&self, s: &mut Pair, action: Action) {
        match action {
            Action::Tick { change } => self.tick(s, change),
            Action::BaseReads => self.base_reads(s),
            Action::Sync => self.sync(s),
            Action::CellReads => {
                let report = s.down.remove(0);
                s.cell.resync |= std::mem::take(&mut s.cell.gap);
                Self::cell_takes(s, report);
            }
            Action::CellReadsAside(report) => {
                s.aside.retain(|other| *other != report);
                Self::cell_takes(s, report);
            }
            Action::Verdict => {
                s.used.verdicts += 1;
                s.base.fenced = true;
                s.base.unsynced = false;
                if s.base.owned_by_cell {
                    Self::give_to_somebody_else(&mut s.base);
                }
            }
            Action::Deadline => {
                s.used.deadlines += 1;
                if self.mutant != Mutant::SilentDeadline {
                    s.base.notice = s.base.notice.max(s.base.epoch);
                }
                Self::give_to_somebody_else(&mut s.base);
                s.base.unsynced = true;
            }
            Action::GrantAgain => {
                s.used.grants += 1;
                s.base.epoch += 1;
                s.base.owned_by_cell = true;
                s.base.heard = false;
                s.base.hears = false;
                self.grant(s);
            }
            Action::RepeatGrant => self.grant(s),
            Action::LoseUp => {
                s.used.losses += 1;
                Self::lose_up(s);
                s.base.gap = true;
            }
            Action::LoseDown => {
                s.used.losses += 1;
                s.down.clear();
                s.cell.gap = true;
            }
            Action::RestartBase => {
                s.used.restarts += 1;
                Self::restart_base(s);
            }
            Action::Reconnect => self.reconnect(s),
        }
    }

    /// Whether a report would ask something that is not under way, nor its answer.
    fn asks_anew(s: &Pair) -> bool {
        let asks = |report: &Report| matches!(report, Report::Durable { asks: true, .. });
        let answered = s.cell.resync || s.up.iter().any(|bundle| bundle.lists);
        s.base.asks && !answered && !s.down.iter().any(asks)
    }

    fn disturbances(&self, s: &Pair, out: &mut Vec<Action>) {
        let (base, used, budget) = (&s.base, &s.used, &self.budget);
        if !base.fenced && used.verdicts < budget.verdicts {
            out.push(Action::Verdict);
        }
        if base.owned_by_cell && !base.heard && used.deadlines < budget.deadlines {
            out.push(Action::Deadline);
        }
        let elsewhere = !base.owned_by_cell && !base.unsynced && !base.fenced;
        if elsewhere && base.linked && used.grants < budget.grants {
            out.push(Action::GrantAgain);
        }
        if used.restarts < budget.restarts {
            out.push(Action::RestartBase);
        }
        if base.linked && used.losses < budget.losses {
            out.extend((!s.up.is_empty()).then_some(Action::LoseUp));
            out.extend((!s.down.is_empty()).then_some(Action::LoseDown));
        }
    }

    fn initial(&self) -> Pair {
        let active = !self.begins_granted;
        let real = Real { spoke: true, ..Real::activated(1) };
        Pair {
            cell: Cell { top: u8::from(active), real: active.then_some(real), ..Cell::default() },
            base: Base {
                epoch: 1,
                owned_by_cell: true,
                heard: active,
                hears: false,
                unsynced: false,
                fenced: false,
                logged_tick: 0,
                durable_tick: 0,
                received_tick: 0,
                counted_tick: 0,
                whole_tick: 0,
                listed: true,
                asks: false,
                gap: false,
                misses_step: false,
                unlogged_step: false,
                notice: 0,
                linked: true,
            },
            up: Vec::new(),
            down: if active { Vec::new() } else { vec![Report::Grant(1)] },
            aside: Vec::new(),
            used: Budget::default(),
            overran: false,
        }
    }
}

impl Model for Window {
    type State = Pair;
    type Action = Action;

    fn init_states(&self) -> Vec<Pair> {
        vec![self.initial()]
    }

    fn actions(&self, s: &Pair, out: &mut Vec<Action>) {
        let base = &s.base;
        if s.cell.tick < self.ticks_max + self.settle_ticks && !s.cell.fenced {
            out.push(Action::Tick { change: false });
            if self.may_simulate(&s.cell) {
                out.push(Action::Tick { change: true });
            }
        }
        if base.linked && !s.up.is_empty() {
            out.push(Action::BaseReads);
        }
        let answers = !base.fenced || self.mutant == Mutant::FencedKeepsAdvancing;
        let unlogged = !base.fenced && (base.counted_tick > base.logged_tick || base.unlogged_step);
        let unreported = base.counted_tick > base.durable_tick || Self::asks_anew(s);
        if base.linked
            && answers
            && (unlogged || unreported || base.unsynced || base.hears && !base.heard)
        {
            out.push(Action::Sync);
        }
        if !s.down.is_empty() {
            out.push(Action::CellReads);
        }
        out.extend(s.aside.iter().map(|report| Action::CellReadsAside(*report)));
        if !base.linked {
            out.push(Action::Reconnect);
        }
        let waits = base.owned_by_cell && !base.heard && !base.unsynced && base.linked;
        let under_way = |report: &Report| *report == Report::Grant(base.epoch);
        if waits && !s.down.iter().any(under_way) && s.cell.real.is_none() {
            out.push(Action::RepeatGrant);
        }
        if s.cell.tick <= self.ticks_max {
            self.disturbances(s, out);
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

impl Converges for Window {
    fn is_disturbance(&self, _: &Pair, action: &Action) -> bool {
        matches!(
            action,
            Action::Verdict
                | Action::Deadline
                | Action::GrantAgain
                | Action::RestartBase
                | Action::LoseUp
                | Action::LoseDown
        )
    }

    fn has_converged(&self, s: &Pair) -> bool {
        properties::has_converged(self, s)
    }

    fn is_asked(&self, s: &Pair) -> bool {
        s.cell.tick <= self.ticks_max
    }
}
