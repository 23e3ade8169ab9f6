//! The files of a journal, and the bound on what they take.

use marchland_common::journal::{journal_file_name, parse_journal_file_name};
use marchland_common::order::{Incarnation, Node};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// One open segment.
pub trait SegmentFile: Send + 'static {
    /// Writes some of the bytes; says how many. Like [`Write::write`].
    ///
    /// # Errors
    /// Nothing was written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// Where segments go.
pub trait Storage: Send + 'static {
    /// An open segment.
    type Segment: SegmentFile;

    /// Makes a new segment.
    ///
    /// # Errors
    /// It cannot be made, or is there already.
    fn create(&mut self, segment: u32) -> io::Result<Self::Segment>;

    /// Removes the oldest segments until what is left fits the bound; the segment in use stays.
    /// Says how many went.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be removed.
    fn trim(&mut self, in_use: u32) -> io::Result<u64>;
}

/// Segments in a folder.
#[derive(Clone, Debug)]
pub struct Files {
    dir: PathBuf,
    node: Node,
    total_bytes: u64,
}

impl Files {
    /// The segments of `node` in `dir`, `total_bytes` together with those of its earlier lives.
    #[must_use]
    pub const fn new(dir: PathBuf, node: Node, total_bytes: u64) -> Self {
        Self { dir, node, total_bytes }
    }

    /// Segments of this process, of all its lives, oldest first, with their sizes.
    fn list(&self) -> io::Result<Vec<((Incarnation, u32), u64)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some((node, segment)) = name.to_str().and_then(parse_journal_file_name) else {
                continue;
            };
            if node.name == self.node.name {
                found.push(((node.incarnation, segment), entry.metadata()?.len()));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn path(&self, incarnation: Incarnation, segment: u32) -> PathBuf {
        self.dir.join(journal_file_name(Node { incarnation, ..self.node }, segment))
    }
}

impl SegmentFile for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }
}

impl Storage for Files {
    type Segment = File;

    fn create(&mut self, segment: u32) -> io::Result<File> {
        let path = self.path(self.node.incarnation, segment);
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    fn trim(&mut self, in_use: u32) -> io::Result<u64> {
        let segments = self.list()?;
        let mut bytes: u64 = segments.iter().map(|(_, len)| len).sum();
        let mut gone = 0;
        for ((incarnation, segment), len) in segments {
            let is_open = incarnation == self.node.incarnation && segment == in_use;
            if bytes <= self.total_bytes || is_open {
                break;
            }
            fs::remove_file(self.path(incarnation, segment))?;
            bytes -= len;
            gone += 1;
        }
        Ok(gone)
    }
}
