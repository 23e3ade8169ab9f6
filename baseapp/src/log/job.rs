//! Writes a checkpoint in slices, so that groups of records go on between them.
//!
//! Order of steps, each of which may be the last before a crash: the image under an unfinished
//! name; its sync; its rename; the sync of the folder; only then older files are removed. At any
//! moment the newest whole checkpoint and the segments after it are there.

use super::image::ImageWriter;
use super::segment::{CheckpointMeta, FileName};
use super::storage::write_all_at;
use super::writer::Writer;
use marchland_common::journal::frame::FrameError;
use marchland_common::order::Lsn;
use std::io;

/// The entries of an image: copies, encoded one by one on the log thread.
pub type Entries = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// Bytes between two chances for a group of records. A slice is synced at once, so that the last
/// sync has little left to do and no group waits long behind it.
const SLICE: usize = 256 << 10;

/// A finished checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// It holds everything up to here.
    pub through: Lsn,
    /// Its size.
    pub bytes: u64,
    /// Older files removed.
    pub removed: u64,
}

/// A checkpoint that is being written.
pub struct CheckpointJob {
    through: Lsn,
    entries: Entries,
    image: Option<ImageWriter>,
    buffer: Vec<u8>,
    offset: u64,
}

impl CheckpointJob {
    /// An image of everything up to `through`, the newest queued record of `writer`.
    #[must_use]
    pub fn new(writer: &mut Writer, through: Lsn, entries: Entries) -> Self {
        writer.mark(through);
        Self { through, entries, image: None, buffer: Vec::new(), offset: 0 }
    }

    /// What the image holds.
    #[must_use]
    pub const fn through(&self) -> Lsn {
        self.through
    }

    /// Whether the records that the image holds are durable, so that writing may begin or go on.
    #[must_use]
    pub fn is_ready(&self, writer: &Writer) -> bool {
        self.image.is_some() || writer.marked_hash().is_some()
    }

    /// Writes the next slice, if [`is_ready`](Self::is_ready). The end once, when it is in place.
    ///
    /// # Errors
    /// Of the disk, or of an entry that is too large: give the job up with [`abort`](Self::abort).
    pub fn step(&mut self, writer: &mut Writer) -> io::Result<Option<Done>> {
        let file = FileName::Checkpoint(self.through);
        let unfinished = file.unfinished();
        if self.image.is_none() {
            self.begin(writer, &unfinished)?;
        }
        let Some(image) = &mut self.image else { return Ok(None) };
        let mut more = true;
        while more && self.buffer.len() < SLICE {
            match self.entries.next() {
                Some(entry) => image.entry(&entry, &mut self.buffer).map_err(too_large)?,
                None => more = false,
            }
        }
        if !more && let Some(image) = self.image.take() {
            image.end(&mut self.buffer);
        }
        write_all_at(&mut *writer.storage, &unfinished, self.offset, &self.buffer)?;
        writer.storage.sync(&unfinished)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        if more {
            return Ok(None);
        }
        writer.storage.rename(&unfinished, &file.name())?;
        writer.storage.sync_folder()?;
        writer.storage.close(&file.name());
        let removed = remove_older(writer, self.through);
        Ok(Some(Done { through: self.through, bytes: self.offset, removed }))
    }

    fn begin(&mut self, writer: &mut Writer, unfinished: &str) -> io::Result<()> {
        let Some(hash) = writer.marked_hash() else { return Ok(()) };
        let identity = writer.identity.clone();
        let meta = CheckpointMeta { identity, through: self.through, hash };
        writer.forget_mark();
        writer.storage.create(unfinished)?;
        self.image = Some(ImageWriter::new(&meta, &mut self.buffer));
        Ok(())
    }

    /// Gives the checkpoint up.
    pub fn abort(self, writer: &mut Writer) {
        writer.forget_mark();
        // What stays behind under an unfinished name is removed at the next start.
        let _ = writer.storage.remove(&FileName::Checkpoint(self.through).unfinished());
    }
}

fn too_large(error: FrameError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Removes what the checkpoint makes needless; what cannot be removed now is tried with the next
/// checkpoint, and does no harm until then.
fn remove_older(writer: &mut Writer, through: Lsn) -> u64 {
    let mut removed = 0;
    let needed_from = through.next();
    while let [(number, _), (_, first_after), ..] = writer.segments[..] {
        let name = FileName::Segment(number).name();
        if first_after > needed_from || writer.storage.remove(&name).is_err() {
            break;
        }
        writer.segments.remove(0);
        removed += 1;
    }
    for name in writer.storage.list().unwrap_or_default() {
        let older = matches!(FileName::parse(&name), Some(FileName::Checkpoint(t)) if t < through);
        removed += u64::from(older && writer.storage.remove(&name).is_ok());
    }
    removed
}
