//! The tick thread's work: one call a tick, and one whenever the log reported. Nothing here waits.

use crate::door::{Look, OpenOrders};
use crate::gateway::{Funnel, Told};
use crate::log::{Log, LogReport};
use crate::save_age::SaveAge;
use crate::shows;
use crossbeam_channel::Receiver;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{
    AdoptedSlot, BaseInput, BaseOrder, BaseOutput, BaseStats, ClientEvent,
};
use marchland_common::cluster::SlotMove;
use marchland_common::journal::{BundleRef, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{Lsn, NodeName, Tick};
use marchland_common::time::{ClusterDecision, Dropped, Phase};
use marchland_common::world::Kinds;
use marchland_runtime::journal::ReleaseTicket;
use marchland_runtime::observe::Questions;
use marchland_runtime::process::{DrainOrder, Hold, HoldNews, MapFeed, Surroundings};
use marchland_runtime::tick::{Spans, TickNow, TickProcess, monotonic_ns};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Client words taken in a tick; the rest waits for the next.
const CLIENT_EVENTS_MAX: usize = 20_000;
/// Orders taken in a tick.
const ORDERS_MAX: usize = 2_000;
/// How long the log may take to end.
const CLOSE_MAX: Duration = Duration::from_secs(1);
/// Questions answered after a tick.
const LOOKS_MAX: usize = 64;

/// Everything that the tick thread owns.
pub(crate) struct BaseTick {
    pub(crate) name: NodeName,
    /// This life was given up.
    pub(crate) over: Arc<AtomicBool>,
    pub(crate) core: BaseCore,
    pub(crate) log: Option<Log>,
    pub(crate) around: Surroundings,
    pub(crate) feed: MapFeed,
    pub(crate) said: Receiver<ClientEvent>,
    pub(crate) asked: Receiver<BaseOrder>,
    pub(crate) looks: Receiver<Look>,
    /// What observers ask about its entities.
    pub(crate) questions: Questions,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) open: Arc<OpenOrders>,
    /// Which slots are on their way from here.
    pub(crate) moves: watch::Sender<Vec<SlotMove>>,
    /// Which slots come out of logs of lost bases, and how far each is.
    pub(crate) adopted: watch::Sender<Vec<AdoptedSlot>>,
    pub(crate) drain: DrainOrder,
    pub(crate) funnel: Funnel,
    /// What the log reported and the core was not told.
    pub(crate) durable: Option<Lsn>,
    /// Records that the log did not take yet, in order.
    pub(crate) unlogged: VecDeque<Vec<u8>>,
    /// The log thread is gone: the process must end.
    pub(crate) log_lost: bool,
    /// Orders of the process itself, for the next tick.
    pub(crate) own_orders: Vec<BaseOrder>,
    /// Who is created when the world can take them.
    pub(crate) populate: Vec<BaseOrder>,
    /// Since when its log made no progress.
    pub(crate) save_age: SaveAge,
}

impl TickProcess for BaseTick {
    fn tick(&mut self, now: &TickNow, spans: &mut Spans) {
        self.around.hear_pause(now);
        self.hear_log();
        self.show_log();
        self.around.hear_journal();
        self.populate_when_ready();
        self.own_orders.extend(self.around.holds.news().map(|news| match news {
            HoldNews::Freeze => BaseOrder::Freeze,
            HoldNews::Thaw => BaseOrder::Thaw,
        }));
        let frames = self.around.hear_links().frames;
        let mut orders = std::mem::take(&mut self.own_orders);
        orders.extend(self.asked.try_iter().take(ORDERS_MAX));
        let input = BaseInput {
            tick: now.tick,
            moment: Moment::Flush,
            dropped: now.dropped,
            durable: self.durable.take(),
            map: self.feed.take(),
            frames,
            clients: self.said.try_iter().take(CLIENT_EVENTS_MAX).collect(),
            orders,
        };
        spans.mark(Phase::Network);
        self.run(input);
        spans.mark(Phase::Entity);
        self.answer_looks();
        self.keep_log_short();
        spans.mark(Phase::Flush);
    }

    fn wake(&mut self, tick: Tick, moment: Moment) {
        self.hear_log();
        let Some(durable) = self.durable.take() else { return };
        self.run(BaseInput {
            tick,
            moment,
            dropped: None,
            durable: Some(durable),
            map: Vec::new(),
            frames: Vec::new(),
            clients: Vec::new(),
            orders: Vec::new(),
        });
    }

    fn decided(&mut self, decision: ClusterDecision) {
        self.around.decided(decision);
    }

    fn stop(&mut self, dropped: Option<Dropped>) {
        let closed = self.log.take().map(|log| log.close(CLOSE_MAX));
        tracing::info!(?closed, "the log is closed");
        let over = self.over.load(Ordering::Acquire);
        let why = if over { "this life was given up" } else { "asked to end" };
        self.around.close(dropped, why);
    }
}

impl BaseTick {
    /// A new world is populated once its map is known.
    fn populate_when_ready(&mut self) {
        let seen = self.feed.seen();
        let mine = seen.slots.iter().any(|s| s.base == self.name);
        if !self.populate.is_empty() && mine && !seen.spaces.is_empty() {
            self.own_orders.append(&mut self.populate);
        }
    }

