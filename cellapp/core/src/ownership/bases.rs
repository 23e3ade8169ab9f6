//! The bases of the entities here: which life keeps which slot, how far what we told it is
//! durable, and whether its entities may be stepped.
//!
//! Invariant: the entities of a base life are stepped in a tick only while
//! `tick - durable < window`. An owner that its base does not confirm stops by itself, without a
//! clock; so does one whose base never said anything.
//!
//! Entity time of an idle entity costs nothing: the number of stepped ticks is counted once per
//! base life, and an entity notes at which count its own time was right.

use marchland_common::order::{EntityId, Node, SlotId, Tick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What is known of one life of a baseapp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseLink {
    /// Which life.
    pub base: Node,
    /// In how many ticks its entities were stepped here.
    pub steps: u64,
    /// The newest of our ticks whose whole content is durable there.
    pub durable: Option<Tick>,
    /// Whether its entities are stepped in this tick.
    pub open: bool,
    /// It is to be told what stands here: it asked, or the link to it began anew.
    pub resync: bool,
    /// The newest of its questions what stands here.
    pub question: u64,
    /// Whether it was ever told: then it is to be told of slots that become its own later, too.
    pub told: bool,
    /// When timers are due, in steps of this link.
    #[serde(skip)]
    pub timers: BTreeSet<(u64, EntityId)>,
}

/// Which base life keeps which slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bases {
    /// By life.
    links: Vec<BaseLink>,
    /// Index into `links`, by slot.
    slots: Vec<Option<u16>>,
}

impl Default for Bases {
    fn default() -> Self {
        Self { links: Vec::new(), slots: vec![None; 256] }
    }
}

/// A change of what may be stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowChange {
    /// The base.
    pub base: Node,
    /// How far it is durable.
    pub durable: Option<Tick>,
    /// Whether its entities run from this tick on.
    pub open: bool,
}

impl Bases {
    /// All links, by life.
    pub fn links(&self) -> impl Iterator<Item = &BaseLink> {
        self.links.iter()
    }

