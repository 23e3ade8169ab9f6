//! The cellapp's side: which ticks it simulates, what it sends, and what it does with a report.

use super::state::{Bundle, Cell, Epoch, Pair, Real, Report};
use super::{Mutant, Window};

impl Window {
    /// True if the entity may be simulated in the next tick.
    pub(super) fn may_simulate(&self, cell: &Cell) -> bool {
        let ahead = cell.tick + 1 - cell.durable_tick;
        cell.real.is_some_and(|real| match self.mutant {
            Mutant::NoWindow => true,
            Mutant::CountsSteps => real.unacked_steps < self.window_ticks,
            Mutant::OneTickTooLong => ahead <= self.window_ticks,
            _ => ahead < self.window_ticks,
        })
    }

    /// Runs a tick and sends the bundle that closes it.
    pub(super) fn tick(&self, s: &mut Pair, change: bool) {
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
            let first = match self.mutant {
                Mutant::FirstStepOptional => false,
                Mutant::FirstStepWaits => !real.spoke && simulated,
                _ => !real.spoke,
            };
            if changed || first {
                step = Some(real.epoch);
                real.spoke = true;
                real.changed |= changed;
                real.unacked_steps += 1;
            }
        }
        let held = s.cell.real.map(|real| real.epoch);
        let asked = std::mem::take(&mut s.cell.resync);
        let lists = asked && (held.is_some() || self.mutant != Mutant::SilentIfEmpty);
        if lists && self.mutant != Mutant::ResyncOmitsHeld {
            // With the list come the steps that are not acknowledged.
            step = held.or(step);
        }
        let silent = match self.mutant {
            Mutant::NoEmptyBundles => step.is_none(),
            Mutant::SilentWithoutReals => held.is_none(),
            _ => false,
        };
        if !silent {
            s.up.push(Bundle { tick, step, lists });
        }
    }

    /// Takes what the base says.
    pub(super) fn cell_takes(s: &mut Pair, report: Report) {
        match report {
            Report::Durable { tick, notice, asks } => {
                s.cell.resync |= asks;
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
}

impl Real {
    /// A copy that has just been activated.
    pub(super) fn activated(epoch: Epoch) -> Real {
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
