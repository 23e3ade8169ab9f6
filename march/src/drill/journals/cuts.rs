//! When two that were cut off from each other noticed it, and heard and saw each other again.

use crate::drill::bound::{Figure, Figures};
use crate::drill::scripts::Cut;
use marchland_common::journal::Event;
use marchland_common::order::{Node, NodeKind};
use marchland_observe::{Journals, Process};

/// The figures of all cuts: the worst of each. What one end never did is not observed.
pub(super) fn tell(journals: &Journals, cuts: &[Cut], figures: &mut Figures) {
    let ends = |cut: &Cut| {
        let [a, b] = cut.between;
        [(a, b), (b, a)].map(|(here, there)| End::of(journals.process(here), there, cut))
    };
    let all: Vec<End> = cuts.iter().flat_map(ends).collect();
    let worst = |of: fn(&End) -> Option<u64>| {
        let each: Option<Vec<u64>> = all.iter().map(of).collect();
        each.and_then(|each| each.into_iter().max())
    };
    let are_cells = |cut: &Cut| cut.between.iter().all(|end| end.name.kind == NodeKind::Cell);
    let seen = worst(|end| end.shown).filter(|_| cuts.iter().all(are_cells));
    let told = [
        (Figure::TicksToNotice, worst(|end| later(end.ended))),
        (Figure::TicksToMend, worst(|end| later(end.began))),
        (Figure::TicksToSee, seen),
    ];
    figures.extend(told.into_iter().filter_map(|(figure, ticks)| Some((figure, ticks?))));
}

/// Of the connection that came from the other end, and of the one that went there.
type Both = [Option<u64>; 2];

fn later([from, to]: Both) -> Option<u64> {
    Some(from?.max(to?))
}

/// What one end noticed of the other.
#[derive(Default)]
struct End {
    /// Ticks from the cut until its connections had ended.
    ended: Both,
    /// Ticks from the heal until others had begun.
    began: Both,
    /// Ticks from the heal until a ghost of the other showed something new.
    shown: Option<u64>,
}

impl End {
    fn of(process: Option<&Process>, there: Node, cut: &Cut) -> Self {
        let mut end = Self::default();
        let Some(process) = process else { return end };
        for record in (0..process.len()).filter_map(|i| process.record(i)) {
            let (of_cut, of_heal) =
                (record.tick.0.checked_sub(cut.from), record.tick.0.checked_sub(cut.to));
            for event in &record.events {
                let (mark, ticks) = match *event {
                    Event::LinkEnded { peer, dialed } if peer == there => {
                        (&mut end.ended[usize::from(dialed)], of_cut)
                    }
                    Event::LinkBegan { peer, dialed } if peer == there => {
                        (&mut end.began[usize::from(dialed)], of_heal)
                    }
                    Event::GhostApplied { owner, .. } if owner == there => {
                        (&mut end.shown, of_heal)
                    }
                    _ => continue,
                };
                *mark = mark.or(ticks);
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::journals::tests::{CELL_1, CELL_2, journal};
    use marchland_common::order::{EntityId, Epoch, Seq};

    const CUT: Cut = Cut { between: [CELL_1, CELL_2], from: 100, to: 200 };

    fn link(
        peer: Node,
        [ended_from, ended_to, began_from, began_to]: [u64; 4],
    ) -> Vec<(u64, Event)> {
        vec![
            (ended_from, Event::LinkEnded { peer, dialed: false }),
            (ended_to, Event::LinkEnded { peer, dialed: true }),
            (began_from, Event::LinkBegan { peer, dialed: false }),
            (began_to, Event::LinkBegan { peer, dialed: true }),
        ]
    }

    fn ghost(owner: Node) -> Event {
        let (entity, epoch, seq) = (EntityId(1), Epoch(1), Seq(1));
        Event::GhostApplied { entity, owner, epoch, seq, digest: 0 }
    }

    fn told(here: Vec<(u64, Event)>, there: Vec<(u64, Event)>) -> Figures {
        let journals = Journals::from_records(vec![journal(CELL_1, here), journal(CELL_2, there)]);
        let mut figures = Figures::new();
        tell(&journals, &[CUT], &mut figures);
        figures
    }

    #[test]
    fn the_worst_end_counts_from_the_cut_and_from_the_heal_and_nothing_before_them() {
        let mut here = link(CELL_2, [110, 113, 203, 204]);
        // What was before is of no cut, and what comes after the first is another matter.
        here.insert(0, (50, Event::LinkEnded { peer: CELL_2, dialed: true }));
        here.insert(4, (199, ghost(CELL_2)));
        here.extend([(205, ghost(CELL_2)), (250, ghost(CELL_2))]);
        let mut there = link(CELL_1, [112, 111, 202, 209]);
        there.extend([(207, ghost(CELL_1))]);
        let expected =
            [(Figure::TicksToNotice, 13), (Figure::TicksToMend, 9), (Figure::TicksToSee, 7)];
        assert_eq!(told(here, there), Figures::from(expected));
    }

    #[test]
    fn what_one_end_never_noticed_is_not_observed() {
        let here = link(CELL_2, [110, 113, 203, 204]);
        let half = vec![(112, Event::LinkEnded { peer: CELL_1, dialed: true })];
        assert_eq!(told(here, half), Figures::new());
    }
}
