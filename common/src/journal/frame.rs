//! Records in a file of bytes, such that a reader finds every whole record after any cut, and
//! says whether what stopped it is a torn end or damage in the middle.
//!
//! ```text
//! segment: magic 8 | version u16 | 0 u16 | meta length u32 | crc32 u32 | meta | records...
//! record:  length u32 | crc32 u32 | payload                     all numbers little-endian
//! ```
//!
//! Invariants:
//! - A record's checksum covers its length and payload, and starts from its segment's checksum
//!   (the *salt*): bytes of another segment, or a segment nested in a payload, are no records.
//! - No payload is empty, so a run of zeros (space that was never written) is no record.
//! - Lengths over the limit are refused before anything is read or allocated.
//! - No bytes, however damaged, make a reader panic, loop, or hash without bound.

use std::ops::RangeInclusive;

/// Bytes before the payload of a record.
pub const RECORD_HEAD: usize = 8;
/// Bytes before the meta of a segment.
pub const SEGMENT_HEAD: usize = 20;
/// Largest meta of a segment.
pub const META_BYTES_MAX: usize = 1 << 20;
/// What a search for the next record may hash, apart from eight times what it searches: a tenth
/// of a second. Only payloads full of small numbers, which all look like lengths, come near it.
const SEARCH_BYTES: u64 = 256 << 20;

/// A kind of segment: what its first bytes are, and which versions can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The first eight bytes.
    pub magic: [u8; 8],
    /// The versions that this build reads. It writes the newest.
    pub versions: RangeInclusive<u16>,
}

/// What ties records to their segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(u32);

/// The checked beginning of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHeader<'a> {
    /// The version it was written with.
    pub version: u16,
    /// What the writer said about the segment.
    pub meta: &'a [u8],
    /// For reading its records.
    pub salt: Salt,
    /// Bytes of the whole header: the first record begins here.
    pub len: usize,
}

/// Why bytes are not the beginning of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The header is not whole.
    #[error("the header is cut off")]
    Truncated,
    /// Not this kind of segment.
    #[error("the first bytes are not those of this kind of file")]
    WrongMagic,
    /// Written by a build that this one cannot read.
    #[error("version {found} is not one of {oldest} to {newest}: use the build that wrote it")]
    UnknownVersion {
        /// What it says.
        found: u16,
        /// Oldest that can be read.
        oldest: u16,
        /// Newest that can be read.
        newest: u16,
    },
    /// The header is damaged.
    #[error("the header is damaged")]
    Damaged,
}

/// Why a payload cannot be a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Empty payloads look like space that was never written.
    #[error("a record cannot be empty")]
    Empty,
    /// Over the limit.
    #[error("a record of {len} bytes is over the limit of {limit}")]
    TooLarge {
        /// Its size.
        len: usize,
        /// The limit.
        limit: usize,
    },
}

/// Appends the beginning of a segment. Panics if `meta` is over [`META_BYTES_MAX`], which is the
/// writer's own doing.
pub fn write_header(format: &Format, meta: &[u8], out: &mut Vec<u8>) -> Salt {
    assert!(meta.len() <= META_BYTES_MAX, "the meta of a segment is over its limit");
    let start = out.len();
    out.extend_from_slice(&format.magic);
    out.extend_from_slice(&format.versions.end().to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    let salt = header_salt(&out[start..], meta);
    out.extend_from_slice(&salt.0.to_le_bytes());
    out.extend_from_slice(meta);
    salt
}

/// Reads the beginning of a segment.
///
/// # Errors
/// It is cut off, damaged, of another kind or of an unknown version.
pub fn read_header<'a>(format: &Format, bytes: &'a [u8]) -> Result<SegmentHeader<'a>, HeaderError> {
    let known = bytes.len().min(format.magic.len());
    if bytes[..known] != format.magic[..known] {
        return Err(HeaderError::WrongMagic);
    }
    let (head, rest) = bytes.split_at_checked(SEGMENT_HEAD).ok_or(HeaderError::Truncated)?;
    let version = u16::from_le_bytes([head[8], head[9]]);
    let meta_len = read_u32(head, 12) as usize;
    if meta_len > META_BYTES_MAX {
        return Err(HeaderError::Damaged);
    }
    let meta = rest.get(..meta_len).ok_or(HeaderError::Truncated)?;
    let salt = header_salt(&head[..16], meta);
    if salt.0 != read_u32(head, 16) {
        return Err(HeaderError::Damaged);
    }
    if !format.versions.contains(&version) {
        let (oldest, newest) = (*format.versions.start(), *format.versions.end());
        return Err(HeaderError::UnknownVersion { found: version, oldest, newest });
    }
    Ok(SegmentHeader { version, meta, salt, len: SEGMENT_HEAD + meta_len })
}

/// The salts that records behind a damaged header may have: the one it states, and the one that
/// its content gives. One flipped bit leaves one of them right.
#[must_use]
pub fn possible_salts(bytes: &[u8]) -> Vec<Salt> {
    let Some((head, rest)) = bytes.split_at_checked(SEGMENT_HEAD) else { return Vec::new() };
    let meta = rest.get(..read_u32(head, 12) as usize);
    let given = meta.map(|meta| header_salt(&head[..16], meta));
    std::iter::once(Salt(read_u32(head, 16))).chain(given).collect()
}

fn header_salt(head: &[u8], meta: &[u8]) -> Salt {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(meta);
    Salt(hasher.finalize())
}

