//! One file of a journal: where its records are, and what its frames say about damage.

use bytes::Bytes;
use marchland_common::journal::frame::{FrameReader, HeaderError, RECORD_HEAD, Tail, read_header};
use marchland_common::journal::{
    JOURNAL_FORMAT, JOURNAL_RECORD_MAX, JournalHeader, Record, decode_record,
    parse_journal_file_name,
};
use marchland_common::order::Node;
use std::fmt;

/// One segment, checked but not decoded.
#[derive(Clone)]
pub(super) struct Segment {
    pub node: Node,
    pub number: u32,
    pub header: Option<JournalHeader>,
    pub gaps: Vec<Gap>,
    pub end: Option<String>,
    pub faults: Vec<String>,
    /// Where the payloads of output moments are.
    pub ticks: Vec<(usize, usize)>,
    /// Where the snapshot of the core at the beginning is.
    snapshot: Option<(usize, usize)>,
    /// Whether bytes follow the last whole record.
    pub is_torn: bool,
    bytes: Vec<u8>,
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} segment {}: {} records", self.node, self.number, self.ticks.len())
    }
}

impl Segment {
    /// What makes its records not all that were written, and which record of it follows.
    pub fn breaks(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        let gaps = self.gaps.iter();
        let gaps = gaps.map(|g| (g.before, format!("ticks {} to {} were not kept", g.from, g.to)));
        let faults = self.faults.iter().map(|fault| (self.ticks.len(), fault.clone()));
        gaps.chain(faults)
    }
}

/// What the first byte of an encoded output moment is: the place of its variant. Output moments
/// make up nearly all of a journal and are decoded only when they are read.
const TICK_TAG: u8 = 2;
/// The same for a snapshot of a core, which nothing here reads.
const SNAPSHOT_TAG: u8 = 1;

impl Segment {
    /// Reads a file's bytes. `name` is its name without the folder.
    ///
    /// # Errors
    /// A text for people, when nothing says whose segment it is.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Self, String> {
        let named = parse_journal_file_name(name);
        let mut segment = Self {
            node: named.map_or(NOBODY, |(node, _)| node),
            number: named.map_or(0, |(_, number)| number),
            header: None,
            gaps: Vec::new(),
            end: None,
            faults: Vec::new(),
            ticks: Vec::new(),
            snapshot: None,
            is_torn: false,
            bytes: Vec::new(),
        };
        segment.scan(name, &bytes);
        segment.bytes = bytes;
        if let Some(header) = &segment.header {
            let says = (header.node, header.segment);
            if named.is_some_and(|named| named != says) {
                let text = format!("{name} says that it is segment {} of {}", says.1, says.0);
                segment.faults.push(text);
            }
            (segment.node, segment.number) = says;
        } else if named.is_none() {
            return Err(format!("{name}: nothing says whose journal it is"));
        }
        Ok(segment)
    }

    /// The payload of an output moment.
    pub fn tick(&self, index: usize) -> Option<&[u8]> {
        let (start, len) = *self.ticks.get(index)?;
        self.bytes.get(start..start + len)
    }

    /// The core as it was when the segment began, encoded; none where that is not there.
    pub fn snapshot(&self) -> Option<Bytes> {
        let (start, len) = self.snapshot?;
        match decode_record(self.bytes.get(start..start + len)?) {
            Ok(Record::Snapshot(core)) => Some(core).filter(|core| !core.is_empty()),
            Ok(_) | Err(_) => None,
        }
    }

    fn scan(&mut self, name: &str, bytes: &[u8]) {
        let start = match read_header(&JOURNAL_FORMAT, bytes) {
            Ok(start) => start,
            // The process stopped while it began the file: nothing that it says had an effect.
            Err(HeaderError::Truncated) => {
                self.is_torn = true;
                return;
            }
            Err(wrong) => return self.faults.push(format!("{name}: {wrong}")),
        };
        let mut frames = FrameReader::new(bytes, start.len, start.salt, JOURNAL_RECORD_MAX);
        for frame in frames.by_ref() {
            let at = frame.offset + RECORD_HEAD;
            match frame.payload.first() {
                Some(&TICK_TAG) => self.ticks.push((at, frame.payload.len())),
                Some(&SNAPSHOT_TAG) => {
                    self.snapshot.get_or_insert((at, frame.payload.len()));
                }
                _ => self.take_rare(name, frame.offset, frame.payload),
            }
        }
        let tail = frames.tail();
        self.is_torn = tail != Tail::Clean;
        if let Tail::Corrupt { offset } = tail {
            self.faults.push(format!("{name}: damaged at byte {offset}; the rest is not read"));
        }
        // Checksums find damage; what remains is another build's encoding, and the first tells.
        let first = self.ticks.first().and_then(|(start, len)| bytes.get(*start..start + len));
        if first.is_some_and(|payload| decode_record(payload).is_err()) {
            self.faults.push(format!("{name}: written by a build with other records"));
        }
    }

    fn take_rare(&mut self, name: &str, offset: usize, payload: &[u8]) {
        match decode_record(payload) {
            Ok(Record::Header(header)) => {
                self.header.get_or_insert(header);
            }
            Ok(Record::Gap { from, to }) => {
                self.gaps.push(Gap { before: self.ticks.len(), from: from.0, to: to.0 });
            }
            Ok(Record::End { why }) => self.end = Some(why),
            Ok(Record::Tick(_) | Record::Snapshot(_)) | Err(_) => {
                self.faults.push(format!("{name}: the record at byte {offset} does not decode"));
            }
        }
    }
}

/// What could not be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// The output moment that follows it, by its place in the segment.
    pub before: usize,
    pub from: u64,
    pub to: u64,
}

/// Stands for the owner of a file until its header is read.
const NOBODY: Node = Node::new(marchland_common::order::NodeKind::Client, 0, 0);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::journal::{TickRecord, encode_record};
    use marchland_common::order::Tick;

    #[test]
    fn the_first_byte_of_a_record_says_which_it_is() {
        let tick = Record::Tick(TickRecord::without_core(Tick(1), Vec::new()));
        assert_eq!(encode_record(&tick).unwrap()[0], TICK_TAG);
        let snapshot = Record::Snapshot(Bytes::from_static(b"core"));
        assert_eq!(encode_record(&snapshot).unwrap()[0], SNAPSHOT_TAG);
        for rare in [Record::Gap { from: Tick(1), to: Tick(2) }, Record::End { why: String::new() }]
        {
            assert!(![TICK_TAG, SNAPSHOT_TAG].contains(&encode_record(&rare).unwrap()[0]));
        }
    }
}
