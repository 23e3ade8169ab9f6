//! The sending side of ghost deltas.

use super::{GAP_LONG, GAP_SHIFT, HEADING, MOVE_LONG, MOVE_NONE, MOVE_SHORT, PROPS, is_short};
use crate::block::{BlockBuffer, FORMAT_DELTA};
use crate::prop::{self, Prop};
use crate::varint;
use crate::{PoseChange, PushError};
use bytes::Bytes;
use marchland_common::order::Tick;

/// What changed on one ghost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeltaFields<'a> {
    /// The change of position and heading since the delta before.
    pub pose: PoseChange,
    /// The changed properties, by strictly ascending slot, with their new values.
    pub props: &'a [Prop<'a>],
}

/// Writes the deltas of one (owner, host) direction, one block a tick, into one reused buffer.
///
/// Call [`begin`](Self::begin), then [`push`](Self::push) by ascending index, then one of the
/// `finish` calls.
#[derive(Clone, Debug)]
pub struct DeltaWriter {
    block: BlockBuffer,
    /// The smallest index that may come next; 64 bits because it passes the largest index.
    next: u64,
}

impl Default for DeltaWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl DeltaWriter {
    /// A writer with an empty block of tick 0.
    #[must_use]
    pub fn new() -> Self {
        Self { block: BlockBuffer::new(FORMAT_DELTA), next: 0 }
    }

    /// Drops what was written and begins the block of `tick`.
    pub fn begin(&mut self, tick: Tick) {
        self.block.begin(tick);
        self.next = 0;
    }

    /// Appends the delta of the ghost at `index`.
    ///
    /// # Errors
    /// The block stays unchanged, and may go on, if the index does not ascend, nothing changed,
    /// the slots do not ascend, a property is too long, or the block is full.
    #[inline]
    pub fn push(&mut self, index: u32, fields: &DeltaFields<'_>) -> Result<(), PushError> {
        let Some(gap) = u64::from(index).checked_sub(self.next) else {
            return Err(PushError::IndexOrder { index, last: (self.next - 1) as u32 });
        };
        self.block.record(|out| put_record(out, gap as u32, fields))?;
        self.next = u64::from(index) + 1;
        Ok(())
    }

    /// Records in the block so far.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.block.count()
    }

    /// Bytes of the block so far, header included.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.block.byte_len()
    }

    /// The finished block, in the writer's own buffer.
    #[must_use]
    pub fn finish(&mut self) -> &[u8] {
        self.block.finish()
    }

    /// The finished block as a value that can be queued: one copy and one allocation per block.
    #[must_use]
    pub fn finish_bytes(&mut self) -> Bytes {
        Bytes::copy_from_slice(self.block.finish())
    }
}

#[inline]
fn put_record(out: &mut Vec<u8>, gap: u32, fields: &DeltaFields<'_>) -> Result<(), PushError> {
    let PoseChange { moved, heading } = fields.pose;
    let movement = match moved {
        None => MOVE_NONE,
        Some(moved) if is_short(moved) => MOVE_SHORT,
        Some(_) => MOVE_LONG,
    };
    let mask = movement
        | if heading.is_some() { HEADING } else { 0 }
        | if fields.props.is_empty() { 0 } else { PROPS };
    if mask == 0 {
        return Err(PushError::Empty);
    }
    let gap_long = u32::from(GAP_LONG);
    out.push(mask | (gap.min(gap_long) << GAP_SHIFT) as u8);
    if gap >= gap_long {
        varint::put(out, u64::from(gap - gap_long));
    }
    if let Some([dx, dy]) = moved {
        if movement == MOVE_SHORT {
            out.push((dx & 0x0f) as u8 | ((dy & 0x0f) << 4) as u8);
        } else {
            varint::put(out, varint::zigzag(i64::from(dx)));
            varint::put(out, varint::zigzag(i64::from(dy)));
        }
    }
    if let Some(heading) = heading {
        out.push(heading);
    }
    if fields.props.is_empty() { Ok(()) } else { prop::put_list(out, fields.props) }
}
