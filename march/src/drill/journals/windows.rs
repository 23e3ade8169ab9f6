//! When cellapps let entities stand still, because their bases made nothing durable.

use super::{lasted_until, of_kind};
use marchland_common::journal::Event;
use marchland_common::order::{Node, NodeKind, NodeName, Tick};
use marchland_observe::{Journals, Process};
use std::collections::BTreeSet;

/// In how many ticks of a span a cellapp ran nothing, or nobody of a base whose disk lags, of those
/// bases that count.
pub(super) fn stood_still(
    cell: &Process,
    from: u64,
    to: u64,
    counts: impl Fn(NodeName) -> bool,
) -> u64 {
    let (mut closed, mut still) = (BTreeSet::<NodeName>::new(), 0);
    for record in (0..cell.len()).filter_map(|i| cell.record(i)) {
        for event in &record.events {
            match event {
                Event::WindowClosed { base, .. } if counts(base.name) => {
                    closed.insert(base.name);
                }
                Event::WindowOpened { base } => {
                    closed.remove(&base.name);
                }
                Event::TicksDropped(dropped) => {
                    let (first, end) = (dropped.from.0.max(from), dropped.to.0.min(to + 1));
                    still += end.saturating_sub(first);
                }
                _ => {}
            }
        }
        let inside = (from..=to).contains(&record.tick.0);
        still += u64::from(inside && !closed.is_empty());
    }
    still
}

/// From the first tick of the next life of a baseapp, or from when it was let go on, until each
/// cellapp that had let its entities stand still ran them again: the worst. None if one never did.
/// Cellapps that were gone before the drill began are not asked.
pub(super) fn ticks_to_reopen(
    journals: &Journals,
    base: Node,
    woken: Option<u64>,
    began: Tick,
) -> Option<u64> {
    let next = of_kind(journals, NodeKind::Base)
        .filter(|p| p.node().name == base.name && p.node().incarnation > base.incarnation)
        .find_map(|p| p.record(0).map(|record| record.tick.0));
    let back = next.or(woken)?;
    let cells = of_kind(journals, NodeKind::Cell).filter(|cell| lasted_until(cell, began));
    cells.map(|cell| reopened(cell, base.name, back)).try_fold(0, |worst, at| {
        // One that never let them stand still went on at once.
        Some(worst.max(at?.map_or(0, |tick| tick.saturating_sub(back))))
    })
}

/// When it let the entities of a base go on after that was back; none if they never stood still,
/// an outer none if they still do.
fn reopened(cell: &Process, base: NodeName, back: u64) -> Option<Option<u64>> {
    let mut closed = false;
    for record in (0..cell.len()).filter_map(|i| cell.record(i)) {
        for event in &record.events {
            match event {
                Event::WindowClosed { base: of, .. } if of.name == base => closed = true,
                Event::WindowOpened { base: of } if of.name == base => {
                    if closed && record.tick.0 >= back {
                        return Some(Some(record.tick.0));
                    }
                    closed = false;
                }
                _ => {}
            }
        }
    }
    (!closed).then_some(None)
}
