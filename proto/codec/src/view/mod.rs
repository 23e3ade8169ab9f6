//! What a client sees: entities that enter, change, are taken back, and leave, for one witness in
//! one tick.
//!
//! ```text
//! record  = head u8 | entity varint | by operation:
//!   leave   nothing            enter   kind varint, full             reset   full
//!   update  [version] [position] [heading] [properties]
//! full    = version | position | heading | [properties]
//! version = epoch varint (rotated right by 16: the grant in front) | sequence varint
//! head    = bits 0..=1 operation: 0 leave, 1 enter, 2 update, 3 reset
//!           bit 2 position  3 heading  4 properties  5 version (2, 3, 5: in updates only)
//!           bit 6 speculative       bit 7 refused
//! ```
//! Everything is absolute: witnesses come, go, and skip updates of far entities, and still share
//! the same bytes of an update. *Speculative* marks values that a base has not confirmed yet; only
//! a reset, which carries a higher epoch, takes them back.

mod arena;
mod reader;
mod writer;

pub use arena::{EncodedUpdate, UpdateArena, UpdateRef, encode_update};
pub use reader::{ViewOp, ViewReader};
pub use writer::ViewWriter;

use crate::Pose;
use crate::prop::{Prop, Props};
use marchland_common::order::{Epoch, Seq};

const OP_MASK: u8 = 0b0000_0011;
const OP_LEAVE: u8 = 0;
const OP_ENTER: u8 = 1;
const OP_UPDATE: u8 = 2;
const OP_RESET: u8 = 3;
const POSITION: u8 = 0b0000_0100;
const HEADING: u8 = 0b0000_1000;
const PROPS: u8 = 0b0001_0000;
const VERSION: u8 = 0b0010_0000;
const SPECULATIVE: u8 = 0b0100_0000;

/// Entity ids are below this, so that JSON and script numbers hold them exactly.
const ENTITY_END: u64 = 1 << 53;

/// Whether a number is an id that some base can have handed out: their counters begin at 1.
const fn is_entity(id: u64) -> bool {
    id >> 8 != 0 && id < ENTITY_END
}

/// The grant is in the high bits of an epoch; rotated, an epoch without delegation is short.
const EPOCH_ROTATION: u32 = 16;

/// Which state of an entity is shown: its owner epoch and its position in that epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The owner epoch.
    pub epoch: Epoch,
    /// The sequence within the entity's lineage.
    pub seq: Seq,
}

/// All that a witness may see of an entity. `P` is a slice to write, or [`Props`] as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullView<P> {
    /// Which state this is.
    pub version: Version,
    /// Where the entity stands.
    pub pose: Pose,
    /// Whether a base has yet to confirm the durable properties.
    pub speculative: bool,
    /// Every visible property by strictly ascending slot.
    pub props: P,
}

impl<P> FullView<P> {
    /// The same view with its properties in another form.
    #[must_use]
    pub fn with_props<Q>(self, props: Q) -> FullView<Q> {
        let Self { version, pose, speculative, .. } = self;
        FullView { version, pose, speculative, props }
    }
}

/// What changed of an entity for everybody who sees it. `P` is a slice to write, or [`Props`] as
/// read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewFields<P> {
    /// Which state this is; needed when the epoch changed, otherwise as often as the sender likes.
    pub version: Option<Version>,
    /// The new position in quanta.
    pub position: Option<[i32; 2]>,
    /// The new heading in 256 steps a turn.
    pub heading: Option<u8>,
    /// Whether a base has yet to confirm the durable properties in `props`.
    pub speculative: bool,
    /// The changed properties by strictly ascending slot.
    pub props: P,
}

impl<P> ViewFields<P> {
    /// The same fields with their properties in another form.
    #[must_use]
    pub fn with_props<Q>(self, props: Q) -> ViewFields<Q> {
        let Self { version, position, heading, speculative, .. } = self;
        ViewFields { version, position, heading, speculative, props }
    }
}

/// The properties of a record to write.
type PropSlice<'a> = &'a [Prop<'a>];

/// The fields of a record as read.
type FieldsRead<'a> = ViewFields<Props<'a>>;
