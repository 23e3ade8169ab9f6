//! Counts what happened, as the facts of records tell: the journal and the metrics are of one
//! origin. On the tick thread; nothing here waits.

use crate::telemetry::{Counter, Histogram, OwnCounters};
use marchland_common::journal::{Event, OwnerWhy, TickRecord};
use marchland_common::msg::{HandoffRefusal, HandoffWhy};
use marchland_common::order::{EntityId, Node, NodeName, Tick};
use marchland_common::world::{CommandOutcome, Rejection};
use std::collections::BTreeMap;

/// Largest pauses of a handoff that are told apart, in ticks that nobody ran.
const PAUSE_TICKS: &[u64] = &[0, 1, 2, 3, 4, 6, 9, 14, 20, 40, 100, 200];
/// Largest ages of what is shown of ghosts that are told apart, in ticks.
const AGE_TICKS: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40, 100];
/// Handoffs whose first step is waited for at once; more are not measured.
const OPEN_MAX: usize = 65_536;

/// What is kept between two records.
#[derive(Debug)]
pub(super) struct FactCounts {
    pause: Histogram,
    age: Histogram,
    /// The last tick of whoever is between two owners.
    open: BTreeMap<EntityId, Tick>,
    /// Bundles by peer: those that came, those that went.
    bundles: BTreeMap<NodeName, [Counter; 2]>,
}

impl FactCounts {
    /// For a process whose ticks have this length.
    pub(super) fn new(step_ns: u64, counters: &OwnCounters) -> Self {
        #[allow(clippy::cast_precision_loss)]
        let step = step_ns as f64 / 1e9;
        let all = counters.all();
        let pause = || Histogram::new(PAUSE_TICKS, step);
        let age = || Histogram::new(AGE_TICKS, 1.0);
        Self {
            pause: all.histogram("march_handoff_pause_seconds", &[], pause),
            age: all.histogram("march_ghost_age_ticks", &[], age),
            open: BTreeMap::new(),
            bundles: BTreeMap::new(),
        }
    }

    /// Counts what a record tells.
    pub(super) fn take(&mut self, record: &TickRecord, counters: &OwnCounters) {
        for (way, bundles) in [&record.received, &record.sent].into_iter().enumerate() {
            for bundle in bundles {
                self.bundles_of(bundle.peer.name, counters)[way].add(1);
            }
        }
        let newest: BTreeMap<Node, Tick> =
            record.received.iter().map(|bundle| (bundle.peer, bundle.src_tick)).collect();
        for event in &record.events {
            match event {
                Event::GhostApplied { owner, .. } => {
                    if let Some(said) = newest.get(owner) {
                        self.age.record(record.tick.0.saturating_sub(said.0));
                    }
                }
                event => self.take_at_base(event, counters),
            }
        }
    }

    fn take_at_base(&mut self, event: &Event, counters: &OwnCounters) {
        match event {
            Event::OwnerChanged { entity, why, last_tick, .. } => {
                if let Some(name) = changed(*why) {
                    counters.counter(name).add(1);
                    self.begin(*entity, *last_tick);
                }
            }
            Event::FirstStep { entity, first_tick, .. } => {
                if let Some(last) = self.open.remove(entity) {
                    self.pause.record(first_tick.0.saturating_sub(last.0 + 1));
                }
            }
            Event::Destroyed { entity, .. } => {
                self.open.remove(entity);
            }
            Event::HandoffRefused { reason, .. } => counters.counter(refused(*reason)).add(1),
            Event::CommandQueued { .. } => counters.counter("commands_queued").add(1),
            Event::CommandConfirmed { outcome, .. } | Event::CommandAnswered { outcome, .. } => {
                counters.counter(ended(outcome)).add(1);
            }
            _ => {}
        }
    }

    fn begin(&mut self, entity: EntityId, last_tick: Option<Tick>) {
        match last_tick {
            Some(last) if self.open.len() < OPEN_MAX => {
                self.open.entry(entity).or_insert(last);
            }
            _ => {}
        }
    }

    fn bundles_of(&mut self, peer: NodeName, counters: &OwnCounters) -> &[Counter; 2] {
        self.bundles.entry(peer).or_insert_with(|| {
            ["in", "out"].map(|way| counters.all().counter(&format!("bundles_{way}_{peer}")))
        })
    }
}

/// The counter of a change of ownership that is no birth.
const fn changed(why: OwnerWhy) -> Option<&'static str> {
    Some(match why {
        OwnerWhy::Birth => return None,
        OwnerWhy::Handoff(HandoffWhy::Border) => "handoffs_committed_border",
        OwnerWhy::Handoff(HandoffWhy::Order(_)) => "handoffs_committed_order",
        OwnerWhy::Handoff(HandoffWhy::Teleport) => "handoffs_committed_teleport",
        OwnerWhy::Handoff(HandoffWhy::Drain) => "handoffs_committed_drain",
        OwnerWhy::GrantDeadline => "handoffs_restored_grant_deadline",
        OwnerWhy::Verdict => "handoffs_restored_verdict",
    })
}

