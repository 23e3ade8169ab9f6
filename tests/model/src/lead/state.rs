//! The state of the leading model: what is in the store, what its clients believe, and the
//! transactions that are on their way.

use std::collections::BTreeSet;

/// A life of the cellapp; 1 is the first.
pub type LifeNumber = u8;

/// A revision of the store.
pub type Revision = u8;

/// The key of a leader, if there is one.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaderKey {
    /// Which manager.
    pub manager: u8,
    /// The revision that created it: the leader's term.
    pub term: Revision,
}

/// The layout: here only who owns the one cell.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// The owner; 0 is nobody.
    pub owner: LifeNumber,
    /// How often it was written; stands for its revision.
    pub version: u8,
    /// The term of the manager that wrote it.
    pub term: Revision,
}

/// A transaction on its way. `term` is the one under which its sender believed to lead.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Txn {
    /// A layout that was made from the one of this version.
    Layout {
        /// Who sent it, and under which term.
        by: LeaderKey,
        /// The version that it replaces.
        from: u8,
        /// The owner that it names.
        owner: LifeNumber,
        /// Its sender has been told that it leads (the mutant that asks first).
        asked: bool,
    },
    /// A tombstone.
    Stone {
        /// Who sent it, and under which term.
        by: LeaderKey,
        /// The life that it ends.
        life: LifeNumber,
        /// Its sender has been told that this may be written (the mutants that ask first).
        asked: bool,
    },
    /// A registration.
    Register {
        /// The life.
        life: LifeNumber,
        /// Its sender has been told that there is no tombstone (likewise).
        asked: bool,
    },
}

/// A manager.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    /// The term under which it believes to lead.
    pub leads: Option<Revision>,
}

/// How often each disturbance may happen, or has happened.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Budget {
    /// Leader leases that end although their holder is well.
    pub leases: u8,
    /// Registrations that end although their process is well.
    pub lapses: u8,
    /// False verdicts.
    pub verdicts: u8,
    /// Crashes of the cellapp.
    pub crashes: u8,
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Store {
    /// The leader's key.
    pub leader: Option<LeaderKey>,
    /// The newest revision that created a leader's key.
    pub revision: Revision,
    /// The layout.
    pub layout: Layout,
    /// The life that is registered.
    pub member: Option<LifeNumber>,
    /// Lives with a tombstone, as bits.
    pub dead: u8,
    /// The managers.
    pub managers: [Manager; 2],
    /// The life that the cellapp lives.
    pub life: LifeNumber,
    /// On their way.
    pub net: BTreeSet<Txn>,
    /// Disturbances so far.
    pub used: Budget,
    /// For the properties: a manager's write was applied under another leader's key, or none.
    pub not_by_leader: bool,
    /// For the properties: a layout of a lower term replaced one of a higher.
    pub term_fell: bool,
    /// For the properties: a layout replaced one that it was not made from.
    pub overwrote: bool,
    /// For the properties: lives that ever had a tombstone.
    pub ever_dead: u8,
    /// For the properties: a write of a deposed leader was refused.
    pub refused_old_leader: bool,
    /// For the properties: a registration was refused because of a tombstone.
    pub refused_dead: bool,
}
