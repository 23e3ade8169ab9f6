//! A virtual disk: it takes records at once and makes them durable a drawn time later, all that
//! came meanwhile with the next sync.

use crate::config::SimConfig;
use crate::happening::{Agenda, Happening};
use marchland_common::order::{Lsn, NodeName};
use marchland_common::rng::Rng;

pub(crate) struct Disk {
    owner: NodeName,
    rng: Rng,
    calm: bool,
    written: Lsn,
    syncing: bool,
    stalled_until: u64,
    /// Every record ever written, in order.
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) durable: Lsn,
    pub(crate) stalls: u64,
}

impl Disk {
    pub(crate) fn new(config: &SimConfig, owner: NodeName) -> Self {
        Self {
            owner,
            rng: Rng::child(config.seed, 0x6469_736b + u64::from(owner.number)),
            calm: config.calm,
            written: Lsn(0),
            syncing: false,
            stalled_until: 0,
            records: Vec::new(),
            durable: Lsn(0),
            stalls: 0,
        }
    }

    pub(crate) fn append(&mut self, agenda: &mut Agenda, records: Vec<Vec<u8>>) {
        self.written = Lsn(self.written.0 + records.len() as u64);
        self.records.extend(records);
        self.sync(agenda);
    }

    fn sync(&mut self, agenda: &mut Agenda) {
        if self.syncing || self.durable == self.written {
            return;
        }
        self.syncing = true;
        let most = if self.calm { 3_000 } else { 8_000 };
        let slow = !self.calm && self.rng.chance(1, 100);
        let takes = if slow { 20_000 } else { self.rng.between(100, most) as u64 };
        let at = agenda.now.max(self.stalled_until) + takes;
        agenda.at(at, Happening::Synced(self.owner, self.written));
    }

    pub(crate) fn synced(&mut self, agenda: &mut Agenda, lsn: Lsn) {
        (self.syncing, self.durable) = (false, lsn);
        self.sync(agenda);
    }

    pub(crate) fn stall(&mut self, now: u64, for_us: u64) {
        self.stalled_until = now + for_us;
        self.stalls += 1;
    }
}
