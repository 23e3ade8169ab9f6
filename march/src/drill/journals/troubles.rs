//! Who stood still because of a trouble, who did so although he had no part in it, and how soon
//! everybody went on.

use super::{lasted_until, of_kind, windows};
use crate::drill::bound::{Figure, Figures};
use crate::drill::scripts::{Hurt, Trouble};
use marchland_common::journal::Event;
use marchland_common::order::{NodeKind, NodeName, Tick};
use marchland_observe::{Journals, Process};
use std::collections::BTreeSet;

pub(super) fn tell(journals: &Journals, trouble: &Trouble, figures: &mut Figures) {
    let (mut others, mut stood) = (0, Stood::default());
    let cells = of_kind(journals, NodeKind::Cell);
    for cell in cells.filter(|cell| lasted_until(cell, Tick(trouble.from))) {
        let spared = |base| !is_hurt(&trouble.hurt, cell.node().name, base);
        others += windows::stood_still(cell, trouble.from, trouble.to, spared);
        stood.follow(cell, trouble);
    }
    figures.insert(Figure::OthersStoodStill, others);
    figures.insert(Figure::StoodStill, stood.times);
    if let Some(beyond) = stood.beyond {
        figures.insert(Figure::TicksBeyond, beyond);
    }
    if let Some(worst) = stood.to_reopen {
        figures.insert(Figure::TicksToReopen, worst);
    }
}

fn is_hurt(hurt: &[Hurt], cell: NodeName, base: NodeName) -> bool {
    hurt.iter().any(|hurt| {
        hurt.cell.is_none_or(|name| name == cell) && hurt.base.is_none_or(|name| name == base)
    })
}

/// What those did who had a part in it.
struct Stood {
    /// How often entities of a base stood still at a cellapp.
    times: u64,
    /// How far beyond the last durable tick they had run: the worst.
    beyond: Option<u64>,
    /// Ticks from the end of the trouble until they went on: the worst. None if some never did.
    to_reopen: Option<u64>,
}

impl Default for Stood {
    fn default() -> Self {
        Self { times: 0, beyond: None, to_reopen: Some(0) }
    }
}

impl Stood {
    fn follow(&mut self, cell: &Process, trouble: &Trouble) {
        let name = cell.node().name;
        let mut closed = BTreeSet::<NodeName>::new();
        // Once it went on after the end of the trouble, it is over for it.
        let mut over = BTreeSet::<NodeName>::new();
        for record in (0..cell.len()).filter_map(|i| cell.record(i)) {
            for event in &record.events {
                match *event {
                    Event::WindowClosed { base, durable }
                        if is_hurt(&trouble.hurt, name, base.name) =>
                    {
                        if (trouble.from..=trouble.to).contains(&record.tick.0) {
                            self.close(record.tick, durable);
                        }
                        closed.insert(base.name);
                    }
                    Event::WindowOpened { base } if closed.remove(&base.name) => {
                        let after = record.tick.0.checked_sub(trouble.to);
                        let ticks = after.filter(|_| over.insert(base.name)).unwrap_or(0);
                        self.to_reopen = self.to_reopen.map(|worst| worst.max(ticks));
                    }
                    _ => {}
                }
            }
        }
        if closed.iter().any(|base| !over.contains(base)) {
            self.to_reopen = None;
        }
    }

    fn close(&mut self, at: Tick, durable: Option<Tick>) {
        self.times += 1;
        if let Some(durable) = durable {
            // The tick in which they stand still is not run.
            let ran = at.0.saturating_sub(durable.0 + 1);
            self.beyond = Some(self.beyond.map_or(ran, |worst| worst.max(ran)));
        }
    }
}

/// Commands that a base confirmed from one tick on and before another.
pub(super) fn confirmed(journals: &Journals, base: NodeName, from: u64, to: u64) -> u64 {
    let mut count = 0;
    for process in of_kind(journals, NodeKind::Base).filter(|p| p.node().name == base) {
        for record in (0..process.len()).filter_map(|i| process.record(i)) {
            if (from..to).contains(&record.tick.0) {
                let is_confirmed = |e: &&Event| matches!(e, Event::CommandConfirmed { .. });
                count += record.events.iter().filter(is_confirmed).count() as u64;
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::journals::tests::{BASE_1, BASE_2, CELL_1, CELL_2, journal, records};
    use marchland_common::order::Node;
    use marchland_common::time::{Dropped, OverloadPolicy};

    const BOTH: Hurt = Hurt { cell: Some(CELL_1.name), base: Some(BASE_1.name) };

    fn closed(base: Node, durable: u64) -> Event {
        Event::WindowClosed { base, durable: Some(Tick(durable)) }
    }

    const fn opened(base: Node) -> Event {
        Event::WindowOpened { base }
    }

    fn told(hurt: Hurt, first: Vec<(u64, Event)>, second: Vec<(u64, Event)>) -> Figures {
        let journals =
            Journals::from_records(vec![journal(CELL_1, first), journal(CELL_2, second)]);
        let mut figures = Figures::new();
        let trouble = Trouble { from: 100, to: 200, hurt: vec![hurt] };
        tell(&journals, &trouble, &mut figures);
        figures
    }

    #[test]
    fn those_with_a_part_in_it_are_told_apart_from_those_without() {
        let first = vec![
            (103, closed(BASE_1, 98)),
            (150, opened(BASE_1)),
            (151, closed(BASE_1, 145)),
            (207, opened(BASE_1)),
            (230, closed(BASE_1, 200)),
            (290, opened(BASE_1)),
        ];
        let expected = [
            (Figure::OthersStoodStill, 0),
            (Figure::StoodStill, 2),
            (Figure::TicksBeyond, 5),
            (Figure::TicksToReopen, 7),
        ];
        assert_eq!(told(BOTH, first.clone(), Vec::new()), Figures::from(expected));
        // The same at another cellapp, or of another base, should not be.
        let figures = told(BOTH, Vec::new(), first);
        assert_eq!((figures[&Figure::OthersStoodStill], figures[&Figure::StoodStill]), (97, 0));
        let other = vec![(120, closed(BASE_2, 119)), (121, opened(BASE_2))];
        assert_eq!(told(BOTH, other.clone(), Vec::new())[&Figure::OthersStoodStill], 1);
        let all_of_it = Hurt { base: None, ..BOTH };
        assert_eq!(told(all_of_it, other, Vec::new())[&Figure::OthersStoodStill], 0);
    }

    #[test]
    fn a_life_that_was_over_before_and_ended_with_its_entities_still_is_not_of_the_trouble() {
        let before = (CELL_2, records(1..=90, vec![(80, closed(BASE_1, 75))]));
        let journals = Journals::from_records(vec![journal(CELL_1, Vec::new()), before]);
        let mut figures = Figures::new();
        let hurt = Hurt { cell: None, base: Some(BASE_1.name) };
        let trouble = Trouble { from: 100, to: 200, hurt: vec![hurt] };
        tell(&journals, &trouble, &mut figures);
        assert_eq!(figures.get(&Figure::TicksToReopen), Some(&0));
    }

    #[test]
    fn ticks_left_out_count_whoever_leaves_them_out_and_who_never_goes_on_is_not_observed() {
        let (from, to, policy) = (Tick(110), Tick(113), OverloadPolicy::Drop);
        let dropped = Event::TicksDropped(Dropped { from, to, ns: 0, policy, version: 1 });
        let figures = told(BOTH, vec![(113, dropped), (130, closed(BASE_1, 129))], Vec::new());
        assert_eq!(figures[&Figure::OthersStoodStill], 3);
        assert_eq!(figures.get(&Figure::TicksToReopen), None);
    }
}