    fn run(&mut self, input: BaseInput) {
        let encoded = postcard::to_stdvec(&input).unwrap_or_default();
        let (tick, moment, received) =
            (input.tick, input.moment, input.frames.iter().map(BundleRef::of_frame).collect());
        let mut output = self.core.tick(input);
        self.write_log(std::mem::take(&mut output.log));
        let (events, facts) = self.around.add_facts(std::mem::take(&mut output.events));
        let record = TickRecord {
            tick,
            moment,
            input: encoded.into(),
            received,
            sent: output.bundles.iter().map(BundleRef::of_outgoing).collect(),
            events,
            facts,
            digest: self.core.digest(),
        };
        if let Some(ticket) = self.around.record(record, || self.core.snapshot()) {
            self.send(output, tick, ticket);
        }
    }

    fn write_log(&mut self, records: Vec<Vec<u8>>) {
        self.unlogged.extend(records);
        let Some(log) = &mut self.log else { return };
        while let Some(record) = self.unlogged.pop_front() {
            if let Err(refused) = log.append(record) {
                // The core counted this record: it waits, and nothing new is accepted meanwhile.
                tracing::warn!(%refused, "the log takes no more at present");
                self.unlogged.push_front(refused.into_payload());
                break;
            }
        }
        log.commit();
        self.around.holds.set(Hold::Log, !self.unlogged.is_empty());
    }

    fn send(&mut self, output: BaseOutput, tick: Tick, ticket: ReleaseTicket) {
        self.around.send(output.bundles, ticket.clone());
        let Surroundings { health, counters, .. } = &self.around;
        let told = Told { frames: output.clients, tick: tick.0, ticket };
        if let Err(frames) = self.funnel.tell(told) {
            counters.counter("client_frames_not_accepted").add(frames.len() as u64);
        }
        for answer in output.answers {
            self.open.end(answer);
        }
        let stats = output.stats;
        let (entities, sessions) = (stats.entities as u64, stats.sessions as u64);
        health.figures(tick.0, 0, 0, entities, sessions);
        counters.counter("commands_waiting").set(stats.commands as u64);
        counters.counter("handoffs_open").set(stats.in_handoff as u64);
        counters.counter("slots_moving").set(stats.moves.len() as u64);
        health.set_drained(self.is_drained(&stats));
        self.moves.send_if_modified(|moves| {
            let differs = *moves != stats.moves;
            *moves = stats.moves;
            differs
        });
        self.adopted.send_if_modified(|adopted| {
            let differs = *adopted != stats.adopted;
            *adopted = stats.adopted;
            differs
        });
    }

    /// Nothing is left here that somebody else has to take, and the log says so durably.
    fn is_drained(&self, stats: &BaseStats) -> bool {
        let keeps = || self.feed.seen().slots.iter().any(|s| s.base == self.name);
        let is_empty = stats.entities == 0 && stats.moves.is_empty();
        self.drain.is_given() && is_empty && stats.lsn.0 == stats.lsn.1 && !keeps()
    }

    fn hear_log(&mut self) {
        while let Some(report) = self.log.as_mut().and_then(Log::poll) {
            match report {
                LogReport::Durable { lsn, .. } => {
                    self.durable = Some(lsn);
                    self.around.health.set("the log cannot be written", false);
                }
                LogReport::Stalled { reason, .. } => {
                    self.around.health.set("the log cannot be written", true);
                    tracing::error!(%reason, "the log stands still; nothing is confirmed");
                }
                LogReport::Lost => {
                    tracing::error!("the log thread is gone; the process ends");
                    self.log_lost = true;
                }
                other => tracing::debug!(?other, "log"),
            }
        }
    }

    /// What an operator sees of it: `log_stalls` is the alarm.
    fn show_log(&mut self) {
        let Some(log) = &self.log else { return };
        let (stats, counters) = (log.stats(), &self.around.counters);
        let [groups, waiting] =
            [&stats.groups, &stats.queued_items].map(|figure| figure.load(Ordering::Relaxed));
        counters.counter("log_age_us").set(self.save_age.us(groups, waiting, monotonic_ns()));
        for (name, figure) in [
            ("log_records", &stats.records),
            ("log_groups", &stats.groups),
            ("log_bytes", &stats.bytes),
            ("log_checkpoints", &stats.checkpoints),
            ("log_stalls", &stats.stalls),
            ("log_retries", &stats.retries),
            ("log_records_waiting", &stats.queued_items),
            ("log_bytes_waiting", &stats.queued_bytes),
            ("log_refused_full", &stats.refused_full),
            ("log_checkpoints_failed", &stats.checkpoints_failed),
        ] {
            counters.counter(name).set(figure.load(Ordering::Relaxed));
        }
    }

    fn answer_looks(&mut self) {
        for look in self.looks.try_iter().take(LOOKS_MAX) {
            // Whoever asked may have gone.
            match look {
                Look::One(id, answer) => drop(answer.send(self.core.brief(id))),
                Look::Many { limit, after, space, answer } => {
                    drop(answer.send(self.core.briefs_after(after, space, limit)));
                }
            }
        }
        self.questions.answer(|subject| shows::passport(&self.core, &self.kinds, subject));
    }

    fn keep_log_short(&mut self) {
        let Some(log) = &mut self.log else { return };
        if self.unlogged.is_empty() && log.checkpoint_due(self.core.stored_bytes()) {
            let entries: Vec<Vec<u8>> = self.core.checkpoint().collect();
            if let Err(refused) = log.checkpoint(entries.into_iter(), self.core.last_lsn()) {
                tracing::debug!(%refused, "no checkpoint now");
            }
        }
    }
}
