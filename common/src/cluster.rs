//! What the coordination store says about the cluster, as inputs of a core: who is there, who
//! keeps which base slot, who owns which cell, and which lives ended.

use crate::order::{Incarnation, Node, NodeName, SlotId, SpaceId, Term};
use crate::world::Layout;
use serde::{Deserialize, Serialize};

/// What a member does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// Takes cells, slots and entities.
    Serving,
    /// Gives away what it has and takes nothing new.
    Draining,
}

/// One registered process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Its name and life.
    pub node: Node,
    /// What it does.
    pub state: MemberState,
}

/// Who keeps a base slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SlotOwner {
    /// The slot.
    pub slot: SlotId,
    /// The baseapp, in whichever life.
    pub base: NodeName,
    /// Grows with every change of the slot's keeper.
    pub term: Term,
}

/// A slot on its way to another base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SlotMove {
    /// The slot.
    pub slot: SlotId,
    /// Its term.
    pub term: Term,
    /// Who is to keep it.
    pub to: NodeName,
    /// How far the move is.
    pub stage: MoveStage,
}

/// How far the move of a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MoveStage {
    /// Cellapps are asked to let its entities stand still.
    Closing,
    /// Frozen; the next keeper does not have all of it.
    Copying,
    /// This life of the next keeper has all of it, durably: the slot's key may name that one while
    /// it lives.
    Held(Incarnation),
}

/// Slots of a lost baseapp that another one is to take over, from the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeOver {
    /// The last life that kept them.
    pub from: Node,
    /// The folder of its log, as that life named it.
    pub log: String,
    /// The slots, each under the term of its key.
    pub slots: Vec<(SlotId, Term)>,
}

/// How far a baseapp is with taking slots over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeOverState {
    /// Whose slots they are: names the order.
    pub from: Node,
    /// How far it is.
    pub stage: TakeOverStage,
    /// The slots: of a stage that is `Held` those that are, which may not be all that were asked for.
    pub slots: Vec<(SlotId, Term)>,
}

/// How far taking over is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TakeOverStage {
    /// The log is being read and written down.
    Reading,
    /// What the log holds of the slots is here, durably, and the log is locked: their keys may name
    /// this baseapp.
    Held,
    /// It cannot be done, or not now: why, for people.
    Refused(String),
}

/// A change of what the store says. Each replaces what it names, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MapChange {
    /// All members.
    Members(Vec<Member>),
    /// All base slots that somebody keeps.
    Slots(Vec<SlotOwner>),
    /// One space; a smaller version than the known one is ignored and counted.
    Layout(Layout),
    /// A space is gone.
    SpaceGone(SpaceId),
    /// Lives that were declared dead since; the set only grows.
    Dead(Vec<Incarnation>),
}

/// What a core keeps of [`MapChange`]s: the map of the cluster as this process knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterMap {
    members: Vec<Member>,
    slots: Vec<SlotOwner>,
    layouts: std::collections::BTreeMap<SpaceId, Layout>,
    dead: std::collections::BTreeSet<Incarnation>,
}

impl ClusterMap {
    /// Takes in a change. Returns false when it was older than what is known (a layout).
    pub fn apply(&mut self, change: MapChange) -> bool {
        match change {
            MapChange::Members(mut members) => {
                members.sort_by_key(|m| m.node);
                self.members = members;
            }
            MapChange::Slots(mut slots) => {
                slots.sort_by_key(|s| s.slot);
                self.slots = slots;
            }
            MapChange::Layout(layout) => {
                if self.layouts.get(&layout.space).is_some_and(|l| l.version >= layout.version) {
                    return false;
                }
                self.layouts.insert(layout.space, layout);
            }
            MapChange::SpaceGone(space) => {
                self.layouts.remove(&space);
            }
            MapChange::Dead(lives) => self.dead.extend(lives),
        }
        true
    }

    /// All members, by name and life.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member with this name, in its present life.
    #[must_use]
    pub fn member(&self, name: NodeName) -> Option<Member> {
        self.members.iter().rev().find(|m| m.node.name == name).copied()
    }

    /// Whether this very life is registered and not declared dead.
    #[must_use]
    pub fn is_live(&self, node: Node) -> bool {
        !self.is_dead(node) && self.members.iter().any(|m| m.node == node)
    }

    /// Whether this life was declared dead.
    #[must_use]
    pub fn is_dead(&self, node: Node) -> bool {
        self.dead.contains(&node.incarnation)
    }

    /// The keeper of a slot.
    #[must_use]
    pub fn slot(&self, slot: SlotId) -> Option<SlotOwner> {
        self.slots.binary_search_by_key(&slot, |s| s.slot).ok().map(|i| self.slots[i])
    }

    /// The living baseapp that keeps a slot.
    #[must_use]
    pub fn base_of(&self, slot: SlotId) -> Option<Node> {
        self.member(self.slot(slot)?.base).map(|m| m.node).filter(|n| !self.is_dead(*n))
    }

    /// The slots that a baseapp keeps, in order.
    pub fn slots_of(&self, base: NodeName) -> impl Iterator<Item = SlotOwner> {
        self.slots.iter().filter(move |s| s.base == base).copied()
    }

    /// The layout of a space.
    #[must_use]
    pub fn layout(&self, space: SpaceId) -> Option<&Layout> {
        self.layouts.get(&space)
    }

    /// All layouts, by space.
    pub fn layouts(&self) -> impl Iterator<Item = &Layout> {
        self.layouts.values()
    }
}
