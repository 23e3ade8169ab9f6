//! Newtypes for every identity and every counter that travels between processes.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The next value. Panics on overflow, which no run of this product can reach.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.parse().map(Self)
            }
        }
    };
}

counter! {
    /// A unit of logic time, numbered for the whole cluster. Never compared across clusters.
    Tick(u64)
}
counter! {
    /// One base slot of 256; the low byte of every entity id.
    SlotId(u8)
}
counter! {
    /// A bounded plane of the world.
    SpaceId(u32)
}
counter! {
    /// A leaf of a space's binary partition. Unique inside its space and layout version.
    CellId(u32)
}
counter! {
    /// The create revision of a process's first registration: later starts have larger ones.
    Incarnation(u64)
}
counter! {
    /// Position of an increment in one entity's lineage, or of a frame in one channel.
    Seq(u64)
}
counter! {
    /// A session of a client with its entity, unique for the life of the base slot.
    SessionId(u64)
}
counter! {
    /// Position in a base's write-ahead log.
    Lsn(u64)
}
counter! {
    /// Which holder of a base slot wrote a record: the revision of the last change of its key.
    Term(u64)
}
counter! {
    /// The registered number of an entity kind.
    KindId(u16)
}

/// An entity, unique for all time: `(counter << 8) | slot`, below 2^53 so that JSON and script
/// numbers hold it exactly.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u64);

impl EntityId {
    /// Largest counter value a slot may hand out (45 bits).
    pub const COUNTER_MAX: u64 = (1 << 45) - 1;

    /// Builds an id. `counter` must be in `1..=COUNTER_MAX`.
    #[must_use]
    pub fn new(slot: SlotId, counter: u64) -> Self {
        assert!((1..=Self::COUNTER_MAX).contains(&counter), "entity counter out of range");
        Self((counter << 8) | u64::from(slot.0))
    }

    /// The base slot that created the entity and keeps its record.
    #[must_use]
    pub const fn slot(self) -> SlotId {
        SlotId((self.0 & 0xff) as u8)
    }

    /// The slot's counter value.
    #[must_use]
    pub const fn counter(self) -> u64 {
        self.0 >> 8
    }
}

impl SessionId {
    /// The slot of the session's account, which is also that of the entity that it plays.
    #[must_use]
    pub const fn slot(self) -> SlotId {
        SlotId((self.0 & 0xff) as u8)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{}.{}", self.counter(), self.slot().0)
    }
}
impl std::str::FromStr for EntityId {
    type Err = std::num::ParseIntError;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        s.parse().map(Self)
    }
}

/// The owner epoch of an entity: `(grant << 16) | delegation`. Only the base allots grants; the
/// low half is reserved for delegations between cells and is 0 in this version.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch of an entity that was never granted.
    pub const NONE: Self = Self(0);

    /// The epoch of the n-th grant, without a delegation.
    #[must_use]
    pub const fn of_grant(grant: u64) -> Self {
        Self(grant << 16)
    }

    /// The number of the grant in this epoch.
    #[must_use]
    pub const fn grant(self) -> u64 {
        self.0 >> 16
    }

    /// The epoch that the base writes when ownership changes next.
    #[must_use]
    pub const fn next_grant(self) -> Self {
        Self::of_grant(self.grant() + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & 0xffff {
            0 => write!(f, "{}", self.grant()),
            hop => write!(f, "{}.{hop}", self.grant()),
        }
    }
}
impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{self}")
    }
}

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// Owns cells and simulates reals.
    Cell,
    /// Keeps the records of entities and the ends of clients.
    Base,
    /// Assigns spaces and slots.
    Manager,
    /// A load generator or another outside program.
    Client,
}

impl NodeKind {
    /// The prefix of a process's name and of its registry key: `cell`, `base`, `manager`, `client`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Base => "base",
            Self::Manager => "manager",
            Self::Client => "client",
        }
    }
}

/// A process by kind and number: `cell-1` is `(Cell, 1)`. The same name may have many lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeName {
    /// What it is.
    pub kind: NodeKind,
    /// Its number, from 1.
    pub number: u16,
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.kind.name(), self.number)
    }
}
impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Why a text is not a process name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a process name: expected cell-N, base-N, manager-N or client-N with N from 1"
)]
pub struct BadNodeName(pub String);

impl std::str::FromStr for NodeName {
    type Err = BadNodeName;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let bad = || BadNodeName(s.to_owned());
        let (kind, number) = s.rsplit_once('-').ok_or_else(bad)?;
        let kind = [NodeKind::Cell, NodeKind::Base, NodeKind::Manager, NodeKind::Client]
            .into_iter()
            .find(|k| k.name() == kind)
            .ok_or_else(bad)?;
        let number = number.parse().ok().filter(|n| *n > 0).ok_or_else(bad)?;
        Ok(Self { kind, number })
    }
}

/// One life of one process: the only thing that may own an entity or send a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Node {
    /// Which process.
    pub name: NodeName,
    /// Which of its lives.
    pub incarnation: Incarnation,
}

impl Node {
    /// A life of a process.
    #[must_use]
    pub const fn new(kind: NodeKind, number: u16, incarnation: u64) -> Self {
        Self { name: NodeName { kind, number }, incarnation: Incarnation(incarnation) }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.incarnation)
    }
}
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_id_names_its_slot_and_stays_below_two_to_the_53() {
        let id = EntityId::new(SlotId(255), EntityId::COUNTER_MAX);
        assert_eq!(id.slot(), SlotId(255));
        assert!(id.0 < 1 << 53);
    }

    #[test]
    fn a_process_name_reads_back_and_a_wrong_one_is_refused() {
        let name: NodeName = "cell-3".parse().expect("a good name");
        assert_eq!(name.to_string(), "cell-3");
        for bad in ["cell", "cell-0", "cel-1", "cell--1", "-1", "cell-x", ""] {
            assert!(bad.parse::<NodeName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_next_grant_is_larger_than_every_delegation_of_this_one() {
        let last = Epoch(Epoch::of_grant(7).0 | 0xffff);
        assert!(Epoch::of_grant(7) < last && last < last.next_grant());
    }
}
