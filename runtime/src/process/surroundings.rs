//! What surrounds every core on its tick thread: the journal that records it, the links that carry
//! what it says, and the facts that it cannot know itself. Nothing here waits.

use super::facts::FactCounts;
use super::health::HealthBoard;
use super::holds::{Hold, Holds};
use super::pause::{AfterPause, PauseWatch};
use crate::journal::{Journal, JournalNews, ReleaseTicket};
use crate::link::{Drained, LinkTick};
use crate::telemetry::{Counters, OwnCounters};
use crate::tick::TickNow;
use marchland_common::journal::{Event, Refused, TickRecord};
use marchland_common::msg::Outgoing;
use marchland_common::time::{ClusterDecision, Dropped};
use std::time::Duration;

/// How long the journal may take to end.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// The surroundings of one core.
#[derive(Debug)]
pub struct Surroundings {
    journal: Option<Journal>,
    links: LinkTick,
    pauses: PauseWatch,
    /// Why the core stands still.
    pub holds: Holds,
    /// What the process says of itself.
    pub health: HealthBoard,
    /// Its counters, as the tick thread has them.
    pub counters: OwnCounters,
    counts: FactCounts,
    /// For the next record.
    facts: Vec<Event>,
}

impl Surroundings {
    /// Around a core whose journal began, and whose ticks take so long.
    #[must_use]
    pub fn new(
        journal: Journal,
        links: LinkTick,
        pauses: PauseWatch,
        health: HealthBoard,
        counters: Counters,
        step_ns: u64,
    ) -> Self {
        let holds = Holds::new(health.clone());
        let (counters, facts) = (OwnCounters::of(counters), Vec::new());
        let counts = FactCounts::new(step_ns, &counters);
        Self { journal: Some(journal), links, pauses, holds, health, counters, counts, facts }
    }

    /// Hears, first of all in a tick, how long ago the one before began. After a long pause the
    /// core stands still until the store said that this life goes on.
    pub fn hear_pause(&mut self, now: &TickNow) {
        let (counter, holds) = match self.pauses.tick(now.since_last_ns) {
            AfterPause::Nothing | AfterPause::Waits => return,
            AfterPause::Asks => ("pauses_long", true),
            AfterPause::Proven => ("pauses_proven", false),
            AfterPause::Unanswered => ("pauses_unanswered", false),
        };
        tracing::warn!(pause_ns = now.since_last_ns, tick = %now.tick, counter, "a long pause");
        self.counters.counter(counter).add(1);
        self.holds.set(Hold::Pause, holds);
    }

    /// Hears whether the journal keeps up; a core whose journal is behind stands still.
    pub fn hear_journal(&mut self) {
        match self.journal.as_mut().and_then(Journal::poll) {
            Some(JournalNews::Behind { ticks, why }) => {
                tracing::warn!(ticks, ?why, "the journal is behind; entities stand still");
                self.holds.set(Hold::Journal, true);
            }
            Some(JournalNews::CaughtUp) => {
                self.holds.set(Hold::Journal, false);
            }
            None => {}
        }
    }

    /// Takes what came in over the links. What they refused or lost, and when they stood, becomes
    /// facts.
    pub fn hear_links(&mut self) -> Drained {
        let drained = self.links.drain();
        for (node, count) in &drained.stale {
            let reason = Refused::StaleIncarnation;
            let count = u32::try_from(*count).unwrap_or(u32::MAX);
            self.facts.push(Event::Refusal { reason, from: Some(*node), entity: None, count });
        }
        for event in &drained.events {
            tracing::debug!(?event, "link");
            self.facts.extend(event.fact());
        }
        drained
    }

    /// The facts of the surroundings, then those of the core: the events of one record, and how
    /// many of them are not the core's. What was refused is counted.
    pub fn add_facts(&mut self, of_core: Vec<Event>) -> (Vec<Event>, u32) {
        let mut events = std::mem::take(&mut self.facts);
        let facts = u32::try_from(events.len()).unwrap_or(u32::MAX);
        events.extend(of_core);
        for event in &events {
            if let Event::Refusal { reason, count, .. } = event {
                self.counters.refuse(*reason, u64::from(*count));
            }
        }
        (events, facts)
    }

    /// Hands over the record of an output moment. What the moment says may leave with the ticket;
    /// none once the journal is closed. `snapshot` is asked for when a segment is to begin.
    pub fn record(
        &mut self,
        record: TickRecord,
        snapshot: impl FnOnce() -> Vec<u8>,
    ) -> Option<ReleaseTicket> {
        let journal = self.journal.as_mut()?;
        self.counts.take(&record, &self.counters);
        let ticket = journal.append(record);
        if journal.wants_snapshot() {
            journal.begin_segment(snapshot().into());
        }
        Some(ticket)
    }

    /// Sends bundles when their record is written. Returns those that were not accepted.
    pub fn send(&mut self, bundles: Vec<Outgoing>, ticket: ReleaseTicket) -> Vec<Outgoing> {
        let Err(full) = self.links.send(bundles, ticket) else { return Vec::new() };
        tracing::warn!(%full, "bundles were not accepted");
        self.counters.counter("bundles_not_accepted").add(full.0.len() as u64);
        full.0
    }

    /// The clock decided something.
    pub fn decided(&self, decision: ClusterDecision) {
        tracing::debug!(?decision, "clock");
        self.counters.counter("clock_decisions").add(1);
    }

    /// No tick follows: the journal gets its end mark, which says why.
    pub fn close(&mut self, dropped: Option<Dropped>, why: &str) {
        if let Some(dropped) = dropped {
            tracing::info!(%dropped, "the last ticks were left out");
        }
        let marked = self.journal.take().map(|j| j.close(why, CLOSE_MAX));
        tracing::info!(?marked, "the journal is closed");
    }
}
