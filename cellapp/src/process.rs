//! The tick thread's work. Nothing here waits.

use crate::load::DeclaredLoad;
use crate::work::Workshop;
use bytes::Bytes;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellInput, CellOrder, CellStats};
use marchland_common::journal::{BundleRef, Event, Refused, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::Tick;
use marchland_common::time::{ClusterDecision, Dropped, Phase};
use marchland_runtime::coord::RegState;
use marchland_runtime::journal::{Journal, JournalNews};
use marchland_runtime::link::{Drained, LinkTick};
use marchland_runtime::process::{HealthBoard, MapFeed, ShutdownWatch};
use marchland_runtime::telemetry::Counters;
use marchland_runtime::tick::{Spans, TickNow, TickProcess, monotonic_ns};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// How long the journal may take to end.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Everything that the tick thread owns.
pub(crate) struct CellTick {
    pub(crate) core: CellCore,
    pub(crate) journal: Option<Journal>,
    pub(crate) links: LinkTick,
    pub(crate) feed: MapFeed,
    pub(crate) workshop: Workshop,
    pub(crate) load: DeclaredLoad,
    pub(crate) health: HealthBoard,
    pub(crate) counters: Counters,
    pub(crate) registered: watch::Receiver<RegState>,
    pub(crate) shutdown: ShutdownWatch,
    /// Set when a drain left nothing here.
    pub(crate) drained: Arc<AtomicBool>,
    /// Whether the core takes new entities, as it was told.
    pub(crate) accepts: bool,
    pub(crate) draining: bool,
    /// Orders for the next tick.
    pub(crate) orders: Vec<CellOrder>,
    /// Facts of the shell, for the next record.
    pub(crate) facts: Vec<Event>,
}

impl TickProcess for CellTick {
    fn tick(&mut self, now: &TickNow, spans: &mut Spans) {
        let begun_ns = monotonic_ns();
        self.hear_journal();
        self.hear_registration();
        self.hear_shutdown();
        let drained = self.links.drain();
        self.hear_links(&drained);
        let input = CellInput {
            tick: now.tick,
            dropped: now.dropped,
            map: self.feed.take(),
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
        let mut events = std::mem::take(&mut self.facts);
        events.extend(output.events);
        self.count(&events, &output.stats, now.tick);
        let record = TickRecord {
            tick: now.tick,
            moment: Moment::Flush,
            input: encoded.into(),
            received,
            sent: output.bundles.iter().map(BundleRef::of_outgoing).collect(),
            events,
            digest: self.core.digest(),
        };
        if let Some(journal) = &mut self.journal {
            let ticket = journal.append(record);
            if journal.wants_snapshot() {
                journal.begin_segment(Bytes::from(self.core.snapshot()));
            }
            if let Err(full) = self.links.send(output.bundles, ticket) {
                tracing::warn!(%full, "bundles were not accepted");
                self.counters.counter("bundles_not_accepted").add(full.0.len() as u64);
            }
        }
        for work in output.work {
            self.workshop.begin(work);
        }
        spans.mark(Phase::Flush);
    }

    fn wake(&mut self, _: Tick, _: Moment) {}

    fn decided(&mut self, decision: ClusterDecision) {
        tracing::debug!(?decision, "clock");
        self.counters.counter("clock_decisions").add(1);
    }

    fn stop(&mut self, dropped: Option<Dropped>) {
        if let Some(dropped) = dropped {
            tracing::info!(%dropped, "the last ticks were left out");
        }
        let marked = self.journal.take().map(|j| j.close("asked to end", CLOSE_MAX));
        tracing::info!(?marked, "the journal is closed");
    }
}

impl CellTick {
    fn hear_journal(&mut self) {
        match self.journal.as_mut().and_then(Journal::poll) {
            Some(JournalNews::Behind { ticks, why }) => {
                tracing::warn!(ticks, ?why, "the journal is behind; entities stand still");
                self.health.set("the journal is behind", true);
                self.orders.push(CellOrder::Freeze);
            }
            Some(JournalNews::CaughtUp) => {
                self.health.set("the journal is behind", false);
                self.orders.push(CellOrder::Thaw);
            }
            None => {}
        }
    }

    /// Without a proven registration nothing new is taken; what is here goes on while its bases
    /// acknowledge.
    fn hear_registration(&mut self) {
        let proven = matches!(*self.registered.borrow(), RegState::Registered);
        let accepts = proven && !self.draining;
        if accepts != self.accepts {
            self.accepts = accepts;
            self.orders.push(CellOrder::Accept(accepts));
        }
        self.health.set("the registration is unproven", !proven);
    }

    fn hear_shutdown(&mut self) {
        if self.shutdown.is_asked() && !self.draining {
            self.draining = true;
            self.orders.push(CellOrder::Drain);
        }
    }

    fn hear_links(&mut self, drained: &Drained) {
        for (node, count) in &drained.stale {
            let reason = Refused::StaleIncarnation;
            let count = u32::try_from(*count).unwrap_or(u32::MAX);
            let from = Some(*node);
            self.facts.push(Event::Refusal { reason, from, entity: None, count });
        }
        for event in &drained.events {
            tracing::debug!(?event, "link");
            self.facts.extend(event.refusal());
        }
    }

    fn count(&self, events: &[Event], stats: &CellStats, tick: Tick) {
        for event in events {
            if let Event::Refusal { reason, count, .. } = event {
                self.counters.refuse(*reason, u64::from(*count));
            }
        }
        let (reals, ghosts) = (stats.reals as u64, stats.ghosts as u64);
        self.health.figures(tick.0, reals, ghosts, 0, 0);
        self.counters.counter("entities_waiting").set(stats.waiting as u64);
        self.counters.counter("entities_frozen").set(stats.frozen as u64);
        self.counters.counter("witnesses").set(stats.witnesses as u64);
        if self.draining && stats.reals == 0 {
            self.drained.store(true, Ordering::Release);
        }
    }
}
