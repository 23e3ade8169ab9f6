//! How long entities stood still because their slot was on its way from one baseapp to another.

use super::{Scope, of_kind};
use marchland_common::journal::Event;
use marchland_common::order::{NodeKind, SlotId, Tick};
use marchland_observe::{Journals, Process};
use std::collections::BTreeMap;

/// From the tick in which a cellapp let a slot's entities stand still until the one in which they
/// answered to a base again, be it the one that called the move off: the worst, in ticks. None if
/// no slot stood still. Where one still does at the end of a journal, it did until there.
pub(super) fn slots_stood_still(journals: &Journals, scope: Scope) -> Option<u64> {
    of_kind(journals, NodeKind::Cell).filter_map(|cell| worst_at(cell, scope)).max()
}

fn worst_at(cell: &Process, scope: Scope) -> Option<u64> {
    let of_drill = scope.began..=scope.ended;
    let (mut still, mut worst, mut now) = (BTreeMap::<SlotId, Tick>::new(), None, Tick(0));
    for record in (0..cell.len()).filter_map(|i| cell.record(i)) {
        now = record.tick;
        for event in &record.events {
            match *event {
                Event::SlotFollowed { slot, base: None } if of_drill.contains(&now) => {
                    still.entry(slot).or_insert(now);
                }
                Event::SlotFollowed { slot, base: Some(_) } => {
                    worst = worst.max(still.remove(&slot).map(|since| ticks(since, now)));
                }
                _ => {}
            }
        }
    }
    worst.max(still.into_values().map(|since| ticks(since, now)).max())
}

const fn ticks(from: Tick, to: Tick) -> u64 {
    to.0.saturating_sub(from.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::journals::tests::{BASE_1, BASE_2, CELL_1, CELL_2, journal};
    use marchland_common::order::{Lsn, Node, Term};

    fn followed(tick: u64, slot: u8, base: Option<Node>) -> (u64, Event) {
        (tick, Event::SlotFollowed { slot: SlotId(slot), base })
    }

    const SCOPE: Scope = Scope { began: Tick(100), ended: Tick(200), bots: 0 };

    /// What is told of two cellapps.
    fn told(one: Vec<(u64, Event)>, other: Vec<(u64, Event)>) -> Option<u64> {
        let cells = vec![journal(CELL_1, one), journal(CELL_2, other)];
        slots_stood_still(&Journals::from_records(cells), SCOPE)
    }

    #[test]
    fn the_worst_of_all_cellapps_and_slots_counts() {
        let one = vec![
            followed(110, 1, None),
            followed(111, 2, None),
            followed(115, 1, Some(BASE_2)),
            followed(117, 2, Some(BASE_2)),
        ];
        let other = vec![followed(112, 1, None), followed(121, 1, Some(BASE_2))];
        assert_eq!(told(one.clone(), other), Some(9));
        assert_eq!(told(one, Vec::new()), Some(6));
    }

    #[test]
    fn a_move_that_was_called_off_counts_too() {
        let off = vec![followed(110, 1, None), followed(118, 1, Some(BASE_1))];
        assert_eq!(told(off, Vec::new()), Some(8));
    }

    #[test]
    fn what_the_bases_froze_for_a_shorter_time_does_not_count() {
        let (slot, to, lsn) = (SlotId(1), BASE_2.name, Lsn(1));
        let frozen = Event::SlotFrozen { slot, term: Term(1), to, lsn };
        let taken = Event::SlotTaken { slot, term: Term(2), lsn };
        let still = vec![followed(110, 1, None), followed(122, 1, Some(BASE_2))];
        let all = vec![
            journal(BASE_1, vec![(113, frozen)]),
            journal(BASE_2, vec![(119, taken)]),
            journal(CELL_1, still),
        ];
        assert_eq!(slots_stood_still(&Journals::from_records(all), SCOPE), Some(12));
    }

    #[test]
    fn what_was_before_and_what_the_end_of_the_cluster_brings_is_not_of_the_drill() {
        let before = vec![followed(50, 1, None), followed(130, 1, Some(BASE_2))];
        let ends = vec![followed(140, 1, Some(BASE_1)), followed(201, 1, None)];
        assert_eq!(told(before, ends), None);
    }

    #[test]
    fn a_slot_that_nobody_served_again_stood_still_until_the_end() {
        let lost =
            vec![followed(110, 1, None), followed(111, 2, None), followed(112, 2, Some(BASE_2))];
        assert_eq!(told(lost, Vec::new()), Some(190));
    }
}
