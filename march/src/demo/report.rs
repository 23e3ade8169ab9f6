//! What a demo says at its end.

use super::Left;
use crate::verbs::audit;
use marchland_observe::{Outcome, Violation};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    ticks: u64,
    entities: u64,
    handoffs: Handoffs,
    ticks_missed: u64,
    ticks_doubled: u64,
    ticks_frozen: u64,
    ticks_rolled_back: u64,
    ticks_dropped: u64,
    speculative_doubled: u64,
    commands: Commands,
    audit: Outcome,
    violations: Vec<Violation>,
    dir: String,
}

#[derive(Debug, Serialize)]
struct Handoffs {
    #[serde(flatten)]
    figures: marchland_observe::HandoffFigures,
    /// Committed ones by gap in ticks; 1 misses nothing.
    gap: BTreeMap<i64, u64>,
}

#[derive(Debug, Serialize)]
struct Commands {
    sent: u64,
    applied: u64,
    rejected: u64,
    expired: u64,
    unanswered: u64,
}

impl Report {
    pub(super) fn new(left: &Left) -> Self {
        let Left { dir, bots, verdict, summary: sum } = left;
        Self {
            ticks: sum.ticks,
            entities: sum.entities,
            handoffs: Handoffs { figures: sum.handoffs, gap: sum.handoff_gaps.clone() },
            ticks_missed: sum.ticks_missed,
            ticks_doubled: sum.ticks_doubled,
            ticks_frozen: sum.ticks_frozen,
            ticks_rolled_back: sum.ticks_rolled_back,
            ticks_dropped: sum.ticks_dropped,
            speculative_doubled: sum.speculative_doubled,
            commands: Commands {
                sent: bots.sent,
                applied: bots.applied,
                rejected: bots.rejected,
                expired: bots.expired,
                unanswered: bots.unanswered,
            },
            audit: verdict.verdict,
            violations: verdict.violations.clone(),
            dir: dir.display().to_string(),
        }
    }

    pub(super) fn is_good(&self) -> bool {
        self.audit == Outcome::Pass && self.commands.unanswered == 0
    }

    /// For people.
    pub(super) fn show(&self, left: &Left) {
        audit::show(&left.verdict, &left.summary);
        let c = &self.commands;
        crate::verbs::print_line(&format!(
            "commands: {} sent, {} applied, {} rejected, {} expired, {} unanswered",
            c.sent, c.applied, c.rejected, c.expired, c.unanswered
        ));
        if let Some(error) = &left.bots.first_error {
            crate::verbs::print_line(&format!("first trouble of a bot: {error}"));
        }
        crate::verbs::print_line(&format!("everything is in {}", self.dir));
    }
}
