//! The newest records and pictures of one life: those of the last minute, and never more bytes
//! than a share of the whole.

use crate::pages::{Life, things_in};
use bytes::Bytes;
use marchland_common::journal::{Record, TickRecord, decode_record};
use marchland_common::order::Node;
use marchland_proto::observer::{Dot, World as Picture};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For how long records and pictures are kept.
pub(super) const KEPT: Duration = Duration::from_secs(60);
/// Most bytes of one life's records.
const RECORD_BYTES_MAX: usize = 32 << 20;
/// Most bytes of one life's pictures.
const PICTURE_BYTES_MAX: usize = 16 << 20;
/// Most gaps that are remembered.
const GAPS_MAX: usize = 64;

/// A record of a ring.
#[derive(Clone, Debug)]
struct Kept {
    tick: u64,
    first: u64,
    came: Instant,
    bytes: Bytes,
}

/// The records of one life.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    node: Node,
    records: VecDeque<Kept>,
    bytes: usize,
    gaps: VecDeque<(u64, u64, String)>,
}

impl Ring {
    pub(super) fn new(node: Node) -> Self {
        Self { node, records: VecDeque::new(), bytes: 0, gaps: VecDeque::new() }
    }

    pub(super) fn push(&mut self, tick: u64, first: u64, bytes: Bytes, now: Instant) {
        // A clone of a message would keep all of it.
        let bytes = Bytes::copy_from_slice(&bytes);
        self.bytes += bytes.len();
        let tick = tick.max(self.records.back().map_or(0, |last| last.tick));
        self.records.push_back(Kept { tick, first, came: now, bytes });
        self.trim(now);
    }

    pub(super) fn gap(&mut self, from: u64, to: u64, why: &str) {
        self.gaps.push_back((from, to, why.to_owned()));
        if self.gaps.len() > GAPS_MAX {
            self.gaps.pop_front();
        }
    }

