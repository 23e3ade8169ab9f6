//! Everything about a slot, as it goes to another base: by its keeper, or out of a log.

use super::Store;
use bytes::Bytes;
use marchland_common::digest::digest_bytes;
use marchland_common::msg::SlotChunk;
use marchland_common::order::{SlotId, Term};

/// The largest piece of a slot, in bytes.
pub const CHUNK_BYTES: usize = 48 << 10;
/// Most pieces of a slot: 96 MiB.
pub const CHUNKS_MAX: u32 = 2_048;

/// A slot that does not change any more, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    bytes: Bytes,
    /// The digest over all of them.
    pub digest: u64,
}

/// Why a log has nothing of a slot with which another base could go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoImage {
    /// It does not keep the slot.
    #[error("the log does not hold it")]
    NotKept,
    /// It knows a later term than the one that was asked for.
    #[error("the log holds it under term {0}, which is a later one")]
    LaterTerm(Term),
    /// It has more pieces than a slot may have.
    #[error("it is larger than 96 MiB")]
    TooLarge,
}

impl Image {
    /// An image of these bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: digest_bytes(&bytes), bytes: bytes.into() }
    }

    /// How many pieces it has.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.bytes.len().div_ceil(CHUNK_BYTES)).unwrap_or(u32::MAX)
    }

    /// One piece, as it is sent.
    #[must_use]
    pub fn piece(&self, slot: SlotId, term: Term, index: u32) -> SlotChunk {
        let from = (index as usize * CHUNK_BYTES).min(self.bytes.len());
        let body = self.bytes.slice(from..self.bytes.len().min(from + CHUNK_BYTES));
        SlotChunk { slot, term, index, count: self.count(), digest: self.digest, body }
    }
}

impl Store {
    /// What whoever takes the slot over goes on with while its key names this log's base under a
    /// term: the same as that base itself would if it came back. A term later than the log's own was
    /// written for that base and never read by it; a slot that came whole and was not taken is its
    /// own by now.
    ///
    /// # Errors
    /// [`NoImage`].
    pub fn image_to_take_over(&self, slot: SlotId, term: Term) -> Result<Image, NoImage> {
        let bytes = match (self.slots.get(&slot), self.imports.get(&slot)) {
            (Some(row), _) if row.term > term => return Err(NoImage::LaterTerm(row.term)),
            (Some(_), _) => self.slot_image(slot),
            (None, Some(import)) if import.is_whole() && import.term < term => {
                import.chunks.concat()
            }
            (None, _) => return Err(NoImage::NotKept),
        };
        let image = Image::new(bytes);
        if image.count() > CHUNKS_MAX { Err(NoImage::TooLarge) } else { Ok(image) }
    }
}
