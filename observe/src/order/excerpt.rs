//! The smallest piece of the merged order that shows what is wrong.

use super::{Line, OrderFilter, order};
use crate::audit::Violation;
use crate::journals::Journals;
use marchland_common::order::{EntityId, Tick};
use serde::Serialize;
use std::collections::BTreeSet;

/// Ticks before the first and after the last fact of a proof from which lines are added.
const AROUND: u64 = 2;

/// A line of an excerpt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExcerptLine {
    /// Whether it is part of the proof, and not only stands beside it.
    pub proof: bool,
    /// The line.
    #[serde(flatten)]
    pub line: Line,
}

/// The facts that prove a violation, and what stands next to them about the same entity, at most so
/// many lines. The proof itself is never cut.
#[must_use]
pub fn excerpt(journals: &Journals, violation: &Violation, max: usize) -> Vec<ExcerptLine> {
    let proof: BTreeSet<&str> = violation.witness.iter().map(|line| line.id.as_str()).collect();
    let plain =
        || violation.witness.iter().map(|line| ExcerptLine { proof: true, line: line.clone() });
    let ticks = violation.witness.iter().map(|line| line.tick);
    let (Some(entity), Some(first), Some(last)) =
        (violation.entity, ticks.clone().min(), ticks.max())
    else {
        return plain().collect();
    };
    let filter = OrderFilter {
        entity: Some(EntityId(entity)),
        from: Some(Tick(first.saturating_sub(AROUND))),
        to: Some(Tick(last.saturating_add(AROUND))),
        bundles: false,
    };
    let lines: Vec<Line> = order(journals, &filter).collect();
    let places: Vec<usize> =
        (0..lines.len()).filter(|at| proof.contains(lines[*at].id.as_str())).collect();
    if places.len() != proof.len() {
        // Part of the proof is about somebody else, or about a whole moment.
        return plain().collect();
    }
    let far = |at: usize| places.iter().map(|place| place.abs_diff(at)).min().unwrap_or(0);
    let mut kept: Vec<usize> = (0..lines.len()).collect();
    kept.sort_by_key(|at| (far(*at), *at));
    kept.truncate(max.max(places.len()));
    kept.sort_unstable();
    let line = |at: usize| {
        let line = lines[at].clone();
        ExcerptLine { proof: proof.contains(line.id.as_str()), line }
    };
    kept.into_iter().map(line).collect()
}
