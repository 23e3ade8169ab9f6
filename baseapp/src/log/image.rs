//! The bytes of a checkpoint: entries, then an end that says how many. Pure.
//!
//! A checkpoint is taken whole or not at all: without its end, or with one bit changed, it is
//! none.

use super::segment::{CheckpointMeta, checkpoint_format, read_meta, write_meta};
use marchland_common::journal::frame::{FrameError, FrameReader, FrameWriter, HeaderError, Tail};
use marchland_common::order::Lsn;
use xxhash_rust::xxh3::Xxh3;

/// Largest entry in bytes: an entity's state is at most 64 KiB, so this is far from any real one.
pub const ENTRY_BYTES_MAX: usize = 16 << 20;

const ENTRY: u8 = 0;
const END: u8 = 1;

/// Writes a checkpoint piece by piece.
pub struct ImageWriter {
    frames: FrameWriter,
    digest: Xxh3,
    entries: u64,
}

impl ImageWriter {
    /// Begins a checkpoint: appends its header.
    #[must_use]
    pub fn new(meta: &CheckpointMeta, out: &mut Vec<u8>) -> Self {
        let salt = write_meta(&checkpoint_format(), meta, out);
        let frames = FrameWriter::new(salt, ENTRY_BYTES_MAX + 1);
        Self { frames, digest: Xxh3::new(), entries: 0 }
    }

    /// Appends one entry.
    ///
    /// # Errors
    /// It is over [`ENTRY_BYTES_MAX`].
    pub fn entry(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.frames.write_with(out, |out| {
            out.push(ENTRY);
            out.extend_from_slice(payload);
        })?;
        self.digest.update(&(payload.len() as u64).to_le_bytes());
        self.digest.update(payload);
        self.entries += 1;
        Ok(())
    }

    /// Appends the end.
    pub fn end(self, out: &mut Vec<u8>) {
        let mut end = vec![END];
        end.extend_from_slice(&self.entries.to_le_bytes());
        end.extend_from_slice(&self.digest.digest().to_le_bytes());
        self.frames.write(&end, out).expect("seventeen bytes are a record");
    }
}

/// Why a file is not a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Its header does not read.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// An entry is damaged.
    #[error("it is damaged at byte {offset}")]
    Damaged {
        /// Where.
        offset: u64,
    },
    /// Its name is that of another checkpoint.
    #[error("it holds everything up to record {through}, and is named otherwise")]
    Misnamed {
        /// What it holds.
        through: Lsn,
    },
    /// It has no end, or the end does not fit what is before it.
    #[error("it has no end that fits its entries")]
    NoEnd,
}

/// Reads a whole checkpoint, which must be that of `through`.
///
/// # Errors
/// It is not whole.
pub fn read_image(
    bytes: &[u8],
    through: Lsn,
) -> Result<(CheckpointMeta, Vec<Vec<u8>>), ImageError> {
    let (meta, header) = read_meta::<CheckpointMeta>(&checkpoint_format(), bytes)?;
    if meta.through != through {
        return Err(ImageError::Misnamed { through: meta.through });
    }
    let mut reader = FrameReader::new(bytes, header.len, header.salt, ENTRY_BYTES_MAX + 1);
    let (mut entries, mut digest, mut end) = (Vec::new(), Xxh3::new(), None);
    for record in reader.by_ref() {
        match (record.payload.split_first(), end) {
            (Some((&ENTRY, payload)), None) => {
                digest.update(&(payload.len() as u64).to_le_bytes());
                digest.update(payload);
                entries.push(payload.to_vec());
            }
            (Some((&END, stated)), None) => end = Some(stated),
            _ => return Err(ImageError::Damaged { offset: record.offset as u64 }),
        }
    }
    if reader.tail() != Tail::Clean {
        return Err(ImageError::Damaged { offset: reader.position() as u64 });
    }
    let mut expected = (entries.len() as u64).to_le_bytes().to_vec();
    expected.extend_from_slice(&digest.digest().to_le_bytes());
    if end != Some(&expected[..]) {
        return Err(ImageError::NoEnd);
    }
    Ok((meta, entries))
}
