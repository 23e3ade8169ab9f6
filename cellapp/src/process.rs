//! The tick thread's work. Nothing here waits.

use crate::life::Flags;
use crate::load::DeclaredLoad;
use crate::shows;
use crate::work::Workshop;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellInput, CellOrder, CellStats};
use marchland_common::cluster::MapChange;
use marchland_common::journal::{BundleRef, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_common::time::{ClusterDecision, Dropped, Phase};
use marchland_runtime::coord::RegState;
use marchland_runtime::link::LinkEvent;
use marchland_runtime::observe::{Questions, Stage};
use marchland_runtime::process::{
    DrainOrder, Hold, HoldNews, MapFeed, ShutdownWatch, Surroundings,
};
use marchland_runtime::tick::{Spans, TickNow, TickProcess, monotonic_ns};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use tokio::sync::watch;

/// A drained process goes when nothing came for so many ticks: a base grants only to whom it heard
/// taking entities within four ticks, and a grant is under way for less than two.
const EMPTY_TICKS: u32 = 6;

/// Everything that the tick thread owns.
pub(crate) struct CellTick {
    pub(crate) node: Node,
    pub(crate) core: CellCore,
    pub(crate) around: Surroundings,
    pub(crate) feed: MapFeed,
    pub(crate) workshop: Workshop,
    /// Where its pictures are shown.
    pub(crate) stage: Stage,
    /// What is asked about its entities.
    pub(crate) questions: Questions,
    pub(crate) load: DeclaredLoad,
    pub(crate) registered: watch::Receiver<RegState>,
    pub(crate) shutdown: ShutdownWatch,
    pub(crate) drain: DrainOrder,
    pub(crate) flags: Flags,
    /// Whether the core takes grants, as it was told.
    pub(crate) accepts: bool,
    pub(crate) draining: bool,
    /// For how many ticks of the drain nothing has been here.
    pub(crate) empty_ticks: u32,
    /// Orders for the next tick.
    pub(crate) orders: Vec<CellOrder>,
}

impl TickProcess for CellTick {
    fn tick(&mut self, now: &TickNow, spans: &mut Spans) {
        let begun_ns = monotonic_ns();
        self.around.hear_pause(now);
        self.around.hear_journal();
        self.hear_registration();
        self.hear_drain();
        self.orders.extend(self.around.holds.news().map(|news| match news {
            HoldNews::Freeze => CellOrder::Freeze,
            HoldNews::Thaw => CellOrder::Thaw,
        }));
        let drained = self.around.hear_links();
        self.hear_losses(drained.events.iter().filter_map(LinkEvent::lost_to));
        let map = self.hear_map();
        let is_end = map.iter().any(|change| self.is_end(change));
        let input = CellInput {
            tick: now.tick,
            dropped: now.dropped,
            map,
            frames: drained.frames,
            completions: self.workshop.done(),
            orders: std::mem::take(&mut self.orders),
        };
        let encoded = postcard::to_stdvec(&input).unwrap_or_default();
        let received = input.frames.iter().map(BundleRef::of_frame).collect();
        spans.mark(Phase::Network);
        let output = self.core.tick(input);
        self.load.fill(begun_ns);
        spans.mark(Phase::Entity);
        self.show(&output.stats, now.tick);
        self.see_whether_drained(&output.stats);
        let (events, facts) = self.around.add_facts(output.events);
        let record = TickRecord {
            tick: now.tick,
            moment: Moment::Flush,
            input: encoded.into(),
            received,
            sent: output.bundles.iter().map(BundleRef::of_outgoing).collect(),
            events,
            facts,
            digest: self.core.digest(),
        };
        if let Some(ticket) = self.around.record(record, || self.core.snapshot()) {
            let unsent = self.around.send(output.bundles, ticket);
            self.hear_losses(unsent.iter().map(|bundle| bundle.to));
        }
        if is_end {
            self.flags.over.store(true, Ordering::Release);
        }
        for work in output.work {
            self.workshop.begin(work);
        }
        self.show_observers(now.tick);
        spans.mark(Phase::Flush);
    }

    fn wake(&mut self, _: Tick, _: Moment) {}

    fn decided(&mut self, decision: ClusterDecision) {
        self.around.decided(decision);
    }

    fn stop(&mut self, dropped: Option<Dropped>) {
        let over = self.flags.over.load(Ordering::Acquire);
        let why = if over { "this life was given up" } else { "asked to end" };
        self.around.close(dropped, why);
    }
}

impl CellTick {
    /// Without a proven registration nothing new is taken; what is here goes on while its bases
    /// acknowledge. A drain is another matter: the core says by itself that it takes nothing new,
    /// and what was granted to it before anybody heard that it takes and hands on.
    fn hear_registration(&mut self) {
        let registered = matches!(*self.registered.borrow(), RegState::Registered);
        let proven = registered && !self.around.holds.stands(Hold::Pause);
        if proven != self.accepts {
            self.accepts = proven;
            self.orders.push(CellOrder::Accept(proven));
        }
        self.around.health.set("the registration is unproven", !registered);
    }

    /// What the map says. The registration may know earlier that this life is over.
    fn hear_map(&mut self) -> Vec<MapChange> {
        let mut map = self.feed.take();
        let over = self.registered.borrow().is_final();
        if over && !self.flags.over.load(Ordering::Acquire) {
            map.push(MapChange::Dead(vec![self.node.incarnation]));
        }
        map
    }

    fn is_end(&self, change: &MapChange) -> bool {
        matches!(change, MapChange::Dead(lives) if lives.contains(&self.node.incarnation))
    }

    /// It gives everything away when it is ordered to, and when it is to end.
    fn hear_drain(&mut self) {
        let leaves = self.shutdown.is_asked() || self.drain.is_given();
        if leaves && !self.draining {
            self.draining = true;
            self.orders.push(CellOrder::Drain);
        }
    }

    /// Another cellapp that misses bundles of ours begins anew and forgets our ghosts: they are to
    /// be shown to it again. (A base that misses some asks; what *we* miss, the core sees.)
    fn hear_losses(&mut self, lost_to: impl Iterator<Item = Node>) {
        let cells: BTreeSet<Node> =
            lost_to.filter(|peer| peer.name.kind == NodeKind::Cell).collect();
        self.orders.extend(cells.into_iter().map(CellOrder::LinkReset));
    }

    fn show(&self, stats: &CellStats, tick: Tick) {
        let (reals, ghosts) = (stats.reals as u64, stats.ghosts as u64);
        let Surroundings { health, counters, .. } = &self.around;
        health.figures(tick.0, reals, ghosts, 0, 0);
        counters.counter("entities_waiting").set(stats.waiting as u64);
        counters.counter("entities_frozen").set(stats.frozen as u64);
        counters.counter("ghosts_stale").set(stats.ghosts_stale as u64);
        counters.counter("witnesses").set(stats.witnesses as u64);
        counters.counter("signals_held").set(stats.signals_held as u64);
    }

    /// What whoever looks is shown, while somebody does.
    fn show_observers(&self, tick: Tick) {
        let kinds = self.core.kinds();
        if self.stage.is_wanted(tick) {
            self.stage.show(shows::picture(&self.core, kinds, self.node, tick));
        }
        self.questions.answer(|subject| shows::passport(&self.core, kinds, subject.entity));
    }

    /// Nothing is here, and nothing that was granted before the drain was heard of can still come.
    fn see_whether_drained(&mut self, stats: &CellStats) {
        let empty = self.draining && stats.reals == 0 && stats.parked == 0;
        self.empty_ticks = if empty { self.empty_ticks + 1 } else { 0 };
        let drained = self.empty_ticks > EMPTY_TICKS;
        self.around.health.set_drained(drained);
        if drained {
            self.flags.drained.store(true, Ordering::Release);
        }
    }
}
