//! The records of a journal, also for whoever listens: taken off on the writer's thread, while
//! somebody does. A listener that is late finds a gap where it was not.

use bytes::Bytes;
use marchland_common::journal::{Record, TickRecord, encode_record};
use marchland_common::order::Tick;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Records that wait for the slowest listener.
const WAIT_MAX: usize = 128;
/// A larger record is told as a gap.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// What a listener hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Teed {
    /// A record.
    Record {
        /// The number of the first thing in it, counted from the life's beginning: bundles that it
        /// took in, facts, bundles that it sent.
        first: u64,
        /// Its tick.
        tick: Tick,
        /// The record without its input, encoded.
        bytes: Bytes,
    },
    /// What is not there: both ends included.
    Gap {
        /// The number of the first thing after it.
        first: u64,
        /// The first tick that is not whole.
        from: Tick,
        /// The last one.
        to: Tick,
    },
}

/// Where listeners listen. Clones share it.
#[derive(Clone, Debug)]
pub struct RecordTee(Arc<broadcast::Sender<Teed>>);

impl Default for RecordTee {
    fn default() -> Self {
        Self(Arc::new(broadcast::channel(WAIT_MAX).0))
    }
}

impl RecordTee {
    /// The end that the writer holds.
    #[must_use]
    pub fn end(&self) -> TeeEnd {
        TeeEnd { tee: self.clone(), next: 0 }
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Teed> {
        self.0.subscribe()
    }
}

/// The writer's end. It counts whether or not somebody listens.
#[derive(Debug)]
pub struct TeeEnd {
    tee: RecordTee,
    next: u64,
}

impl TeeEnd {
    /// A record is to be written.
    pub fn note(&mut self, record: &Record) {
        let first = self.next;
        let teed = match record {
            Record::Tick(record) => {
                let things = record.received.len() + record.events.len() + record.sent.len();
                self.next += things as u64;
                self.is_heard().then(|| self.teed(record, first))
            }
            Record::Gap { from, to } => Some(Teed::Gap { first, from: *from, to: *to }),
            Record::Header(_) | Record::Snapshot(_) | Record::End { .. } => None,
        };
        if let Some(teed) = teed {
            // An error means that nobody listens.
            let _ = self.tee.0.send(teed);
        }
    }

    fn is_heard(&self) -> bool {
        self.tee.0.receiver_count() > 0
    }

    fn teed(&self, record: &TickRecord, first: u64) -> Teed {
        let slim = TickRecord { input: Bytes::new(), ..record.clone() };
        let encoded = encode_record(&Record::Tick(slim));
        match encoded.ok().filter(|bytes| bytes.len() <= RECORD_BYTES_MAX) {
            Some(bytes) => Teed::Record { first, tick: record.tick, bytes: bytes.into() },
            None => Teed::Gap { first: self.next, from: record.tick, to: record.tick },
        }
    }
}
