//! What can happen next between a cellapp and a base.

use stateright::{Model, Property};

use super::state::{Base, Budget, Bundle, Cell, Epoch, Pair, Real, Report};
use super::{Mutant, Window, properties};

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
    /// The cellapp connects to the new base and says what it holds.
    Reconnect,
}

impl Window {
    fn may_simulate(&self, cell: &Cell) -> bool {
        let ahead = cell.tick + 1 - cell.durable_tick;
        cell.real.is_some_and(|real| match self.mutant {
            Mutant::CountsSteps => real.unacked_steps < self.window_ticks,
            Mutant::OneTickTooLong => ahead <= self.window_ticks,
            _ => ahead < self.window_ticks,
        })
    }

    fn tick(&self, s: &mut Pair, change: bool) {
        let simulated = self.may_simulate(&s.cell);
        s.cell.tick += 1;
        let tick = s.cell.tick;
        let mut step = None;
        if let Some(real) = &mut s.cell.real {
            let changed = simulated && change;
            if simulated {
                let unused = !real.spoke && real.owner_ticks + real.stale_ticks == 0;
                real.ran_at_once |= unused && tick > self.window_ticks;
                let current = s.base.owned_by_cell && s.base.epoch == real.epoch;
                let counter = if current { &mut real.owner_ticks } else { &mut real.stale_ticks };
                *counter += 1;
                s.overran |= tick - s.base.logged_tick >= self.window_ticks;
            }
            let first = !real.spoke && self.mutant != Mutant::FirstStepOptional;
            if changed || first {
                step = Some(real.epoch);
                real.spoke = true;
                real.changed |= changed;
                real.unacked_steps += 1;
            }
        }
        let silent = match self.mutant {
            Mutant::NoEmptyBundles => step.is_none(),
            Mutant::SilentWithoutReals => s.cell.real.is_none(),
            _ => false,
        };
        if !silent {
            s.up.push(Bundle { tick, step });
        }
    }

    fn base_reads(&self, s: &mut Pair) {
        let bundle = s.up.remove(0);
        if s.base.fenced && self.mutant != Mutant::FencedKeepsAdvancing {
            s.down.push(Report::Fenced);
            return;
        }
        let mut logs = false;
        if let Some(epoch) = bundle.step {
            if s.base.owned_by_cell && epoch == s.base.epoch {
                s.base.hears = true;
                logs = true;
            } else {
                s.base.notice = s.base.notice.max(epoch);
                if self.mutant == Mutant::NoticeOnOtherStream {
                    s.aside.push(Report::Notice(epoch));
                }
            }
        }
        s.base.received_tick = bundle.tick;
        let nothing_logged = !logs && s.base.logged_tick + 1 == bundle.tick;
        if self.mutant == Mutant::ReportsBeforeSync {
            s.base.durable_tick = bundle.tick;
            self.report(s);
        } else if self.mutant == Mutant::EmptyNeedsNoSync && nothing_logged {
            s.base.logged_tick = bundle.tick;
            s.base.durable_tick = bundle.tick;
            self.report(s);
        }
    }

    fn sync(&self, s: &mut Pair) {
        if !s.base.fenced {
            s.base.logged_tick = s.base.received_tick;
        }
        s.base.durable_tick = s.base.received_tick;
        s.base.unsynced = false;
        s.base.heard |= s.base.hears;
        self.report(s);
    }

    fn report(&self, s: &mut Pair) {
        // What rests on a record that is not on disk is not said.
        let elsewhere = self.mutant == Mutant::NoticeOnOtherStream;
        let notice = if elsewhere || s.base.unsynced { 0 } else { s.base.notice };
        s.down.push(Report::Durable { tick: s.base.durable_tick, notice });
    }

    fn cell_takes(s: &mut Pair, report: Report) {
        match report {
            Report::Durable { tick, notice } => {
                if tick > s.cell.durable_tick {
                    s.cell.durable_tick = tick;
                    if let Some(real) = &mut s.cell.real {
                        real.unacked_steps = 0;
                    }
                }
                Self::drop_up_to(&mut s.cell, notice);
            }
            Report::Notice(epoch) => Self::drop_up_to(&mut s.cell, epoch),
            Report::Grant(epoch) => {
                if epoch > s.cell.top && !s.cell.fenced {
                    s.cell.top = epoch;
                    s.cell.real = Some(Real::activated(epoch));
                }
            }
            Report::Fenced => {
                s.cell.real = None;
                s.cell.fenced = true;
            }
        }
    }

    fn drop_up_to(cell: &mut Cell, epoch: Epoch) {
        cell.top = cell.top.max(epoch);
        if cell.real.is_some_and(|real| real.epoch <= epoch) {
            cell.real = None;
        }
    }

    fn give_to_somebody_else(base: &mut Base) {
        base.epoch += 1;
        base.owned_by_cell = false;
        base.heard = true;
        base.hears = false;
    }

    fn restart_base(s: &mut Pair) {
        if s.base.unsynced {
            // The record is lost: its epoch never was, and the ownership before it never ended.
            if let Some(real) = &mut s.cell.real {
                real.stale_ticks = 0;
            }
            s.base.unsynced = false;
            s.base.epoch -= 1;
            s.base.owned_by_cell = true;
            s.base.heard = false;
        }
        s.base.received_tick = s.base.logged_tick;
        s.base.durable_tick = s.base.logged_tick;
        s.base.notice = 0;
        s.base.hears = false;
        s.base.linked = false;
        s.up.clear();
    }

    fn reconnect(&self, s: &mut Pair) {
        s.up.clear();
        s.down.clear();
        s.base.linked = true;
        let held = s.cell.real.map(|real| real.epoch);
        let step = if self.mutant == Mutant::ResyncOmitsHeld { None } else { held };
        s.up.push(Bundle { tick: s.cell.tick, step });
        if self.mutant == Mutant::NewBaseOpensWindow {
            s.cell.durable_tick = s.cell.tick;
        }
        if s.base.owned_by_cell && !s.base.heard {
            s.down.push(Report::Grant(s.base.epoch));
        }
    }

    fn happen(&self, s: &mut Pair, action: Action) {
        match action {
            Action::Tick { change } => self.tick(s, change),
            Action::BaseReads => self.base_reads(s),
            Action::Sync => self.sync(s),
            Action::CellReads => {
                let report = s.down.remove(0);
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
                s.down.push(Report::Grant(s.base.epoch));
            }
            Action::RestartBase => {
                s.used.restarts += 1;
                Self::restart_base(s);
            }
            Action::Reconnect => self.reconnect(s),
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

impl Real {
    fn activated(epoch: Epoch) -> Real {
        Real {
            epoch,
            spoke: false,
            ran_at_once: false,
            changed: false,
            unacked_steps: 0,
            stale_ticks: 0,
            owner_ticks: 0,
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
        let (base, used, budget) = (&s.base, &s.used, &self.budget);
        if s.cell.tick < self.ticks_max && !s.cell.fenced {
            out.push(Action::Tick { change: false });
            if self.may_simulate(&s.cell) {
                out.push(Action::Tick { change: true });
            }
        }
        if base.linked && !s.up.is_empty() {
            out.push(Action::BaseReads);
        }
        let answers = !base.fenced || self.mutant == Mutant::FencedKeepsAdvancing;
        let unlogged = !base.fenced && base.received_tick > base.logged_tick;
        let unreported = base.received_tick > base.durable_tick;
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
        if !base.linked {
            out.push(Action::Reconnect);
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
