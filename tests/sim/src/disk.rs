//! A virtual disk: it takes records at once and makes them durable a drawn time later, all that
//! came meanwhile with the next sync. It outlives its process; what was not durable then is lost
//! from a drawn record on.

use crate::config::SimConfig;
use crate::happening::{Agenda, Happening};
use marchland_common::order::{Lsn, Node, NodeName};
use marchland_common::rng::Rng;

/// Records that wait in memory for a disk that takes none; more are refused.
const WAITING_MAX: usize = 24;
/// How often a process looks whether a disk that stands still or is full goes on.
const LOOK_US: u64 = 10_000;

pub(crate) struct Disk {
    rng: Rng,
    calm: bool,
    syncing: bool,
    stalled_until: u64,
    full_until: u64,
    /// Records that the log has taken and the disk has not.
    waiting: Vec<Vec<u8>>,
    /// Every record written, in order.
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) durable: Lsn,
    /// How often a crash lost records, and how often a full disk refused some.
    pub(crate) torn: u64,
    pub(crate) refused: u64,
}

impl Disk {
    pub(crate) fn new(config: &SimConfig, owner: NodeName) -> Self {
        Self {
            rng: Rng::child(config.seed, 0x6469_736b + u64::from(owner.number)),
            calm: config.calm,
            syncing: false,
            stalled_until: 0,
            full_until: 0,
            waiting: Vec::new(),
            records: Vec::new(),
            durable: Lsn(0),
            torn: 0,
            refused: 0,
        }
    }

    /// Takes records, in order. Those that it cannot take come back.
    pub(crate) fn append(
        &mut self,
        agenda: &mut Agenda,
        owner: Node,
        mut records: Vec<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        let mut refused = Vec::new();
        if agenda.now < self.full_until {
            let room = WAITING_MAX.saturating_sub(self.waiting.len()).min(records.len());
            refused = records.split_off(room);
            self.refused += u64::from(!refused.is_empty());
        }
        self.waiting.extend(records);
        self.sync(agenda, owner);
        refused
    }

    fn written(&self) -> Lsn {
        Lsn(self.records.len() as u64)
    }

    fn sync(&mut self, agenda: &mut Agenda, owner: Node) {
        if self.syncing || self.waiting.is_empty() && self.durable == self.written() {
            return;
        }
        if agenda.now >= self.full_until {
            self.records.append(&mut self.waiting);
        }
        self.syncing = true;
        let most = if self.calm { 3_000 } else { 8_000 };
        let slow = !self.calm && self.rng.chance(1, 100);
        let takes = if slow { 20_000 } else { self.rng.between(100, most) as u64 };
        agenda.after(takes, Happening::Synced(owner, self.written()));
    }

    /// A sync may be over. Returns what is durable now, if that is news.
    pub(crate) fn synced(&mut self, agenda: &mut Agenda, owner: Node, lsn: Lsn) -> Option<Lsn> {
        if agenda.now < self.stalled_until {
            agenda.after(LOOK_US, Happening::Synced(owner, lsn));
            return None;
        }
        let news = lsn > self.durable;
        (self.syncing, self.durable) = (false, self.durable.max(lsn));
        if agenda.now < self.full_until && self.durable == self.written() {
            self.syncing = true;
            agenda.after(LOOK_US, Happening::Synced(owner, lsn));
        } else {
            self.sync(agenda, owner);
        }
        news.then_some(lsn)
    }

    pub(crate) fn stall(&mut self, now: u64, for_us: u64) {
        self.stalled_until = now + for_us;
    }

    pub(crate) fn fill(&mut self, now: u64, for_us: u64) {
        self.full_until = now + for_us;
    }

    pub(crate) fn heal(&mut self, now: u64) {
        self.stalled_until = self.stalled_until.min(now);
        self.full_until = self.full_until.min(now);
    }

    /// The process is gone. Of what was written and not synced, some is there or none; a record
    /// that is torn is none.
    pub(crate) fn crash(&mut self) {
        let unsynced = self.written().0 - self.durable.0;
        let kept = self.rng.below(unsynced + 1);
        self.torn += u64::from(kept < unsynced || !self.waiting.is_empty());
        self.records.truncate((self.durable.0 + kept) as usize);
        // What the next life reads back, it finds synced.
        self.durable = self.written();
        self.waiting.clear();
        self.syncing = false;
    }
}