    /// Lets go of what is too old or too much.
    pub(super) fn trim(&mut self, now: Instant) {
        while let Some(oldest) = self.records.front() {
            let is_old = now.saturating_duration_since(oldest.came) > KEPT;
            if !is_old && self.bytes <= RECORD_BYTES_MAX {
                return;
            }
            self.bytes -= oldest.bytes.len();
            self.records.pop_front();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn first_tick(&self) -> Option<u64> {
        self.records.front().map(|kept| kept.tick)
    }

    pub(super) fn last_tick(&self) -> Option<u64> {
        self.records.back().map(|kept| kept.tick)
    }

    /// The newest records between which nothing is missing, oldest first, with the number of the
    /// first thing in them.
    pub(super) fn window(&self) -> (Node, u64, Vec<Record>) {
        let (mut from, mut records) = (0, Vec::new());
        for (first, record) in (0..self.records.len()).rev().map_while(|place| self.read(place)) {
            if !records.is_empty() && first + things_in(&record) != from {
                break;
            }
            from = first;
            records.push(Record::Tick(record.into_owned()));
        }
        records.reverse();
        (self.node, from, records)
    }
}

impl Life for Ring {
    fn node(&self) -> Node {
        self.node
    }

    fn span(&self, from: u64, to: u64) -> Range<usize> {
        let start = self.records.partition_point(|kept| kept.tick < from);
        let end = self.records.partition_point(|kept| kept.tick <= to);
        start..end.max(start)
    }

    fn tick(&self, place: usize) -> u64 {
        self.records[place].tick
    }

    fn read(&self, place: usize) -> Option<(u64, Cow<'_, TickRecord>)> {
        let kept = self.records.get(place)?;
        match decode_record(&kept.bytes) {
            Ok(Record::Tick(record)) => Some((kept.first, Cow::Owned(record))),
            Ok(_) | Err(_) => None,
        }
    }

    fn gaps(&self) -> Vec<(u64, u64, String)> {
        let mut gaps: Vec<_> = self.gaps.iter().cloned().collect();
        match self.first_tick() {
            Some(first) if first > 0 => {
                gaps.push((0, first - 1, "older than what the console keeps".to_owned()));
            }
            Some(_) => {}
            None => gaps.push((0, u64::MAX, "nothing was heard of it yet".to_owned())),
        }
        gaps
    }
}

/// The pictures of one life.
#[derive(Clone, Debug, Default)]
pub(super) struct Album {
    pictures: VecDeque<(Instant, Arc<Picture>)>,
    bytes: usize,
}

impl Album {
    pub(super) fn push(&mut self, picture: Arc<Picture>, now: Instant) {
        self.bytes += bytes_of(&picture);
        self.pictures.push_back((now, picture));
        self.trim(now);
    }

    /// Lets go of what is too old or too much.
    pub(super) fn trim(&mut self, now: Instant) {
        while let Some((came, picture)) = self.pictures.front() {
            let is_old = now.saturating_duration_since(*came) > KEPT;
            if !is_old && self.bytes <= PICTURE_BYTES_MAX {
                return;
            }
            self.bytes -= bytes_of(picture);
            self.pictures.pop_front();
        }
    }

    /// The newest picture that is not younger than a tick.
    pub(super) fn at(&self, tick: u64) -> Option<Arc<Picture>> {
        let after = self.pictures.partition_point(|(_, picture)| picture.tick <= tick);
        let (_, picture) = self.pictures.get(after.checked_sub(1)?)?;
        Some(picture.clone())
    }

    pub(super) fn first_tick(&self) -> Option<u64> {
        self.pictures.front().map(|(_, picture)| picture.tick)
    }
}

/// About what a picture takes.
fn bytes_of(picture: &Picture) -> usize {
    (picture.reals.len() + picture.ghosts.len()) * size_of::<Dot>() + 256
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::journal::{Event, encode_record};
    use marchland_common::order::{Lsn, NodeKind, Tick};

    #[test]
    fn a_ring_keeps_neither_what_is_old_nor_more_than_its_share() {
        let (mut ring, now) = (Ring::new(Node::new(NodeKind::Cell, 1, 7)), Instant::now());
        let large = Bytes::from(vec![0; RECORD_BYTES_MAX / 4]);
        for tick in 0..10 {
            ring.push(tick, tick * 3, large.clone(), now);
        }
        assert_eq!((ring.first_tick(), ring.last_tick()), (Some(6), Some(9)));
        assert_eq!(ring.gaps()[0].1, 5, "and says what it does not have any more");
        ring.trim(now + KEPT + Duration::from_secs(1));
        assert!(ring.is_empty());
    }

    #[test]
    fn a_window_goes_back_to_the_newest_hole_and_no_further() {
        let (node, now) = (Node::new(NodeKind::Cell, 1, 7), Instant::now());
        let mut ring = Ring::new(node);
        let gone = Event::Durable { lsn: Lsn(1) };
        // Two facts a record; those numbered 4 and 5 never came.
        for (tick, first) in [(1, 0), (2, 2), (4, 6), (5, 8)] {
            let facts = vec![gone.clone(), gone.clone()];
            let record = Record::Tick(TickRecord::without_core(Tick(tick), facts));
            ring.push(tick, first, encode_record(&record).unwrap().into(), now);
        }
        let (whose, from, records) = ring.window();
        assert_eq!((whose, from, records.len()), (node, 6, 2));
        assert!(matches!(&records[0], Record::Tick(record) if record.tick == Tick(4)));
    }

    #[test]
    fn an_album_shows_the_picture_that_stood_at_a_tick_and_forgets_what_is_too_much() {
        let (mut album, now) = (Album::default(), Instant::now());
        let picture = |tick, dots| {
            Arc::new(Picture { tick, reals: vec![Dot::default(); dots], ..Picture::default() })
        };
        for tick in [10, 12, 14] {
            album.push(picture(tick, 1), now);
        }
        assert_eq!(album.at(9), None);
        assert_eq!(album.at(13).unwrap().tick, 12);
        assert_eq!(album.at(99).unwrap().tick, 14);
        album.push(picture(16, PICTURE_BYTES_MAX / size_of::<Dot>()), now);
        assert_eq!((album.first_tick(), album.bytes), (None, 0));
    }
}
