//! A simulated process: what every life has, whatever it is.

use crate::base::BaseProcess;
use crate::cell::CellProcess;
use crate::config::SimConfig;
use crate::disk::Disk;
use crate::happening::Outward;
use crate::pulse::Pulse;
use crate::store::TTL_S;
use crate::watch::Watch;
use marchland_common::cluster::MapChange;
use marchland_common::journal::{Event, TickRecord};
use marchland_common::link::KnownIncarnations;
use marchland_common::msg::Outgoing;
use marchland_common::order::{Node, NodeKind};
use marchland_common::rng::Rng;
use serde::Serialize;

/// What a moment of a core left.
pub(crate) struct Ran {
    pub(crate) record: TickRecord,
    pub(crate) bundles: Vec<Outgoing>,
}

pub(crate) enum Core {
    Cell(Box<CellProcess>),
    Base(Box<BaseProcess>),
}

pub(crate) struct Process {
    pub(crate) node: Node,
    pub(crate) core: Core,
    pub(crate) pulse: Pulse,
    pub(crate) watch: Watch,
    /// What the core was not told of the map yet.
    pub(crate) map: Vec<MapChange>,
    /// Which lives may speak to it.
    pub(crate) known: KnownIncarnations,
    /// What it wanted to say while it stood still.
    pub(crate) held: Vec<Outward>,
    /// What the process around the core noticed, for the next record.
    pub(crate) facts: Vec<Event>,
    /// Its lease, and when it was proved last.
    pub(crate) lease: i64,
    pub(crate) proven: u64,
    /// When everything is listed again, whatever the watch says.
    pub(crate) listed_again: u64,
    pub(crate) rng: Rng,
}

impl Process {
    pub(crate) fn new(config: &SimConfig, node: Node, now: u64, lease: i64, disk: &Disk) -> Self {
        let mut rng = Rng::child(config.seed ^ node.incarnation.0, 0x6c69_6665);
        let core = match node.name.kind {
            NodeKind::Base => Core::Base(Box::new(BaseProcess::new(config, node, disk))),
            _ => Core::Cell(Box::new(CellProcess::new(config, node))),
        };
        Self {
            node,
            core,
            pulse: Pulse::new(config, node, &mut rng),
            watch: Watch::default(),
            map: Vec::new(),
            known: KnownIncarnations::new(),
            held: Vec::new(),
            facts: Vec::new(),
            lease,
            proven: now,
            listed_again: 0,
            rng,
        }
    }

    /// Its core as bytes, for a replay to begin with.
    pub(crate) fn snapshot(&self) -> Vec<u8> {
        match &self.core {
            Core::Cell(cell) => cell.core.snapshot(),
            Core::Base(base) => base.core.snapshot(),
        }
    }

    /// Whether its registration is proven: half of its lease has not passed since the last word.
    pub(crate) const fn is_proven(&self, now: u64) -> bool {
        now - self.proven < TTL_S as u64 * 500_000
    }

    /// Whether a life is over, as far as it knows.
    pub(crate) fn refuses(&self, node: Node) -> bool {
        self.known.is_over(node) || self.watch.is_dead(node.incarnation)
    }

    pub(crate) const fn cell(&self) -> Option<&CellProcess> {
        match &self.core {
            Core::Cell(cell) => Some(cell),
            Core::Base(_) => None,
        }
    }

    pub(crate) const fn base(&self) -> Option<&BaseProcess> {
        match &self.core {
            Core::Base(base) => Some(base),
            Core::Cell(_) => None,
        }
    }

    pub(crate) const fn base_mut(&mut self) -> Option<&mut BaseProcess> {
        match &mut self.core {
            Core::Base(base) => Some(base),
            Core::Cell(_) => None,
        }
    }
}

/// An input as a journal keeps it, if it does.
pub(crate) fn encoded(keeps: bool, input: &impl Serialize) -> bytes::Bytes {
    if keeps { postcard::to_stdvec(input).unwrap_or_default().into() } else { bytes::Bytes::new() }
}
