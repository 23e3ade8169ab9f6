//! Who kept which slot under which term, as the bases' journals tell it.

use super::State;
use crate::audit::pass::Here;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{Lsn, NodeName, SlotId, Term};

/// A record about a slot: where it stands in its log, if that is known, and where it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// None where only a later life of the base told of it.
    pub lsn: Option<Lsn>,
    pub at: At,
}

/// The time in which one base keeps a slot under one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    pub base: NodeName,
    pub term: Term,
    pub taken: Told,
    /// Where it was frozen, and for whom.
    pub frozen: Option<(NodeName, Told)>,
    /// Where its base wrote that the slot is another one's, and under which term.
    pub given: Option<(Term, Told)>,
    /// Out of the log of which base the slot came, if it came so.
    pub adopted: Option<Adopted>,
}

/// A slot that came out of the log of a lost base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// Whose log it was.
    pub from: NodeName,
    /// How far that was read: later records in it count for nothing.
    pub through: Lsn,
    pub at: At,
}

impl Tenure {
    const fn begin(base: NodeName, term: Term, taken: Told) -> Self {
        Self { base, term, taken, frozen: None, given: None, adopted: None }
    }
}

/// All tenures of one slot, the newest last.
#[derive(Clone, Debug, Default)]
pub struct Tenures(pub Vec<Tenure>);

impl Tenures {
    /// The newest.
    pub fn last(&self) -> Option<&Tenure> {
        self.0.last()
    }

    /// The newest of one base.
    pub fn last_of(&self, base: NodeName) -> Option<&Tenure> {
        self.0.iter().rev().find(|tenure| tenure.base == base)
    }

    /// Whether what a base kept under a term was taken over from its log, under a term up to this one.
    pub fn taken_over(&self, base: NodeName, term: Term, upto: Term) -> Option<&Tenure> {
        let later = self.0.iter().filter(|later| later.term > term && later.term <= upto);
        let mut taken = later.filter(|later| later.adopted.is_some_and(|a| a.from == base));
        taken.next()
    }

    /// Whether it ever moved, or was about to.
    pub fn moved(&self) -> bool {
        self.0.len() > 1 || self.0.iter().any(|tenure| tenure.frozen.is_some())
    }

    /// Everybody who kept it or was to keep it.
    pub fn keepers(&self) -> impl Iterator<Item = NodeName> + '_ {
        let next = |tenure: &Tenure| tenure.frozen.map(|(to, _)| to);
        self.0.iter().flat_map(move |tenure| [Some(tenure.base), next(tenure)]).flatten()
    }

    /// The term under which a record of a log was written about the slot; of what nobody told, the
    /// lowest.
    pub fn term_of(&self, log: NodeName, lsn: Lsn) -> Term {
        let before = |t: &&Tenure| t.base == log && t.taken.lsn.is_none_or(|taken| taken <= lsn);
        self.0.iter().rev().find(before).map_or(Term(0), |tenure| tenure.term)
    }

    /// Takes out what one log wrote after a record.
    fn cut(&mut self, log: NodeName, kept: Lsn) {
        self.cut_read(log, kept);
        for tenure in self.0.iter_mut().filter(|tenure| tenure.base == log) {
            tenure.given.take_if(|(_, told)| is_after(told, kept));
        }
    }

    /// Takes out what one log wrote after the record up to which it was read. That it gives the slot
    /// up it writes later: when it comes back.
    fn cut_read(&mut self, log: NodeName, kept: Lsn) {
        self.0.retain(|tenure| tenure.base != log || !is_after(&tenure.taken, kept));
        for tenure in self.0.iter_mut().filter(|tenure| tenure.base == log) {
            tenure.frozen.take_if(|(_, told)| is_after(told, kept));
        }
    }
}

fn is_after(told: &Told, kept: Lsn) -> bool {
    told.lsn.is_some_and(|lsn| lsn > kept)
}

impl State {
    /// The tenures of a slot; none where no journal tells of any.
    pub fn tenures(&self, slot: SlotId) -> Option<&Tenures> {
        self.slots.get(&slot).filter(|tenures| !tenures.0.is_empty())
    }

    /// The base that keeps a slot.
    pub fn keeper(&self, slot: SlotId) -> Option<NodeName> {
        self.tenures(slot).and_then(Tenures::last).map(|tenure| tenure.base)
    }

    /// Takes in what a base tells of a slot.
    pub(super) fn apply_slot(&mut self, here: &Here<'_>) {
        let (base, at) = (here.node.name, here.at);
        match *here.event {
            Event::SlotTaken { slot, term, lsn } => {
                self.begin_tenure((slot, base, term), Told { lsn: Some(lsn), at });
            }
            Event::SlotAdopted { slot, term, from, through } => {
                let adopted = Adopted { from: from.name, through, at };
                self.adopted.insert((slot, base, term), adopted);
            }
            Event::SlotFrozen { slot, term, to, lsn } => {
                if let Some(tenure) = self.tenure_mut(slot, base, term) {
                    tenure.frozen = Some((to, Told { lsn: Some(lsn), at }));
                }
            }
            Event::SlotGiven { slot, term, lsn } => {
                let mut tenures = self.slots.entry(slot).or_default().0.iter_mut().rev();
                if let Some(tenure) = tenures.find(|tenure| tenure.base == base) {
                    tenure.given = Some((term, Told { lsn: Some(lsn), at }));
                }
            }
            Event::SlotKept { slot, term, frozen_for } => {
                let known = Told { lsn: None, at };
                if self.tenure_mut(slot, base, term).is_none() {
                    // The life that took it could not tell.
                    self.begin_tenure((slot, base, term), known);
                }
                let tenure = self.tenure_mut(slot, base, term);
                if let Some((tenure, to)) = tenure.zip(frozen_for) {
                    tenure.frozen.get_or_insert((to, known));
                }
            }
            _ => {}
        }
    }

    fn tenure_mut(&mut self, slot: SlotId, base: NodeName, term: Term) -> Option<&mut Tenure> {
        let tenures = self.slots.get_mut(&slot)?.0.iter_mut();
        tenures.rev().find(|tenure| (tenure.base, tenure.term) == (base, term))
    }

    fn begin_tenure(&mut self, (slot, base, term): (SlotId, NodeName, Term), taken: Told) {
        let adopted = self.adopted.get(&(slot, base, term)).copied();
        let tenure = Tenure { adopted, ..Tenure::begin(base, term, taken) };
        self.slots.entry(slot).or_default().0.push(tenure);
    }

    pub(super) fn cut_read_slot(&mut self, slot: SlotId, log: NodeName, kept: Lsn) {
        if let Some(tenures) = self.slots.get_mut(&slot) {
            tenures.cut_read(log, kept);
        }
    }

    pub(super) fn cut_slots(&mut self, log: NodeName, kept: Lsn) {
        self.slots.values_mut().for_each(|tenures| tenures.cut(log, kept));
    }
}
