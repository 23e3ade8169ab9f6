//! What the parts of a live console share: rings of what came, and the browsers that are told.

use super::activity::{Activity, Listening};
use super::realm::Realm;
use super::ring::{Album, Ring};
use crate::frame::{ClusterFrame, GapFrame, World, to_text};
use crate::pages::things_in;
use crate::source::{Following, FreshRecord, SentFrame, Trouble};
use bytes::Bytes;
use marchland_common::journal::{Record, decode_record};
use marchland_common::order::Node;
use marchland_proto::observer::World as Picture;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{Semaphore, broadcast};

/// Frames of facts that wait for the slowest browser: a few seconds of a busy cluster.
const FACTS_WAIT_MAX: usize = 512;
/// Pictures that wait; older ones are of no use.
const PICTURES_WAIT_MAX: usize = 32;
/// Questions that read much, at once.
const READERS: usize = 2;
/// Lives that something is kept of: those of a large cluster, twice.
const LIVES_MAX: usize = 256;
/// Every so many pictures one is kept for looking back.
const KEPT_EVERY: u64 = 2;

/// What is kept of one life.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) ring: Ring,
    pub(super) album: Album,
    pictures: u64,
    /// The number of the fact that is to come next.
    next: Option<u64>,
}

/// Shared by all parts of a live console.
pub(super) struct Hub {
    pub(super) realm: Arc<dyn Realm>,
    pub(super) activity: Activity,
    /// The newest look at everybody, and when it began.
    pub(super) looked: tokio::sync::Mutex<Option<(Instant, ClusterFrame)>>,
    pub(super) answers: Mutex<super::cluster::Answers>,
    shelves: Mutex<BTreeMap<Node, Shelf>>,
    pictures: broadcast::Sender<SentFrame>,
    facts: broadcast::Sender<SentFrame>,
    tick: AtomicU64,
    readers: Arc<Semaphore>,
}

impl Hub {
    pub(super) fn new(realm: Arc<dyn Realm>) -> Self {
        Self {
            realm,
            activity: Activity::default(),
            looked: tokio::sync::Mutex::default(),
            answers: Mutex::default(),
            shelves: Mutex::default(),
            pictures: broadcast::channel(PICTURES_WAIT_MAX).0,
            facts: broadcast::channel(FACTS_WAIT_MAX).0,
            tick: AtomicU64::new(0),
            readers: Arc::new(Semaphore::new(READERS)),
        }
    }

    fn shelves(&self) -> MutexGuard<'_, BTreeMap<Node, Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest tick that is known.
    pub(super) fn tick(&self) -> u64 {
        self.tick.load(Ordering::Relaxed)
    }

    pub(super) fn saw_tick(&self, tick: u64) {
        self.tick.fetch_max(tick, Ordering::Relaxed);
    }

    /// The first and the last tick of which facts are kept.
    pub(super) fn span(&self) -> (u64, u64) {
        let shelves = self.shelves();
        let rings = || shelves.values().map(|shelf| &shelf.ring);
        let first = rings().filter_map(Ring::first_tick).max();
        let last = rings().filter_map(Ring::last_tick).max();
        (first.unwrap_or_else(|| self.tick()), last.unwrap_or_else(|| self.tick()))
    }

    /// Copies of all rings: the bytes themselves are shared.
    pub(super) fn rings(&self) -> Vec<Ring> {
        self.activity.touch(Instant::now());
        self.shelves().values().map(|shelf| shelf.ring.clone()).collect()
    }

    /// The pictures that stood at a tick.
    pub(super) fn pictures_at(&self, tick: u64) -> Vec<(Node, Arc<Picture>)> {
        self.activity.touch(Instant::now());
        let shelves = self.shelves();
        let at = |(node, shelf): (&Node, &Shelf)| Some((*node, shelf.album.at(tick)?));
        shelves.iter().filter_map(at).collect()
    }

    /// The first tick of which every life has a picture.
    pub(super) fn first_picture(&self) -> Option<u64> {
        self.shelves().values().filter_map(|shelf| shelf.album.first_tick()).max()
    }

