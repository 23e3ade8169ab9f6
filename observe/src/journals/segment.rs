//! One file of a journal: where its records are, and what its frames say about damage.

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
    pub gaps: Vec<(u64, u64)>,
    pub end: Option<String>,
    pub faults: Vec<String>,
    /// Where the payloads of output moments are.
    pub ticks: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} segment {}: {} records", self.node, self.number, self.ticks.len())
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

    fn scan(&mut self, name: &str, bytes: &[u8]) {
        let start = match read_header(&JOURNAL_FORMAT, bytes) {
            Ok(start) => start,
            // The process stopped while it began the file: nothing that it says had an effect.
            Err(HeaderError::Truncated) => return,
            Err(wrong) => return self.faults.push(format!("{name}: {wrong}")),
        };
        let mut frames = FrameReader::new(bytes, start.len, start.salt, JOURNAL_RECORD_MAX);
        for frame in frames.by_ref() {
            let at = frame.offset + RECORD_HEAD;
            match frame.payload.first() {
                Some(&TICK_TAG) => self.ticks.push((at, frame.payload.len())),
                Some(&SNAPSHOT_TAG) => {}
                _ => self.take_rare(name, frame.offset, frame.payload),
            }
        }
        if let Tail::Corrupt { offset } = frames.tail() {
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
            Ok(Record::Gap { from, to }) => self.gaps.push((from.0, to.0)),
            Ok(Record::End { why }) => self.end = Some(why),
            Ok(Record::Tick(_) | Record::Snapshot(_)) | Err(_) => {
                self.faults.push(format!("{name}: the record at byte {offset} does not decode"));
            }
        }
    }
}

/// Stands for the owner of a file until its header is read.
const NOBODY: Node = Node::new(marchland_common::order::NodeKind::Client, 0, 0);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bytes::Bytes;
    use marchland_common::journal::{TickRecord, encode_record};
    use marchland_common::msg::Moment;
    use marchland_common::order::Tick;

    #[test]
    fn the_first_byte_of_a_record_says_which_it_is() {
        let tick = Record::Tick(TickRecord {
            tick: Tick(1),
            moment: Moment::Flush,
            input: Bytes::new(),
            received: Vec::new(),
            sent: Vec::new(),
            events: Vec::new(),
            digest: 0,
        });
        assert_eq!(encode_record(&tick).unwrap()[0], TICK_TAG);
        let snapshot = Record::Snapshot(Bytes::from_static(b"core"));
        assert_eq!(encode_record(&snapshot).unwrap()[0], SNAPSHOT_TAG);
        for rare in [Record::Gap { from: Tick(1), to: Tick(2) }, Record::End { why: String::new() }]
        {
            assert!(![TICK_TAG, SNAPSHOT_TAG].contains(&encode_record(&rare).unwrap()[0]));
        }
    }
}