    /// All links, to be changed.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut BaseLink> {
        self.links.iter_mut()
    }

    /// The link to a base life.
    #[must_use]
    pub fn link(&self, base: Node) -> Option<&BaseLink> {
        self.position(base).ok().map(|at| &self.links[at])
    }

    /// The link to a base life, to be changed.
    pub fn link_mut(&mut self, base: Node) -> Option<&mut BaseLink> {
        self.position(base).ok().map(|at| &mut self.links[at])
    }

    /// The link to the base of an entity.
    #[must_use]
    pub fn of(&self, entity: EntityId) -> Option<&BaseLink> {
        let at = self.slots[usize::from(entity.slot().0)]?;
        Some(&self.links[usize::from(at)])
    }

    /// The link to the base of an entity, to be changed.
    pub fn of_mut(&mut self, entity: EntityId) -> Option<&mut BaseLink> {
        let at = self.slots[usize::from(entity.slot().0)]?;
        Some(&mut self.links[usize::from(at)])
    }

    /// In how many ticks the entities of this entity's base were stepped; 0 without a base.
    #[must_use]
    pub fn steps_of(&self, entity: EntityId) -> u64 {
        self.of(entity).map_or(0, |link| link.steps)
    }

    /// Whether the entity's base lets it run in this tick.
    #[must_use]
    pub fn is_open(&self, entity: EntityId) -> bool {
        self.of(entity).is_some_and(|link| link.open)
    }

    /// Adds a link for a base life that has none.
    pub fn add(&mut self, base: Node) {
        let Err(at) = self.position(base) else { return };
        let link = BaseLink {
            base,
            steps: 0,
            durable: None,
            open: false,
            resync: false,
            question: 0,
            told: false,
            timers: BTreeSet::new(),
        };
        self.links.insert(at, link);
        for slot in self.slots.iter_mut().flatten() {
            *slot += u16::from(usize::from(*slot) >= at);
        }
    }

    /// Drops the link to a life that is over. Its slots belong to nobody until they are assigned.
    pub fn drop_link(&mut self, base: Node) -> Option<BaseLink> {
        let at = self.position(base).ok()?;
        let link = self.links.remove(at);
        for slot in &mut self.slots {
            *slot = match *slot {
                Some(other) if usize::from(other) == at => None,
                Some(other) => Some(other - u16::from(usize::from(other) > at)),
                None => None,
            };
        }
        Some(link)
    }

    /// The base life that keeps a slot.
    #[must_use]
    pub fn keeper(&self, slot: SlotId) -> Option<Node> {
        self.slots[usize::from(slot.0)].map(|at| self.links[usize::from(at)].base)
    }

    /// The slots whose entities do not run in this tick.
    pub fn closed_slots(&self) -> impl Iterator<Item = SlotId> {
        let is_closed = |at: &Option<u16>| at.is_none_or(|at| !self.links[usize::from(at)].open);
        (0..=u8::MAX).map(SlotId).filter(move |slot| is_closed(&self.slots[usize::from(slot.0)]))
    }

    /// Assigns a slot to a life that has a link, or to nobody.
    pub fn assign(&mut self, slot: SlotId, base: Option<Node>) {
        let at = base.and_then(|base| self.position(base).ok());
        self.slots[usize::from(slot.0)] = at.map(|at| at as u16);
    }

    /// Takes in how far a base is durable; it never goes back.
    pub fn note_durable(&mut self, base: Node, durable: Option<Tick>) {
        if let Some(link) = self.link_mut(base) {
            link.durable = link.durable.max(durable);
        }
    }

    /// Decides for every base whether its entities run in `tick`, and counts it. `held_back` says
    /// for a base since which tick something meant for it has not even left; `halted` that nothing
    /// at all runs. Returns what changed.
    pub fn open_windows(
        &mut self,
        tick: Tick,
        window: u64,
        halted: bool,
        held_back: impl Fn(Node) -> Option<Tick>,
    ) -> Vec<WindowChange> {
        let mut changes = Vec::new();
        for link in &mut self.links {
            // What waits here cannot be durable there, whatever later bundles say.
            let left = held_back(link.base).map_or(u64::MAX, |since| since.0.saturating_sub(1));
            let durable = link.durable.map(|durable| durable.0.min(left));
            let ahead = durable.map_or(u64::MAX, |durable| tick.0.saturating_sub(durable));
            let open = ahead < window && !halted;
            if open != link.open {
                link.open = open;
                changes.push(WindowChange { base: link.base, durable: link.durable, open });
            }
            link.steps += u64::from(open);
        }
        changes
    }

    fn position(&self, base: Node) -> Result<usize, usize> {
        self.links.binary_search_by_key(&base, |link| link.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::order::NodeKind;

    fn base(number: u16, incarnation: u64) -> Node {
        Node::new(NodeKind::Base, number, incarnation)
    }

    fn open(bases: &mut Bases, tick: u64) -> Vec<WindowChange> {
        bases.open_windows(Tick(tick), 4, false, |_| None)
    }

    #[test]
    fn a_base_that_never_spoke_keeps_its_entities_still() {
        let mut bases = Bases::default();
        bases.add(base(1, 5));
        assert!(open(&mut bases, 1).is_empty());
        assert_eq!(bases.link(base(1, 5)).map(|link| link.steps), Some(0));
    }

    #[test]
    fn at_most_window_minus_one_ticks_run_beyond_what_is_durable() {
        let mut bases = Bases::default();
        bases.add(base(1, 5));
        bases.note_durable(base(1, 5), Some(Tick(10)));
        let ran: Vec<u64> = (11..20)
            .filter(|tick| {
                open(&mut bases, *tick);
                bases.link(base(1, 5)).is_some_and(|link| link.open)
            })
            .collect();
        assert_eq!(ran, [11, 12, 13]);
        bases.note_durable(base(1, 5), Some(Tick(3)));
        assert!(open(&mut bases, 20).is_empty(), "an older word opens nothing");
        bases.note_durable(base(1, 5), Some(Tick(18)));
        assert_eq!(open(&mut bases, 21).len(), 1);
    }

    #[test]
    fn what_still_waits_here_does_not_count_as_durable() {
        let mut bases = Bases::default();
        bases.add(base(1, 5));
        bases.note_durable(base(1, 5), Some(Tick(10)));
        bases.open_windows(Tick(11), 4, false, |_| Some(Tick(8)));
        assert!(!bases.links[0].open);
    }

    #[test]
    fn slots_keep_their_base_when_links_come_and_go() {
        let mut bases = Bases::default();
        bases.add(base(2, 7));
        bases.assign(SlotId(9), Some(base(2, 7)));
        bases.add(base(1, 5));
        assert_eq!(bases.keeper(SlotId(9)), Some(base(2, 7)));
        bases.assign(SlotId(0), Some(base(1, 5)));
        bases.drop_link(base(1, 5));
        assert_eq!(bases.keeper(SlotId(9)), Some(base(2, 7)));
        assert_eq!(bases.keeper(SlotId(0)), None);
    }
}
