//! The base's side: what it takes in, when that counts as durable, and what it says of it.

use super::state::{Base, Bundle, Pair, Report};
use super::{Mutant, Window};

impl Window {
    /// Takes the next bundle.
    pub(super) fn base_reads(&self, s: &mut Pair) {
        let bundle = s.up.remove(0);
        if std::mem::take(&mut s.base.gap) && self.mutant != Mutant::GapOpensWindow {
            (s.base.listed, s.base.asks) = (false, true);
        }
        if s.base.fenced && self.mutant != Mutant::FencedKeepsAdvancing {
            s.down.push(Report::Fenced);
            return;
        }
        let mut logs = false;
        if let Some(epoch) = bundle.step {
            if s.base.owned_by_cell && epoch == s.base.epoch {
                s.base.hears = true;
                s.base.unlogged_step = true;
                logs = true;
            } else {
                s.base.notice = s.base.notice.max(epoch);
                if self.mutant == Mutant::NoticeOnOtherStream {
                    s.aside.push(Report::Notice(epoch));
                }
            }
        }
        s.base.received_tick = bundle.tick;
        if bundle.lists {
            (s.base.listed, s.base.asks, s.base.misses_step) = (true, false, false);
        }
        if !s.base.misses_step {
            s.base.whole_tick = bundle.tick;
        }
        if s.base.listed || self.mutant == Mutant::OpensUnlisted {
            s.base.counted_tick = bundle.tick;
        }
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

    /// The log is synced, and the base reports.
    pub(super) fn sync(&self, s: &mut Pair) {
        if !s.base.fenced {
            s.base.logged_tick = s.base.whole_tick;
        }
        s.base.durable_tick = s.base.durable_tick.max(s.base.counted_tick);
        s.base.unsynced = false;
        s.base.unlogged_step = false;
        s.base.heard |= s.base.hears;
        self.report(s);
    }

    fn report(&self, s: &mut Pair) {
        // What rests on a record that is not on disk is not said.
        let elsewhere = self.mutant == Mutant::NoticeOnOtherStream;
        let notice = if elsewhere || s.base.unsynced { 0 } else { s.base.notice };
        let asks = s.base.asks;
        if self.mutant == Mutant::AsksOnce {
            s.base.asks = false;
        }
        s.down.push(Report::Durable { tick: s.base.durable_tick, notice, asks });
        if self.mutant == Mutant::NoticeSaidOnce && notice > 0 {
            s.base.notice = 0;
        }
    }

    /// Sends the Grant of the current epoch.
    pub(super) fn grant(&self, s: &mut Pair) {
        s.down.push(Report::Grant(s.base.epoch));
    }

    /// Writes another owner.
    pub(super) fn give_to_somebody_else(base: &mut Base) {
        base.epoch += 1;
        base.owned_by_cell = false;
        base.heard = true;
        base.hears = false;
        base.misses_step = false;
    }

    /// What was under way to the base is lost.
    pub(super) fn lose_up(s: &mut Pair) {
        let of_owner = |bundle: &Bundle| bundle.step == Some(s.base.epoch);
        s.base.misses_step |= s.base.owned_by_cell && s.up.iter().any(of_owner);
        s.up.clear();
    }

    /// The base dies and comes back with its log.
    pub(super) fn restart_base(s: &mut Pair) {
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
        s.base.whole_tick = s.base.logged_tick;
        // Not even what its log says is reported: whoever owned then may be somebody else's by now
        // and not know.
        (s.base.counted_tick, s.base.durable_tick) = (0, 0);
        s.base.notice = 0;
        s.base.hears = false;
        s.base.linked = false;
        s.base.gap = false;
        (s.base.listed, s.base.asks) = (false, true);
        s.base.misses_step |= s.base.owned_by_cell && s.base.unlogged_step;
        s.base.unlogged_step = false;
        Self::lose_up(s);
    }

    /// There is a stream to the cellapp again.
    pub(super) fn reconnect(&self, s: &mut Pair) {
        Self::lose_up(s);
        s.down.clear();
        s.base.linked = true;
        if self.mutant == Mutant::NewBaseOpensWindow {
            s.cell.durable_tick = s.cell.tick;
        }
    }
}
