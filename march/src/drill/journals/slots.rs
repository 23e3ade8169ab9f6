//! How long slots stood still on their way from one baseapp to another.

use super::of_kind;
use marchland_common::journal::Event;
use marchland_common::order::{NodeKind, SlotId, Term, Tick};
use marchland_observe::Journals;
use std::collections::BTreeMap;

/// From the tick in which a slot was frozen until somebody served it again, under the next term of
/// its key: the worst, in ticks. None if no slot was frozen, or one never was served again.
pub(super) fn slots_stood_still(journals: &Journals, began: Tick) -> Option<u64> {
    let (mut frozen, mut taken) = (Vec::new(), BTreeMap::<SlotId, BTreeMap<Term, Tick>>::new());
    for base in of_kind(journals, NodeKind::Base) {
        for record in (0..base.len()).filter_map(|i| base.record(i)) {
            for event in &record.events {
                match *event {
                    Event::SlotFrozen { slot, term, .. } if record.tick >= began => {
                        frozen.push((slot, term, record.tick));
                    }
                    Event::SlotTaken { slot, term, .. } => {
                        taken.entry(slot).or_default().insert(term, record.tick);
                    }
                    _ => {}
                }
            }
        }
    }
    let stood_still = |(slot, term, at): (SlotId, Term, Tick)| {
        let (_, again) = taken.get(&slot)?.range(Term(term.0 + 1)..).next()?;
        Some(again.0.saturating_sub(at.0))
    };
    let all: Option<Vec<u64>> = frozen.into_iter().map(stood_still).collect();
    all?.into_iter().max()
}
