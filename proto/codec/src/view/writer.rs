//! The sending side of a witness's view.

use super::arena::{EncodedUpdate, put_head, put_position, put_version};
use super::{FullView, OP_ENTER, OP_LEAVE, OP_RESET, PROPS, PropSlice, SPECULATIVE};
use crate::PushError;
use crate::block::{BlockBuffer, FORMAT_VIEW};
use crate::prop;
use crate::varint;
use bytes::Bytes;
use marchland_common::order::{EntityId, KindId, Tick};

/// Writes what one witness sees in one tick, in the order of the calls, into one reused buffer.
///
/// Every method leaves the block as it was when it fails.
#[derive(Clone, Debug)]
pub struct ViewWriter {
    block: BlockBuffer,
}

impl Default for ViewWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ViewWriter {
    /// A writer with an empty block of tick 0.
    #[must_use]
    pub fn new() -> Self {
        Self { block: BlockBuffer::new(FORMAT_VIEW) }
    }

    /// Drops what was written and begins the block of `tick`.
    pub fn begin(&mut self, tick: Tick) {
        self.block.begin(tick);
    }

    /// An entity comes into view, with all that the witness may see of it.
    ///
    /// # Errors
    /// The entity id is impossible, the slots do not ascend, a property is too long, or the block
    /// is full.
    pub fn enter(
        &mut self,
        entity: EntityId,
        kind: KindId,
        full: &FullView<PropSlice<'_>>,
    ) -> Result<(), PushError> {
        self.block.record(|out| {
            put_head(out, OP_ENTER | full_mask(full), entity)?;
            varint::put(out, u64::from(kind.0));
            put_full(out, full)
        })
    }

    /// An entity in view was restored from its record: what was shown beyond it is taken back.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn reset(
        &mut self,
        entity: EntityId,
        full: &FullView<PropSlice<'_>>,
    ) -> Result<(), PushError> {
        self.block.record(|out| {
            put_head(out, OP_RESET | full_mask(full), entity)?;
            put_full(out, full)
        })
    }

    /// An entity in view changed: copies the bytes that every witness of it shares.
    ///
    /// # Errors
    /// The block is full.
    #[inline]
    pub fn update(&mut self, update: EncodedUpdate<'_>) -> Result<(), PushError> {
        self.block.record(|out| {
            out.extend_from_slice(update.as_bytes());
            Ok(())
        })
    }

    /// An entity leaves the view.
    ///
    /// # Errors
    /// The entity id is impossible, or the block is full.
    pub fn leave(&mut self, entity: EntityId) -> Result<(), PushError> {
        self.block.record(|out| put_head(out, OP_LEAVE, entity))
    }

    /// Records in the block so far.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.block.count()
    }

    /// Bytes of the block so far, header included: what a witness's budget is compared with.
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

fn full_mask(full: &FullView<PropSlice<'_>>) -> u8 {
    let props = if full.props.is_empty() { 0 } else { PROPS };
    props | if full.speculative { SPECULATIVE } else { 0 }
}

fn put_full(out: &mut Vec<u8>, full: &FullView<PropSlice<'_>>) -> Result<(), PushError> {
    put_version(out, full.version);
    put_position(out, [full.pose.x(), full.pose.y()]);
    out.push(full.pose.heading());
    prop::put_list(out, full.props)
}
