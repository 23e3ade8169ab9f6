//! What is observed of a drill once it is over, from the journals of all processes.

mod losses;
mod windows;

use super::bound::{Figure, Figures};
use super::field::BOTS;
use super::scripts::Told;
use crate::demo::Left;
use crate::exit::{Failure, NOT_FOUND};
use losses::Losses;
use marchland_common::journal::Event;
use marchland_common::order::{Node, NodeKind};
use marchland_observe::{Journals, Process, load};
use windows::{stood_still, ticks_to_reopen};

/// All figures: those of the script, and those that the journals tell.
pub(super) fn observe(left: &Left, told: &Told) -> Result<Figures, Failure> {
    let journals = load(&left.dir).map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    let mut figures = told.figures.clone();
    figures.insert(Figure::Unanswered, left.bots.unanswered);
    figures.insert(Figure::TicksDoubled, left.summary.ticks_doubled);
    let logins = count(&journals, NodeKind::Client, |event| {
        matches!(event, Event::ClientWelcome { resumed: false, .. })
    });
    figures.insert(Figure::NewLogins, logins.saturating_sub(BOTS));
    if let Some(victim) = told.victim {
        figures.insert(Figure::NextLives, next_lives(&journals, victim));
        if victim.name.kind == NodeKind::Base
            && let Some(worst) = ticks_to_reopen(&journals, victim, told.woken)
        {
            figures.insert(Figure::TicksToReopen, worst);
        }
    }
    Losses::of(&journals).tell(told.victim, &mut figures);
    if let Some((from, to)) = told.span {
        let cells = of_kind(&journals, NodeKind::Cell);
        let stood_still = cells.map(|cell| stood_still(cell, from, to)).sum();
        figures.insert(Figure::TicksStoodStill, stood_still);
    }
    Ok(figures)
}

fn of_kind(journals: &Journals, kind: NodeKind) -> impl Iterator<Item = &Process> {
    journals.processes().iter().filter(move |p| p.node().name.kind == kind)
}

fn next_lives(journals: &Journals, victim: Node) -> u64 {
    let lives = journals.processes().iter().map(Process::node);
    lives.filter(|n| n.name == victim.name && n.incarnation > victim.incarnation).count() as u64
}

/// How often something happened at processes of a kind.
fn count(journals: &Journals, kind: NodeKind, what: impl Fn(&Event) -> bool) -> u64 {
    let records = |p: &Process| {
        (0..p.len())
            .filter_map(|i| p.record(i))
            .map(|r| r.events.iter().filter(|event| what(event)).count() as u64)
            .sum::<u64>()
    };
    of_kind(journals, kind).map(records).sum()
}
