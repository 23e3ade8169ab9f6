//! Ghost deltas: what changed on reals, for one host of their ghosts, in one tick.
//!
//! ```text
//! record = head u8 | [gap varint] | [movement] | [heading u8] | [properties]
//! head   = bits 0..=1  movement: 0 none, 1 short (one byte: two signed halves, x low), 2 long
//!                      (two zig-zag varints), 3 refused
//!          bit  2      heading follows     bit 3  properties follow
//!          bits 4..=7  ghost indices skipped since the record before; 15: 15 + gap varint
//! ```
//! A ghost is named by a dense index that the owner handed out for this (owner, host) direction,
//! and records ascend by it: among neighbours that all move, naming one costs no byte at all.
//! A walking entity moves at most 6 quanta in 50 ms, which the short form holds: 3 bytes a record.
//!
//! Nothing here carries a sequence: each record of a ghost advances its sequence by exactly one,
//! and the link below delivers every block once and in order.

mod reader;
mod writer;

pub use reader::{Delta, DeltaReader};
pub use writer::{DeltaFields, DeltaWriter};

const MOVE_MASK: u8 = 0b0011;
const MOVE_NONE: u8 = 0;
const MOVE_SHORT: u8 = 1;
const MOVE_LONG: u8 = 2;
const HEADING: u8 = 0b0100;
const PROPS: u8 = 0b1000;
const FIELDS: u8 = MOVE_MASK | HEADING | PROPS;

/// The fields of a ghost that walks: a short movement and a heading.
const WALK: u8 = MOVE_SHORT | HEADING;

const GAP_SHIFT: u32 = 4;

/// The value of the head's gap that says: the rest of it follows as a varint.
const GAP_LONG: u8 = 15;

/// Whether a movement fits two signed halves of a byte.
#[inline]
const fn is_short([dx, dy]: [i32; 2]) -> bool {
    dx >= -8 && dx <= 7 && dy >= -8 && dy <= 7
}
