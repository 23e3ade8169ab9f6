//! The catalogue: which families there are, what each is about, and which counters it shows.

/// What kind of metric a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, while its process lives. Its lines are named with `_total`.
    Counter,
    /// A level.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// A family of lines.
#[derive(Debug)]
pub struct Family {
    /// The name, without `_total`.
    pub name: &'static str,
    /// What it is about.
    pub help: &'static str,
    /// What kind it is.
    pub kind: Kind,
    /// The counters that it shows.
    pub from: &'static [From],
}

/// Counters that a family shows.
#[derive(Debug)]
pub struct From {
    counter: Counter,
    labels: &'static [(&'static str, &'static str)],
    /// What a 1 of the counter is in the family's unit.
    unit: f64,
}

#[derive(Debug)]
enum Counter {
    /// Of this name.
    Named(&'static str),
    /// All that begin so; the rest of the name is the value of this label.
    Each(&'static str, &'static str),
}

/// Shows what the catalogue does not know yet, so that nothing is hidden.
pub(super) const OTHER: &str = "march_other";
/// The same is told better by histograms.
const LEFT_OUT: [&str; 3] = ["_us_p50", "_us_p99", "_us_max"];

/// Whether a counter is left out on purpose.
pub(super) fn is_left_out(counter: &str) -> bool {
    LEFT_OUT.iter().any(|end| counter.ends_with(end))
}

/// The family of a name.
pub(super) fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

impl From {
    const fn named(counter: &'static str) -> Self {
        Self { counter: Counter::Named(counter), labels: &[], unit: 1.0 }
    }

    const fn with(counter: &'static str, labels: &'static [(&'static str, &'static str)]) -> Self {
        Self { counter: Counter::Named(counter), labels, unit: 1.0 }
    }

    const fn each(
        begins: &'static str,
        labels: &'static [(&'static str, &'static str)],
        label: &'static str,
    ) -> Self {
        Self { counter: Counter::Each(begins, label), labels, unit: 1.0 }
    }

    const fn in_units(self, unit: f64) -> Self {
        Self { unit, ..self }
    }

    /// The labels of the one counter that it stands for.
    pub(super) fn of_one(&self) -> Option<super::Labels> {
        match self.counter {
            Counter::Named(name) => self.takes(name).map(|(labels, _)| labels),
            Counter::Each(..) => None,
        }
    }

