//! The one link message per peer and output moment.

use super::{BaseToBase, BaseToCell, CellToBase, CellToCell};
use crate::order::{Node, Tick};
use serde::{Deserialize, Serialize};

/// When in a tick a bundle left. A cell has one moment a tick, a base up to four.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Moment {
    /// The end of a tick.
    #[default]
    Flush,
    /// The log reported that something became durable; 1 to 3 within its tick.
    Release(u8),
}

impl Moment {
    /// Most Release moments of a base in one tick.
    pub const RELEASES_MAX: u8 = 3;
}

/// Everything that one process says to another at one output moment, in one order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bundle {
    /// Contiguous from 1 per (source life, destination life): the audit's name of the bundle.
    pub n: u64,
    /// The sender's tick.
    pub src_tick: Tick,
    /// Where in that tick.
    pub moment: Moment,
    /// The sender's offset to its own tick boundary in microseconds when it flushed, for
    /// alignment by peers. Set by the shell; 0 inside a core.
    pub phase_us: i32,
    /// What the receiver may conclude from the header alone.
    pub header: Header,
    /// The messages, in order.
    pub msgs: Vec<Msg>,
}

/// What every bundle of a direction carries, even an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Header {
    /// From a cellapp to a base.
    CellToBase {
        /// In how many ticks the cellapp stepped the entities of this base so far. An image that
        /// is older than the newest bundle is brought up to date in entity time by it.
        steps: u64,
        /// Whether it takes new entities: not draining, below its limit.
        accepting: bool,
        /// The schema version that it understands.
        schema: u32,
    },
    /// From a base to a cellapp.
    BaseToCell {
        /// The newest tick of the cellapp whose whole content is durable here; none before the
        /// first, and never advancing after the base fenced that life.
        durable_tick: Option<Tick>,
    },
    /// Between processes of one kind.
    Peer,
}

/// One message, by direction: a process cannot even decode what is not meant for its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Msg {
    /// From the owner of an entity to its base.
    CellToBase(CellToBase),
    /// From a base to an owner.
    BaseToCell(BaseToCell),
    /// Between cellapps.
    CellToCell(CellToCell),
    /// Between baseapps.
    BaseToBase(BaseToBase),
}

/// A bundle as it came in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Who sent it: the life, not the address.
    pub from: Node,
    /// What it says.
    pub bundle: Bundle,
}

/// A bundle to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    /// To whom.
    pub to: Node,
    /// What.
    pub bundle: Bundle,
}

/// The schema version that this build understands.
pub const SCHEMA: u32 = 1;
