//! Journals while they are written: each time what was added since the last time.
//!
//! Invariant: the records of one life come in their order and each once. A file in which something is
//! broken is told of once and read no further; what is cut off at its end is waited for.

use super::load::{LoadError, files};
use marchland_common::journal::frame::{
    FrameReader, HeaderError, RECORD_HEAD, Salt, Tail, read_header,
};
use marchland_common::journal::{
    JOURNAL_FORMAT, JOURNAL_RECORD_MAX, Record, decode_record, parse_journal_file_name,
};
use marchland_common::order::Node;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Most bytes that are read of one file at once; what is over comes the next time.
const READ_MAX: u64 = 32 << 20;

/// A folder of journals that others write to.
#[derive(Debug)]
pub struct Follow {
    dir: PathBuf,
    segments: BTreeMap<PathBuf, Segment>,
    faults: Vec<String>,
}

#[derive(Debug)]
struct Segment {
    /// Whose, and which; by its name, so that segments are read in their order.
    key: (Node, u32),
    /// Bytes that were taken from the file.
    taken: u64,
    /// Of these, what is no whole record yet.
    rest: Vec<u8>,
    salt: Option<Salt>,
    broken: bool,
}

impl Follow {
    /// Begins at the beginning of everything that is in a folder and the folders in it.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), segments: BTreeMap::new(), faults: Vec::new() }
    }

    /// What was added, by life. Of one file at most so much comes at once that another call may find
    /// more.
    ///
    /// # Errors
    /// [`LoadError`] when the folder or a file cannot be read at all.
    pub fn more(&mut self) -> Result<Vec<(Node, Record)>, LoadError> {
        for path in files(&self.dir)? {
            let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
            if let Some(key) = parse_journal_file_name(&name) {
                let fresh = Segment { key, taken: 0, rest: Vec::new(), salt: None, broken: false };
                self.segments.entry(path).or_insert(fresh);
            }
        }
        let mut order: Vec<(&PathBuf, &mut Segment)> = self.segments.iter_mut().collect();
        order.sort_by_key(|(_, segment)| segment.key);
        let mut records = Vec::new();
        for (path, segment) in order {
            let fail = |source| LoadError { path: path.clone(), source };
            match segment.read(path) {
                Ok(()) => {}
                // The oldest segments go when the rest needs room.
                Err(e) if e.kind() == io::ErrorKind::NotFound => segment.broken = true,
                Err(e) => return Err(fail(e)),
            }
            segment.take(path, &mut records, &mut self.faults);
        }
        Ok(records)
    }

    /// What is broken, told once.
    pub fn faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
}

impl Segment {
    fn read(&mut self, path: &Path) -> io::Result<()> {
        if self.broken {
            return Ok(());
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.taken))?;
        let read = file.take(READ_MAX).read_to_end(&mut self.rest)?;
        self.taken += read as u64;
        Ok(())
    }

    fn take(&mut self, path: &Path, out: &mut Vec<(Node, Record)>, faults: &mut Vec<String>) {
        if self.broken {
            return;
        }
        let mut start = 0;
        let salt = match self.salt {
            Some(salt) => salt,
            None => match read_header(&JOURNAL_FORMAT, &self.rest) {
                Ok(header) => {
                    start = header.len;
                    *self.salt.insert(header.salt)
                }
                Err(HeaderError::Truncated) => return,
                Err(wrong) => return self.break_off(path, &wrong.to_string(), faults),
            },
        };
        let mut reader = FrameReader::new(&self.rest, start, salt, JOURNAL_RECORD_MAX);
        let mut end = start;
        let mut wrong = None;
        for frame in reader.by_ref() {
            end = frame.offset + RECORD_HEAD + frame.payload.len();
            match decode_record(frame.payload) {
                // Nobody who follows reads cores and their input.
                Ok(Record::Snapshot(_)) => {}
                Ok(Record::Tick(mut tick)) => {
                    tick.input = Default::default();
                    out.push((self.key.0, Record::Tick(tick)));
                }
                Ok(record) => out.push((self.key.0, record)),
                Err(_) => {
                    wrong = Some("a record does not decode: another build wrote it");
                    break;
                }
            }
        }
        let is_whole = wrong.is_none() && !reader.is_cut_off();
        if is_whole && matches!(reader.tail(), Tail::Corrupt { .. }) {
            wrong = Some("a record is damaged");
        }
        self.rest.drain(..end);
        if let Some(wrong) = wrong {
            self.break_off(path, wrong, faults);
        }
    }

    fn break_off(&mut self, path: &Path, why: &str, faults: &mut Vec<String>) {
        self.broken = true;
        self.rest = Vec::new();
        faults.push(format!("{}: {why}; the rest is not read", path.display()));
    }
}