    /// The labels and the unit of this counter here, if it is shown here.
    pub(super) fn takes(&self, counter: &str) -> Option<(super::Labels, f64)> {
        let mut labels: super::Labels =
            self.labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        match self.counter {
            Counter::Named(name) => (name == counter).then_some((labels, self.unit)),
            Counter::Each(begins, label) => {
                labels.push((label, counter.strip_prefix(begins)?.to_owned()));
                Some((labels, self.unit))
            }
        }
    }
}

const fn counter(name: &'static str, help: &'static str, from: &'static [From]) -> Family {
    Family { name, help, kind: Kind::Counter, from }
}

const fn gauge(name: &'static str, help: &'static str, from: &'static [From]) -> Family {
    Family { name, help, kind: Kind::Gauge, from }
}

const fn histogram(name: &'static str, help: &'static str) -> Family {
    Family { name, help, kind: Kind::Histogram, from: &[] }
}

const MICRO: f64 = 1e-6;
const MILLI: f64 = 1e-3;

/// All families.
pub const FAMILIES: &[Family] = &[
    // The process.
    gauge("march_build_info", "The build and the protocol that it speaks", &[]),
    gauge("march_process_incarnation", "Which life of its name this is", &[]),
    gauge("march_ready", "Whether nothing is missing", &[]),
    gauge("march_drained", "Whether a drain left nothing here", &[]),
    gauge("march_tick", "The newest tick", &[]),
    gauge("march_entities", "Entities here, by role", &[]),
    gauge("march_sessions", "Open sessions", &[]),
    gauge(OTHER, "Counters that have no metric of their own yet", &[]),
    // The clock.
    histogram("march_tick_seconds", "What a whole tick took"),
    histogram("march_tick_duration_seconds", "What the phases of a tick took"),
    histogram("march_tick_lag_seconds", "How late ticks began"),
    histogram("march_wake_seconds", "What was done between two ticks took"),
    counter("march_ticks", "Ticks that ran", &[From::named("ticks_run")]),
    counter(
        "march_ticks_dropped",
        "Tick numbers that were left out",
        &[From::named("ticks_dropped")],
    ),
    counter(
        "march_clock_dropped_seconds",
        "Time of the world that was left out",
        &[From::with("clock_dropped_us", &[("policy", "drop")]).in_units(MICRO)],
    ),
    counter(
        "march_tick_overruns",
        "Ticks that took longer than a step",
        &[From::named("tick_overruns")],
    ),
    counter(
        "march_clock_decisions",
        "Decisions of the clock about its origin",
        &[From::named("clock_decisions")],
    ),
    counter(
        "march_pauses",
        "Long pauses of the process, and what followed",
        &[
            From::with("pauses_long", &[("what", "began")]),
            From::with("pauses_proven", &[("what", "proven")]),
            From::with("pauses_unanswered", &[("what", "unanswered")]),
        ],
    ),
    gauge(
        "march_tick_step_seconds",
        "The length of a tick",
        &[From::named("tick_step_us").in_units(MICRO)],
    ),
    // Handoffs.
    counter(
        "march_handoffs",
        "Changes of ownership that ended, at the base",
        &[
            From::each("handoffs_committed_", &[("result", "committed")], "reason"),
            From::each("handoffs_refused_", &[("result", "refused")], "reason"),
            From::each("handoffs_restored_", &[("result", "restored")], "reason"),
        ],
    ),
    histogram(
        "march_handoff_pause_seconds",
        "Time between the last tick of one owner and the first of the next that nobody ran",
    ),
    gauge(
        "march_handoff_in_progress",
        "Handoffs that wait for their first step",
        &[From::named("handoffs_open")],
    ),
    gauge(
        "march_slots_moving",
        "Base slots on their way to others",
        &[From::named("slots_moving")],
    ),
    // Order.
    counter(
        "march_bundles",
        "Bundles by peer and direction",
        &[
            From::each("bundles_in_", &[("dir", "in")], "peer"),
            From::each("bundles_out_", &[("dir", "out")], "peer"),
        ],
    ),
    histogram("march_bundle_bytes", "How large sent bundles are"),
    counter(
        "march_bundle_dropped",
        "What was refused or dropped of bundles, by reason",
        &[From::each("refused_", &[], "reason")],
    ),
    counter(
        "march_bundles_not_accepted",
        "Bundles that a full queue did not take",
        &[From::named("bundles_not_accepted")],
    ),
    gauge(
        "march_reorder_held",
        "What waits for something earlier",
        &[From::with("signals_held", &[("what", "signal")])],
    ),
    counter(
        "march_commands",
        "Commands of clients, by what became of them",
        &[
            From::with("commands_queued", &[("disposition", "queued"), ("reason", "")]),
            From::with("commands_applied", &[("disposition", "applied"), ("reason", "")]),
            From::with("commands_expired", &[("disposition", "expired"), ("reason", "")]),
            From::each("commands_rejected_", &[("disposition", "rejected")], "reason"),
        ],
    ),
    gauge(
        "march_commands_waiting",
        "Commands without an answer yet",
        &[From::named("commands_waiting")],
    ),
    counter(
        "march_client_trouble",
        "What went wrong with clients",
        &[
            From::with("client_queue_full", &[("reason", "queue_full")]),
            From::with("client_frames_without_stream", &[("reason", "no_stream")]),
            From::with("client_frames_not_accepted", &[("reason", "not_accepted")]),
            From::with("clients_cut_off", &[("reason", "does_not_read")]),
            From::with("clients_too_fast", &[("reason", "too_fast")]),
            From::with("clients_malformed", &[("reason", "malformed")]),
            From::with("clients_lost", &[("reason", "lost")]),
        ],
    ),
    // Ghosts, and who stands still.
    histogram(
        "march_ghost_age_ticks",
        "How old what a neighbour says of its entities is when it is shown",
    ),
    gauge(
        "march_ghosts_stale",
        "Ghosts for which nobody spoke for a while",
        &[From::named("ghosts_stale")],
    ),
    gauge("march_witnesses", "Entities that clients look through", &[From::named("witnesses")]),
    gauge(
        "march_entities_frozen",
        "Reals that wait for the end of a handoff",
        &[From::named("entities_frozen")],
    ),
    gauge(
        "march_entities_waiting",
        "Reals that stand still because their base makes nothing durable",
        &[From::named("entities_waiting")],
    ),
    counter(
        "march_work_failed",
        "Asynchronous work without a result",
        &[
            From::with("work_failed", &[("reason", "failed")]),
            From::with("work_lost", &[("reason", "lost")]),
        ],
    ),
    // Links.
    gauge("march_link_up", "Whether both directions of a link stand", &[]),
    gauge("march_link_stall_seconds", "For how long a peer was not heard", &[]),
    counter(
        "march_link_sent_bytes",
        "Bytes of frames put on connections, by peer and channel",
        &[],
    ),
    counter("march_link_messages", "Messages that carried frames", &[From::named("link_messages")]),
    counter(
        "march_link_flushes",
        "Times that connections were flushed",
        &[From::named("link_flushes")],
    ),
    counter("march_link_connections", "Connections that began", &[From::named("link_connections")]),
    counter(
        "march_link_disconnections",
        "Connections that ended",
        &[From::named("link_disconnections")],
    ),
    counter(
        "march_link_frames_lost",
        "Frames that were given up",
        &[From::named("link_frames_lost")],
    ),
    counter(
        "march_link_congested",
        "Times that too much waited for a peer",
        &[From::named("link_congested")],
    ),
    counter(
        "march_link_malformed",
        "What came over links and could not be read",
        &[From::named("link_malformed")],
    ),
    counter(
        "march_link_events_lost",
        "Events of links that a full queue did not take",
        &[From::named("link_events_lost")],
    ),
    gauge(
        "march_link_waiting_frames_max",
        "Frames to one peer that waited for its acknowledgement, the most ever",
        &[From::named("link_waiting_most")],
    ),
    // The store.
    gauge("march_lease_remaining_seconds", "How long the registration certainly lives on", &[]),
    gauge("march_lease_proven", "Whether the lease was renewed lately", &[]),
    counter(
        "march_lease_fenced",
        "Lives of this process that were given up",
        &[From::named("lives_given_up")],
    ),
    gauge(
        "march_etcd_watch_age_seconds",
        "How long ago etcd said something about the map",
        &[From::named("watch_age_ms").in_units(MILLI)],
    ),
    counter("march_etcd_relists", "Full lists of the map after the first, by reason", &[]),
    counter(
        "march_etcd_calls",
        "Regular jobs at etcd that began",
        &[From::each("etcd_", &[], "job")],
    ),
    counter(
        "march_map_malformed",
        "Values in etcd that cannot be read",
        &[From::named("map_malformed")],
    ),
    // The log and the journal.
    counter(
        "march_saves",
        "Groups of records that the log made durable, and attempts that failed",
        &[
            From::with("log_groups", &[("result", "ok")]),
            From::with("log_retries", &[("result", "failed")]),
        ],
    ),
    gauge(
        "march_save_age_seconds",
        "How long the oldest record that is not durable has waited",
        &[From::named("log_age_us").in_units(MICRO)],
    ),
    counter("march_log_records", "Records that became durable", &[From::named("log_records")]),
    counter("march_log_bytes", "Bytes that became durable", &[From::named("log_bytes")]),
    counter(
        "march_log_stalls",
        "Times that the disk took nothing for a while",
        &[From::named("log_stalls")],
    ),
    gauge(
        "march_log_records_waiting",
        "Records that are not durable yet",
        &[From::named("log_records_waiting")],
    ),
    gauge("march_log_bytes_waiting", "Their bytes", &[From::named("log_bytes_waiting")]),
    counter(
        "march_log_refused",
        "Records that a full log did not take at once",
        &[From::named("log_refused_full")],
    ),
    counter(
        "march_log_checkpoints",
        "Checkpoints of the log",
        &[
            From::with("log_checkpoints", &[("result", "ok")]),
            From::with("log_checkpoints_failed", &[("result", "failed")]),
        ],
    ),
    counter("march_journal_bytes", "Bytes of the journal", &[From::named("journal_bytes")]),
    counter(
        "march_journal_trouble",
        "What the journal lacks, and why",
        &[
            From::with("journal_write_errors", &[("reason", "write_error")]),
            From::with("journal_records_left_out", &[("reason", "left_out")]),
            From::with("journal_records_too_large", &[("reason", "too_large")]),
        ],
    ),
    counter(
        "march_journal_segments_removed",
        "Old segments that were removed to make room",
        &[From::named("journal_segments_removed")],
    ),
    // A manager.
    gauge("march_manager_leads", "Whether this manager leads", &[]),
    counter(
        "march_verdicts",
        "Lives that this manager gave up, by evidence",
        &[
            From::with("verdicts_dead", &[("verdict", "dead")]),
            From::with("verdicts_silent", &[("verdict", "silent")]),
            From::with("verdicts_replaced", &[("verdict", "replaced")]),
            From::with("verdicts_withheld", &[("verdict", "withheld")]),
        ],
    ),
    counter(
        "march_bases_lost",
        "Baseapps that were lost, and whose slots waited",
        &[From::named("bases_lost")],
    ),
    counter(
        "march_judge_braked",
        "Times that nobody was judged",
        &[
            From::with("judge_braked", &[("reason", "brake")]),
            From::with("judge_paused", &[("reason", "paused")]),
        ],
    ),
];
