//! The state of the ownership model: one entity, a few cellapps, its base, a network that may
//! deliver any message ever sent any number of times, and what the properties remember.

use super::params::{Budget, CELLS_MAX, Params};
use crate::lineage::Lineage;

/// The ownership epoch of the entity; 0 is before its birth.
pub type Epoch = u8;

/// Epochs that the history has room for.
pub const EPOCHS_MAX: usize = 16;

/// One life of one cellapp.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Index of the cellapp.
    pub cell: u8,
    /// Its incarnation (below 4).
    pub incarnation: u8,
}

impl Who {
    fn bit(self) -> u16 {
        1 << (self.cell * 4 + self.incarnation)
    }
}

/// A set of incarnations.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct WhoSet(u16);

impl WhoSet {
    /// Adds one.
    pub fn insert(&mut self, who: Who) {
        self.0 |= who.bit();
    }

    /// True if it is in the set.
    #[must_use]
    pub fn contains(self, who: Who) -> bool {
        self.0 & who.bit() != 0
    }
}

/// A handoff that a source has asked for. `number` counts the requests of one ownership, so that
/// a repeated request can be told from a new one.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    /// The target.
    pub to: Who,
    /// 1 for the first request under an epoch.
    pub number: u8,
}

/// The simulating copy of the entity on a cellapp.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Real {
    /// Epoch under which it was activated.
    pub epoch: Epoch,
    /// What was applied, durable or not.
    pub lineage: Lineage,
    /// Events that the base has acknowledged.
    pub acked: u8,
    /// Commands that the base has sent for it, as a set of bits.
    pub held: u8,
    /// Set while a handoff is asked for: nothing is applied.
    pub frozen: Option<Attempt>,
    /// Handoffs asked for under this epoch.
    pub attempts: u8,
    /// Events whose commands the dedup table does not know (always 0 unless the mutant makes the
    /// table stay behind).
    pub unknown_events: u8,
}

/// One cellapp.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Its current incarnation.
    pub incarnation: u8,
    /// The highest epoch of the entity that this incarnation has heard of as granted to itself
    /// or as fenced. A Grant at or below it is stale.
    pub top: Epoch,
    /// Its copy, if it holds one.
    pub real: Option<Real>,
    /// An Offload waiting for its Grant (epoch of the source, lineage). Only a mutant looks at it.
    pub parked: Option<(Epoch, Lineage)>,
}

/// The base of the entity. Everything is in its log except `open` and `sent`.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// The current ownership: epoch ...
    pub epoch: Epoch,
    /// ... and owner.
    pub owner: Who,
    /// The durable image.
    pub image: Lineage,
    /// The first step under `epoch` was accepted. Until then the Grant is repeated and its
    /// deadline runs.
    pub heard: bool,
    /// The source that still holds a frozen copy, and the epoch of that copy.
    pub previous: Option<(Who, Epoch)>,
    /// The highest handoff request under `epoch` that was refused.
    pub refused: u8,
    /// Commands that the base itself has answered with `expired`.
    pub expired: u8,
    /// Volatile: commands that wait for a durable step.
    pub open: u8,
    /// Volatile: those of them that an owner may have seen.
    pub sent: u8,
}

/// A message on the network. `from` and `to` are the incarnations it is bound to, `epoch` the
/// ownership that it speaks of. Each field is there because a rule needs it.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // The fields that recur are named above.
pub enum Msg {
    /// An owner's increment to the base (here always the whole lineage).
    Step { from: Who, epoch: Epoch, lineage: Lineage },
    /// An owner's last step, with the request to hand over.
    Prepare { from: Who, epoch: Epoch, lineage: Lineage, attempt: Attempt },
    /// The state for the target, ahead of the Grant; `epoch` is the source's.
    Offload { to: Who, epoch: Epoch, lineage: Lineage },
    /// Everything up to the `seq`th event is durable.
    Ack { to: Who, epoch: Epoch, seq: u8 },
    /// Ownership, with the image and, as a set of bits, every open command.
    Grant { to: Who, epoch: Epoch, image: Lineage, open: u8 },
    /// Every open command, for the current owner.
    Commands { to: Who, epoch: Epoch, open: u8 },
    /// `epoch` is over: drop the copy.
    Fenced { to: Who, epoch: Epoch },
    /// The new owner was heard: drop the frozen copy.
    Release { to: Who, epoch: Epoch },
    /// The handoff request of this number is refused: go on under the same epoch.
    Abort { to: Who, epoch: Epoch, number: u8 },
}