/// The counter of a refusal of a handoff.
const fn refused(reason: HandoffRefusal) -> &'static str {
    match reason {
        HandoffRefusal::TargetSilent => "handoffs_refused_target_silent",
        HandoffRefusal::TargetNotAccepting => "handoffs_refused_target_not_accepting",
        HandoffRefusal::TargetTooOld => "handoffs_refused_target_too_old",
        HandoffRefusal::TargetDead => "handoffs_refused_target_dead",
        HandoffRefusal::NotInSpace => "handoffs_refused_not_in_space",
        HandoffRefusal::InProgress => "handoffs_refused_in_progress",
        HandoffRefusal::NotOwned => "handoffs_refused_not_owned",
        HandoffRefusal::AlreadyThere => "handoffs_refused_already_there",
        HandoffRefusal::NoSuchEntity => "handoffs_refused_no_such_entity",
        HandoffRefusal::Deadline => "handoffs_refused_deadline",
    }
}

/// The counter of a command's end. What a world's own rule says in words is no label.
const fn ended(outcome: &CommandOutcome) -> &'static str {
    match outcome {
        CommandOutcome::Applied(_) => "commands_applied",
        CommandOutcome::Expired => "commands_expired",
        CommandOutcome::Rejected(why) => match why {
            Rejection::NotExposed => "commands_rejected_not_exposed",
            Rejection::BadArguments => "commands_rejected_bad_arguments",
            Rejection::Busy => "commands_rejected_busy",
            Rejection::TooLarge { .. } => "commands_rejected_too_large",
            Rejection::NotYours => "commands_rejected_not_yours",
            Rejection::NoSuchEntity => "commands_rejected_no_such_entity",
            Rejection::TooOld => "commands_rejected_too_old",
            Rejection::Rule(_) => "commands_rejected_rule",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Counters;
    use marchland_common::journal::BundleRef;
    use marchland_common::order::{Epoch, Lsn, NodeKind, Seq};

    const BASE: Node = Node::new(NodeKind::Base, 1, 21);
    const CELL: Node = Node::new(NodeKind::Cell, 2, 12);
    const ENTITY: EntityId = EntityId(5);

    fn record(tick: u64, received: Vec<BundleRef>, events: Vec<Event>) -> TickRecord {
        let sent = vec![BundleRef { peer: BASE, n: 1, src_tick: Tick(tick) }];
        TickRecord { received, sent, ..TickRecord::without_core(Tick(tick), events) }
    }

    fn owned(why: OwnerWhy, last_tick: u64) -> Event {
        let (entity, epoch, seq, lsn) = (ENTITY, Epoch(2), Seq(3), Lsn(4));
        let (from, last_tick) = (Some(CELL), Some(Tick(last_tick)));
        Event::OwnerChanged { entity, epoch, seq, from, to: CELL, why, last_tick, lsn }
    }

    #[test]
    fn handoffs_are_counted_by_their_reason_with_the_ticks_that_nobody_ran() {
        let all = Counters::default();
        let own = OwnCounters::of(all.clone());
        let mut facts = FactCounts::new(50_000_000, &own);
        let first = |first_tick| Event::FirstStep {
            entity: ENTITY,
            epoch: Epoch(2),
            owner: CELL,
            first_tick: Tick(first_tick),
        };
        let border = OwnerWhy::Handoff(HandoffWhy::Border);
        facts.take(&record(7, Vec::new(), vec![owned(border, 7)]), &own);
        // Granted anew before its first step: the pause began with the first owner's last tick.
        let again = vec![owned(OwnerWhy::GrantDeadline, 8), first(10), first(11)];
        facts.take(&record(11, Vec::new(), again), &own);
        facts.take(&record(12, Vec::new(), vec![owned(OwnerWhy::Birth, 12)]), &own);
        let snapshot = all.snapshot();
        assert_eq!(snapshot["handoffs_committed_border"], 1);
        assert_eq!(snapshot["handoffs_restored_grant_deadline"], 1);
        assert_eq!((snapshot["bundles_out_base-1"], snapshot["bundles_in_base-1"]), (3, 0));
        let pauses = facts.pause.counted();
        assert_eq!((pauses.count, pauses.sum), (1, 0.1), "ticks 8 and 9");
    }

    #[test]
    fn what_is_shown_of_a_ghost_is_as_old_as_the_bundle_that_brought_it() {
        let own = OwnCounters::of(Counters::default());
        let mut facts = FactCounts::new(50_000_000, &own);
        let shown = |owner| Event::GhostApplied {
            entity: ENTITY,
            owner,
            epoch: Epoch(1),
            seq: Seq(1),
            digest: 0,
        };
        let bundle = BundleRef { peer: CELL, n: 9, src_tick: Tick(97) };
        facts.take(&record(100, vec![bundle], vec![shown(CELL), shown(BASE)]), &own);
        let ages = facts.age.counted();
        assert_eq!((ages.count, ages.sum), (1, 3.0));
    }
}
