//! Why something waited: the rules of the protocol that hold things back, found in what a life's
//! journal tells between two of its facts.

use super::fact::Fact;
use super::graph::At;
use super::id::Names;
use super::story::Told;
use marchland_common::journal::{Event, HeldWhy};
use marchland_common::order::{Node, NodeName, SlotId};

/// A rule that held something back at one life, from one fact up to another.
struct Hold {
    life: u32,
    from: u32,
    to: Option<u32>,
    what: What,
    rule: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Handoff,
    Window(NodeName),
    Slot(SlotId),
}

/// What held things back in a story.
pub(super) struct Holds(Vec<Hold>);

impl Holds {
    /// Finds all of a story.
    pub fn of(told: &[Told], names: &Names) -> Self {
        let mut holds = Self(Vec::new());
        for Told { at, fact, .. } in told {
            if let Some(event) = fact.event() {
                holds.take(*at, fact, event, names);
            }
        }
        holds
    }

    fn take(&mut self, at: At, fact: &Fact, event: &Event, names: &Names) {
        let id = names.event(fact.id);
        match event {
            Event::Frozen { target, .. } => {
                let to = names.node(*target);
                self.begin(at, What::Handoff, format!("frozen for a handoff to {to} since {id}"));
            }
            Event::Unfrozen { .. } | Event::Deactivated { .. } => self.end(at, What::Handoff),
            Event::WindowClosed { base, durable } => {
                let upto = durable.map_or_else(
                    || "none of its ticks".to_owned(),
                    |tick| format!("its ticks up to {tick}"),
                );
                let rule = format!(
                    "window closed since {id}: {} had made {upto} durable",
                    names.node(*base)
                );
                self.begin(at, What::Window(base.name), rule);
            }
            Event::WindowOpened { base } => self.end(at, What::Window(base.name)),
            Event::SlotFollowed { slot, base: None } => {
                let rule = format!("slot {slot} stood still since {id}: no base served it");
                self.begin(at, What::Slot(*slot), rule);
            }
            Event::SlotFrozen { slot, to, .. } => {
                let rule = format!("slot {slot} frozen since {id}: it was on its way to {to}");
                self.begin(at, What::Slot(*slot), rule);
            }
            Event::SlotFollowed { slot, base: Some(_) }
            | Event::SlotTaken { slot, .. }
            | Event::SlotGiven { slot, .. } => self.end(at, What::Slot(*slot)),
            _ => {}
        }
    }

    fn begin(&mut self, at: At, what: What, rule: String) {
        self.0.push(Hold { life: at.life, from: at.fact, to: None, what, rule });
    }

    fn end(&mut self, at: At, what: What) {
        let mut open = self.0.iter_mut().rev();
        let open = open.find(|hold| hold.life == at.life && hold.what == what && hold.to.is_none());
        if let Some(hold) = open {
            hold.to = Some(at.fact);
        }
    }

    /// What held a life between two of its facts.
    pub fn between(&self, life: u32, from: u32, to: u32) -> Option<&str> {
        let during = |hold: &&Hold| {
            hold.life == life && hold.from < to && hold.to.is_none_or(|end| end > from)
        };
        self.0.iter().rev().find(during).map(|hold| hold.rule.as_str())
    }

    /// What held a life at one of its facts.
    fn at(&self, at: At, what: What) -> Option<&str> {
        let during = |hold: &&Hold| {
            let here = hold.from <= at.fact && hold.to.is_none_or(|end| end >= at.fact);
            hold.life == at.life && hold.what == what && here
        };
        self.0.iter().rev().find(during).map(|hold| hold.rule.as_str())
    }

    /// The rule that a fact itself names: something came and could not run, or went another way.
    pub fn named(&self, at: At, fact: &Fact, names: &Names) -> Option<String> {
        let node = |node: Node| names.node(node);
        Some(match fact.event()? {
            Event::CommandHeld { why, entity, .. } | Event::MessageHeld { why, entity, .. } => {
                let found = match why {
                    HeldWhy::Handoff => self.at(at, What::Handoff),
                    HeldWhy::SlotMoves => self.at(at, What::Slot(entity.slot())),
                    HeldWhy::Window => self.between(at.life, at.fact, at.fact + 1),
                    HeldWhy::Journal | HeldWhy::Earlier => None,
                };
                let rule = found.map_or_else(|| held_text(*why).to_owned(), str::to_owned);
                format!("held here: {rule}")
            }
            Event::CommandDropped { base, .. } | Event::MessageDropped { base, .. } => {
                let base = base.map_or_else(|| "its base".to_owned(), node);
                format!("not real here any more: dropped here, {base} sends it to the new owner")
            }
            Event::SignalForwarded { peer, hops, .. } => {
                format!("its receiver is not real here: forwarded to {}, hop {hops}", node(*peer))
            }
            Event::SignalHeld { .. } => {
                "held by sequence: an earlier signal of the same sender has not come yet".to_owned()
            }
            _ => return None,
        })
    }
}

/// A reason in words.
pub(super) const fn held_text(why: HeldWhy) -> &'static str {
    match why {
        HeldWhy::Handoff => "frozen for a handoff",
        HeldWhy::SlotMoves => "the entity's slot moves between bases",
        HeldWhy::Window => "window closed: too much is not durable",
        HeldWhy::Journal => "the journal is too far behind, nothing is stepped",
        HeldWhy::Earlier => "it waits for an earlier one of the same sender",
    }
}
