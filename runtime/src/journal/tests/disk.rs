//! A disk in memory that fills up on order, and a reader of what is on it.

use super::super::{SegmentFile, Storage};
use marchland_common::journal::frame::{FrameReader, read_header};
use marchland_common::journal::{JOURNAL_FORMAT, JOURNAL_RECORD_MAX, Record, decode_record};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Inner {
    segments: BTreeMap<u32, Vec<u8>>,
    full: bool,
    at_most: Option<usize>,
}

/// Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct FakeDisk(Arc<Mutex<Inner>>);

pub struct FakeFile(FakeDisk, u32);

impl FakeDisk {
    pub fn fill_up(&self) {
        self.0.lock().unwrap().full = true;
    }

    pub fn make_room(&self) {
        self.0.lock().unwrap().full = false;
    }

    /// No write takes more bytes than this.
    pub fn write_at_most(&self, bytes: usize) {
        self.0.lock().unwrap().at_most = Some(bytes);
    }

    pub fn segment(&self, segment: u32) -> Vec<u8> {
        self.0.lock().unwrap().segments[&segment].clone()
    }
}

impl Storage for FakeDisk {
    type Segment = FakeFile;

    fn create(&mut self, segment: u32) -> io::Result<FakeFile> {
        self.0.lock().unwrap().segments.insert(segment, Vec::new());
        Ok(FakeFile(self.clone(), segment))
    }

    fn trim(&mut self, _: u32) -> io::Result<u64> {
        Ok(0)
    }
}

impl SegmentFile for FakeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.0.lock().unwrap();
        if disk.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let len = bytes.len().min(disk.at_most.unwrap_or(usize::MAX));
        disk.segments.entry(self.1).or_default().extend_from_slice(&bytes[..len]);
        Ok(len)
    }
}

/// The whole records of a segment.
pub fn records_of(bytes: &[u8]) -> Vec<Record> {
    let header = read_header(&JOURNAL_FORMAT, bytes).unwrap();
    FrameReader::new(bytes, header.len, header.salt, JOURNAL_RECORD_MAX)
        .map(|record| decode_record(record.payload).unwrap())
        .collect()
}