    /// Works on a question that reads much, away from sockets.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let Ok(permit) = self.readers.clone().try_acquire_owned() else {
            return Err(Trouble::busy("other questions about the last minute are worked on")
                .hint("ask again in a moment"));
        };
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        done.await.map_err(|_| Trouble::new(500, "internal", "reading the records failed"))
    }

    pub(super) fn follow(&self) -> Following {
        let listening: Listening = self.activity.listen();
        Following {
            pictures: self.pictures.subscribe(),
            facts: self.facts.subscribe(),
            guard: Box::new(listening),
        }
    }

    /// Tells every browser.
    pub(super) fn tell_text<T: Serialize>(&self, frame: &T) {
        if self.facts.receiver_count() > 0 {
            let _ = self.facts.send(SentFrame::Text(Bytes::from(to_text(frame))));
        }
    }

    /// A picture came.
    pub(super) fn took_picture(&self, node: Node, picture: Picture, worlds: &[World]) {
        self.saw_tick(picture.tick);
        if self.pictures.receiver_count() > 0 {
            for world in worlds {
                let _ = self.pictures.send(SentFrame::Text(Bytes::from(to_text(world))));
            }
        }
        self.with(node, |shelf| {
            shelf.pictures += 1;
            if shelf.pictures % KEPT_EVERY == 1 {
                shelf.album.push(Arc::new(picture), Instant::now());
            }
        });
    }

    /// A record came. What is missing before it is told first.
    pub(super) fn took_record(&self, node: Node, first: u64, bytes: Bytes) {
        let Ok(Record::Tick(record)) = decode_record(&bytes) else {
            tracing::debug!(%node, "a record does not decode");
            return;
        };
        let (tick, things) = (record.tick.0, things_in(&record));
        self.saw_tick(tick);
        let gap = self.with(node, |shelf| {
            let lost = shelf.next.map_or(0, |next| first.saturating_sub(next));
            let from = shelf.ring.last_tick().unwrap_or(tick);
            if lost > 0 {
                shelf.ring.gap(from, tick, "the console did not keep up");
            }
            shelf.ring.push(tick, first, bytes, Instant::now());
            shelf.next = Some(first + things);
            (lost > 0).then(|| gap_frame(node, from, tick, lost))
        });
        if self.facts.receiver_count() > 0 {
            let gap = gap.flatten().map(SentFrame::Gap);
            let fresh = FreshRecord { node, record, first };
            for frame in gap.into_iter().chain([SentFrame::Record(Arc::new(fresh))]) {
                let _ = self.facts.send(frame);
            }
        }
    }

    /// Records are missing, as the process says.
    pub(super) fn took_gap(&self, node: Node, first: u64, from: u64, to: u64, why: &str) {
        let lost = self.with(node, |shelf| {
            let lost = shelf.next.map_or(0, |next| first.saturating_sub(next));
            shelf.ring.gap(from, to, why);
            shelf.next = Some(first);
            lost
        });
        let _ = self.facts.send(SentFrame::Gap(gap_frame(node, from, to, lost.unwrap_or(0))));
    }

    fn with<R>(&self, node: Node, change: impl FnOnce(&mut Shelf) -> R) -> Option<R> {
        let mut shelves = self.shelves();
        if shelves.len() >= LIVES_MAX && !shelves.contains_key(&node) {
            return None;
        }
        Some(change(shelves.entry(node).or_insert_with(|| Shelf {
            ring: Ring::new(node),
            album: Album::default(),
            pictures: 0,
            next: None,
        })))
    }

    /// Lets go of what is old; of everything when nobody looked for as long as it is kept.
    pub(super) fn trim(&self, now: Instant) {
        self.shelves().retain(|_, shelf| {
            shelf.ring.trim(now);
            shelf.album.trim(now);
            !shelf.ring.is_empty() || shelf.album.first_tick().is_some()
        });
    }
}

fn gap_frame(node: Node, from: u64, to: u64, lost: u64) -> GapFrame {
    GapFrame { t: "gap", process: node.name.to_string(), from, to, lost }
}