/// What the properties remember. No rule of the protocol reads it.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct History {
    /// What clients were told.
    pub confirmed: Lineage,
    /// Commands that a base told clients had expired, of its own.
    pub told_expired: u8,
    /// The first incarnation that activated each epoch.
    pub active: [Option<Who>; EPOCHS_MAX],
    /// The highest epoch ever granted.
    pub top: Epoch,
    /// Refused handoff requests, a bit for each (epoch, number) pair.
    pub refused: u64,
    /// An epoch was activated by two incarnations.
    pub two_owners: bool,
    /// A Grant did not have a higher epoch than every Grant before it.
    pub epoch_fell: bool,
    /// An effect of an incarnation that had been declared dead was confirmed.
    pub dead_confirmed: bool,
    /// A handoff was committed on a request that had been refused.
    pub refused_committed: bool,
}

/// The whole state.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster {
    /// Cellapps; those past `Params::cells` stay empty.
    pub cells: [Cell; CELLS_MAX],
    /// The base.
    pub base: Base,
    /// Tombstones: incarnations declared dead, rightly or not.
    pub dead: WhoSet,
    /// Commands that the session has sent.
    pub submitted: u8,
    /// Sorted, without doubles.
    pub net: Vec<Msg>,
    /// For the properties.
    pub history: History,
    /// Disturbances that have happened.
    pub used: Budget,
}

/// The bit of one refused request in [`History::refused`].
#[must_use]
pub fn refusal(epoch: Epoch, number: u8) -> u64 {
    1 << (epoch * 4 + number)
}

/// The bits of all requests under one epoch.
#[must_use]
pub fn refusals_of(epoch: Epoch) -> u64 {
    0xf << (epoch * 4)
}

impl Cluster {
    /// The beginning of a run: cellapp 0 owns the entity under epoch 1, or has been granted it.
    #[must_use]
    pub fn initial(params: &Params) -> Cluster {
        let owner = Who { cell: 0, incarnation: 0 };
        let open = (1 << params.commands) - 1;
        let mut state = Cluster {
            cells: [Cell::default(); CELLS_MAX],
            base: Base {
                epoch: 1,
                owner,
                image: Lineage::default(),
                heard: !params.born,
                previous: None,
                refused: 0,
                expired: 0,
                open,
                sent: open,
            },
            dead: WhoSet::default(),
            submitted: open,
            net: Vec::new(),
            history: History {
                confirmed: Lineage::default(),
                told_expired: 0,
                active: [None; EPOCHS_MAX],
                top: 1,
                refused: 0,
                two_owners: false,
                epoch_fell: false,
                dead_confirmed: false,
                refused_committed: false,
            },
            used: Budget::default(),
        };
        if params.born {
            state.send(Msg::Grant { to: owner, epoch: 1, image: Lineage::default(), open });
        } else {
            state.activate(owner, 1, Lineage::default(), open, 0);
        }
        state
    }

    /// The current incarnation of a cellapp.
    #[must_use]
    pub fn who(&self, cell: u8) -> Who {
        Who { cell, incarnation: self.cells[usize::from(cell)].incarnation }
    }

    /// True if `who` is the life that its cellapp is living now.
    #[must_use]
    pub fn is_current(&self, who: Who) -> bool {
        self.who(who.cell) == who
    }

    /// The cellapp of `who`, whichever life it is living.
    pub fn cell_mut(&mut self, who: Who) -> &mut Cell {
        &mut self.cells[usize::from(who.cell)]
    }

    /// Puts a message on the network, where it stays.
    pub fn send(&mut self, msg: Msg) {
        if let Err(at) = self.net.binary_search(&msg) {
            self.net.insert(at, msg);
        }
    }

    /// Makes the incarnation that the cellapp lives now an active owner.
    pub fn activate(&mut self, who: Who, epoch: Epoch, lineage: Lineage, held: u8, unknown: u8) {
        let who = self.who(who.cell);
        let acked = lineage.len();
        let cell = self.cell_mut(who);
        cell.top = epoch;
        cell.parked = None;
        cell.real = Some(Real {
            epoch,
            lineage,
            acked,
            held,
            frozen: None,
            attempts: 0,
            unknown_events: unknown,
        });
        let first = self.history.active[usize::from(epoch)].get_or_insert(who);
        self.history.two_owners |= *first != who;
    }
}