fn record_crc(salt: Salt, len: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt.0);
    hasher.update(&len.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

/// Writes records of one segment into a buffer.
#[derive(Clone, Copy, Debug)]
pub struct FrameWriter {
    salt: Salt,
    limit: usize,
}

impl FrameWriter {
    /// For the segment with this salt; `limit` is the largest payload in bytes, at most 2^32 - 1.
    #[must_use]
    pub fn new(salt: Salt, limit: usize) -> Self {
        Self { salt, limit: limit.min(u32::MAX as usize) }
    }

    /// Appends one record.
    ///
    /// # Errors
    /// The payload is empty or over the limit; nothing was appended.
    pub fn write(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.write_with(out, |out| out.extend_from_slice(payload))
    }

    /// Appends one record whose payload `fill` appends, without a copy.
    ///
    /// # Errors
    /// The payload is empty or over the limit; nothing was appended.
    pub fn write_with(
        &self,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), FrameError> {
        let start = out.len();
        out.extend_from_slice(&[0; RECORD_HEAD]);
        fill(out);
        let len = out.len().saturating_sub(start + RECORD_HEAD);
        if len == 0 || len > self.limit {
            out.truncate(start);
            let too_large = FrameError::TooLarge { len, limit: self.limit };
            return Err(if len == 0 { FrameError::Empty } else { too_large });
        }
        let crc = record_crc(self.salt, len as u32, &out[start + RECORD_HEAD..]);
        out[start..start + 4].copy_from_slice(&(len as u32).to_le_bytes());
        out[start + 4..start + RECORD_HEAD].copy_from_slice(&crc.to_le_bytes());
        Ok(())
    }
}

/// A whole record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where its head begins in the bytes read.
    pub offset: usize,
    /// Its payload.
    pub payload: &'a [u8],
}

/// What the bytes after the last whole record are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// The beginning of a record, or space that was never written: the writer stopped here.
    Torn {
        /// Where it begins.
        offset: usize,
    },
    /// A broken record that was not the last.
    Corrupt {
        /// Where it begins.
        offset: usize,
    },
}

/// What a search for a later record found.
#[derive(Clone, Debug)]
pub enum Search<'a> {
    /// The next whole record begins where this reader stands.
    Found(FrameReader<'a>),
    /// There is none.
    Nothing,
    /// Too much looked like a record to try everything.
    GaveUp,
}

/// Reads the records of one segment, in order, until the first that is not whole.
#[derive(Clone, Debug)]
pub struct FrameReader<'a> {
    bytes: &'a [u8],
    at: usize,
    salt: Salt,
    limit: usize,
}

impl<'a> FrameReader<'a> {
    /// Reads `bytes` from `start`, where the first record begins; `limit` is the largest payload.
    #[must_use]
    pub fn new(bytes: &'a [u8], start: usize, salt: Salt, limit: usize) -> Self {
        Self { bytes, at: start.min(bytes.len()), salt, limit }
    }

    /// Where the next record begins: after the last whole one.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Whether the record that begins here would end behind the last byte.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        let rest = &self.bytes[self.at..];
        rest.len() < RECORD_HEAD || read_u32(rest, 0) as usize > rest.len() - RECORD_HEAD
    }

    /// Judges what follows the last whole record. Call it after the iterator ended.
    #[must_use]
    pub fn tail(&self) -> Tail {
        let offset = self.at;
        if offset == self.bytes.len() {
            return Tail::Clean;
        }
        let written = |from: usize| self.bytes[from..].iter().any(|b| *b != 0);
        if !written(offset) {
            return Tail::Torn { offset };
        }
        match self.claim(offset) {
            Some(end) if end < self.bytes.len() && written(end) => Tail::Corrupt { offset },
            _ if matches!(self.search(|_| true), Search::Found(_)) => Tail::Corrupt { offset },
            _ => Tail::Torn { offset },
        }
    }

    /// Looks for the next whole record behind the broken one. `accept` sees what would be its
    /// payload, before its checksum is computed: a cheap test there makes the search exact.
    #[must_use]
    pub fn search(&self, accept: impl Fn(&[u8]) -> bool) -> Search<'a> {
        let rest = (self.bytes.len() - self.at) as u64;
        let mut budget = SEARCH_BYTES + 8 * rest;
        for offset in self.at + 1..self.bytes.len() {
            let Some(end) = self.claim(offset) else { continue };
            let payload = &self.bytes[offset + RECORD_HEAD..end];
            if !accept(payload) {
                continue;
            }
            let Some(left) = budget.checked_sub(payload.len() as u64) else {
                return Search::GaveUp;
            };
            budget = left;
            if self.is_whole(offset, payload) {
                return Search::Found(Self { at: offset, ..self.clone() });
            }
        }
        Search::Nothing
    }

    /// Where the record at `offset` says that it ends, if it can be one.
    fn claim(&self, offset: usize) -> Option<usize> {
        let head = self.bytes.get(offset..offset.checked_add(RECORD_HEAD)?)?;
        let len = read_u32(head, 0) as usize;
        let end = (offset + RECORD_HEAD).checked_add(len)?;
        (len > 0 && len <= self.limit && end <= self.bytes.len()).then_some(end)
    }

    fn is_whole(&self, offset: usize, payload: &[u8]) -> bool {
        let crc = record_crc(self.salt, payload.len() as u32, payload);
        crc == read_u32(self.bytes, offset + 4)
    }
}

impl<'a> Iterator for FrameReader<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let offset = self.at;
        let end = self.claim(offset)?;
        let payload = &self.bytes[offset + RECORD_HEAD..end];
        if !self.is_whole(offset, payload) {
            return None;
        }
        self.at = end;
        Some(Record { offset, payload })
    }
}

#[cfg(test)]
mod tests;
