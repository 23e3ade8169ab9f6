//! What both kinds of block share: the header, the limits, and a buffer that grows once.
//!
//! ```text
//! block = format u8 | count u32 (little-endian) | tick varint | count records
//! ```

use crate::varint;
use crate::{CodecError, PushError};
use marchland_common::order::Tick;

/// Most records in one block: more than the ghosts that one cell pair can move in a tick.
pub const RECORDS_MAX: u32 = 1 << 16;

/// Longest block in bytes, header included: a bundle of several stays well under 4 MiB.
pub const BLOCK_BYTES_MAX: usize = 1 << 20;

/// Longest header in bytes.
pub const HEADER_BYTES_MAX: usize = COUNT_END + 10;

/// The format byte of ghost deltas: the high half is the kind, the low half its revision.
pub(crate) const FORMAT_DELTA: u8 = 0x11;

/// The format byte of client views.
pub(crate) const FORMAT_VIEW: u8 = 0x21;

const COUNT_START: usize = 1;
const COUNT_END: usize = 5;

/// A block being written. The buffer is kept from block to block.
#[derive(Clone, Debug)]
pub(crate) struct BlockBuffer {
    bytes: Vec<u8>,
    count: u32,
    format: u8,
}

impl BlockBuffer {
    pub(crate) fn new(format: u8) -> Self {
        let mut block = Self { bytes: Vec::new(), count: 0, format };
        block.begin(Tick(0));
        block
    }

    pub(crate) fn begin(&mut self, tick: Tick) {
        self.bytes.clear();
        self.bytes.push(self.format);
        self.bytes.extend_from_slice(&[0; COUNT_END - COUNT_START]);
        varint::put(&mut self.bytes, tick.0);
        self.count = 0;
    }

    /// Appends one record by `write`; whatever fails, the block is as it was before.
    #[inline]
    pub(crate) fn record(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), PushError>,
    ) -> Result<(), PushError> {
        if self.count == RECORDS_MAX {
            return Err(PushError::Full);
        }
        let start = self.bytes.len();
        let result = write(&mut self.bytes).and_then(|()| self.check_length(start));
        match result {
            Ok(()) => self.count += 1,
            Err(_) => self.bytes.truncate(start),
        }
        result
    }

    #[inline]
    fn check_length(&self, start: usize) -> Result<(), PushError> {
        match (self.bytes.len() <= BLOCK_BYTES_MAX, self.count) {
            (true, _) => Ok(()),
            (false, 0) => Err(PushError::TooLong(self.bytes.len() - start)),
            (false, _) => Err(PushError::Full),
        }
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes the count into the header and shows the block.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.bytes[COUNT_START..COUNT_END].copy_from_slice(&self.count.to_le_bytes());
        &self.bytes
    }
}

/// A block being read: the bytes that are left and the records that are due.
#[derive(Clone, Debug)]
pub(crate) struct BlockCursor<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) due: u32,
    pub(crate) tick: Tick,
}

impl<'a> BlockCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], format: u8) -> Result<Self, CodecError> {
        if bytes.len() > BLOCK_BYTES_MAX {
            return Err(CodecError::TooLong(bytes.len()));
        }
        let mut rest = bytes;
        let found = varint::take_byte(&mut rest)?;
        if found != format {
            return Err(CodecError::Format(found));
        }
        let (count, mut rest) = rest.split_first_chunk().ok_or(CodecError::Truncated)?;
        let due = u32::from_le_bytes(*count);
        if due > RECORDS_MAX {
            return Err(CodecError::TooMany(due));
        }
        let tick = Tick(varint::take(&mut rest)?);
        Ok(Self { rest, due, tick })
    }

    /// Reads the next due record by `read`. The first error is the last item; bytes behind the
    /// last record are such an error.
    #[inline]
    pub(crate) fn next_record<T>(
        &mut self,
        read: impl FnOnce(&mut &'a [u8]) -> Result<T, CodecError>,
    ) -> Option<Result<T, CodecError>> {
        if self.due == 0 {
            return self.end();
        }
        // A local cursor, because one behind `self` would be stored after every byte.
        let mut rest = self.rest;
        let record = read(&mut rest);
        if record.is_ok() {
            (self.rest, self.due) = (rest, self.due - 1);
        } else {
            self.close();
        }
        Some(record)
    }

    fn end<T>(&mut self) -> Option<Result<T, CodecError>> {
        let trailing = self.rest.len();
        self.close();
        (trailing > 0).then_some(Err(CodecError::Trailing(trailing)))
    }

    fn close(&mut self) {
        self.rest = &[];
        self.due = 0;
    }
}
