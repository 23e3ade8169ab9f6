//! What is observed of a drill once it is over, from the journals of all processes.

mod cuts;
mod losses;
mod slots;
mod troubles;
mod windows;

use super::bound::{Figure, Figures};
use super::scripts::Told;
use crate::demo::Left;
use crate::exit::{Failure, NOT_FOUND};
use losses::Losses;
use marchland_common::journal::Event;
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_observe::{Journals, Process, load};
use slots::slots_stood_still;
use windows::{stood_still, ticks_to_reopen};

/// Which part of the journals is about the drill. They may hold what was long before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// The first tick that is.
    pub(super) began: Tick,
    /// The last one that is. After it everybody is asked to end, and what follows is of that.
    pub(super) ended: Tick,
    /// How many bots play.
    pub(super) bots: u64,
}

/// All figures: those of the script, and those that the journals tell.
pub(super) fn observe(left: &Left, told: &Told, scope: Scope) -> Result<Figures, Failure> {
    let journals = load(&left.dir).map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    let mut figures = told.figures.clone();
    figures.insert(Figure::Unanswered, left.bots.unanswered);
    figures.insert(Figure::TicksDoubled, left.summary.ticks_doubled);
    figures.insert(Figure::NewLogins, new_logins(&journals, scope));
    if let Some(victim) = told.victim {
        figures.insert(Figure::NextLives, next_lives(&journals, victim));
        if victim.name.kind == NodeKind::Base
            && let Some(worst) = ticks_to_reopen(&journals, victim, told.woken, scope.began)
        {
            figures.insert(Figure::TicksToReopen, worst);
        }
    }
    Losses::of(&journals, scope.began).tell(told.victim, &mut figures);
    if let Some(worst) = slots_stood_still(&journals, scope) {
        figures.insert(Figure::SlotStoodStill, worst);
    }
    if let Some((from, to)) = told.span {
        let cells = of_kind(&journals, NodeKind::Cell);
        let stood_still = cells.map(|cell| stood_still(cell, from, to, |_| true)).sum();
        figures.insert(Figure::TicksStoodStill, stood_still);
    }
    cuts::tell(&journals, &told.cuts, &mut figures);
    if let Some(trouble) = &told.trouble {
        troubles::tell(&journals, trouble, &mut figures);
        if let Some((base, from)) = told.still {
            let confirmed = troubles::confirmed(&journals, base, from, trouble.to);
            figures.insert(Figure::ConfirmedStill, confirmed);
        }
    }
    Ok(figures)
}

fn of_kind(journals: &Journals, kind: NodeKind) -> impl Iterator<Item = &Process> {
    journals.processes().iter().filter(move |p| p.node().name.kind == kind)
}

/// Whether a life lasted until a tick or longer: a volume of containers keeps those that were long
/// before, and however they ended is of no drill.
fn lasted_until(process: &Process, tick: Tick) -> bool {
    let newest = process.len().checked_sub(1).and_then(|last| process.record(last));
    newest.is_some_and(|record| record.tick >= tick)
}

fn next_lives(journals: &Journals, victim: Node) -> u64 {
    let lives = journals.processes().iter().map(Process::node);
    lives.filter(|n| n.name == victim.name && n.incarnation > victim.incarnation).count() as u64
}

/// Sessions that clients opened beside the first one of each.
fn new_logins(journals: &Journals, scope: Scope) -> u64 {
    of_kind(journals, NodeKind::Client).map(|crowd| new_logins_of(crowd, scope)).sum()
}

/// Those of one crowd. Its records are numbered, and when it was is told by what it saw.
fn new_logins_of(crowd: &Process, scope: Scope) -> u64 {
    let (mut logins, mut anew, mut now) = (0, 0, Tick(0));
    for record in (0..crowd.len()).filter_map(|i| crowd.record(i)) {
        for event in &record.events {
            match event {
                Event::ClientSaw { tick, .. } => now = now.max(*tick),
                Event::ClientWelcome { resumed: false, .. } => {
                    logins += 1;
                    anew += u64::from(logins > scope.bots && now >= scope.began);
                }
                _ => {}
            }
        }
    }
    anew
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::journal::{Record, TickRecord};
    use marchland_common::order::Tick;
    use std::ops::RangeInclusive;

    pub(super) const CELL_1: Node = Node::new(NodeKind::Cell, 1, 11);
    pub(super) const CELL_2: Node = Node::new(NodeKind::Cell, 2, 12);
    pub(super) const BASE_1: Node = Node::new(NodeKind::Base, 1, 21);
    pub(super) const BASE_2: Node = Node::new(NodeKind::Base, 2, 22);

    /// The journal of a process that ran the first 300 ticks, with what happened in them.
    pub(super) fn journal(node: Node, events: Vec<(u64, Event)>) -> (Node, Vec<Record>) {
        (node, records(1..=300, events))
    }

    /// The records of these ticks, with what happened in them.
    pub(super) fn records(ticks: RangeInclusive<u64>, events: Vec<(u64, Event)>) -> Vec<Record> {
        let of = |tick: u64| {
            events.iter().filter(move |(at, _)| *at == tick).map(|(_, event)| event.clone())
        };
        let record = |tick| Record::Tick(TickRecord::without_core(Tick(tick), of(tick).collect()));
        ticks.map(record).collect()
    }
}
