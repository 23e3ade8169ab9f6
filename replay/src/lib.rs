//! Runs journals again: the recorded inputs go into the same cores, and what comes out is held
//! against what the journals say came out then, output moment by output moment.
//!
//! Invariants: what could not be compared is told and never counts as equal; a life is compared up
//! to its first difference, since everything behind that differs too; the same journals give the
//! same answer. Nothing here reads a clock or a disk.

mod core;
mod life;
mod report;
mod tree;

pub use report::{Difference, LifeReplay, Outcome, Replayed};
pub use tree::Field;

use marchland_baseapp_core::BaseCore;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::cell::SharedWorld;
use marchland_common::order::{Node, NodeKind, NodeName, Tick};
use marchland_common::world::Kinds;
use marchland_observe::{Journals, Process};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The world that the journals were written in.
#[derive(Clone)]
pub struct World {
    shared: SharedWorld,
    kinds: Arc<Kinds>,
}

impl World {
    /// A world with its kinds and their behaviour.
    #[must_use]
    pub fn new(world: SharedWorld) -> Self {
        let kinds = Arc::new(world.kinds().clone());
        Self { shared: world, kinds }
    }
}

/// What is replayed.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// All lives of this process alone.
    pub process: Option<NodeName>,
    /// From the last whole core that the journals hold before this tick; from the first one if none.
    pub from: Option<Tick>,
    /// Up to this tick.
    pub to: Option<Tick>,
    /// Lives that are replayed at once.
    pub threads: usize,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { process: None, from: None, to: None, threads: 1 }
    }
}

impl ReplayOptions {
    fn asks_for(&self, node: Node) -> bool {
        self.process.is_none_or(|name| name == node.name)
    }
}

/// Replays what the options ask for.
#[must_use]
pub fn replay(journals: &Journals, world: &World, options: &ReplayOptions) -> Replayed {
    let asked = journals.processes().iter().filter(|p| options.asks_for(p.node()));
    let lives: Vec<&Process> = asked.collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(process) = lives.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(one(process, world, options));
        }
        done
    };
    let mut done: Vec<LifeReplay> = std::thread::scope(|scope| {
        let hands: Vec<_> = (1..options.threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let others = hands.into_iter().filter_map(|hand| hand.join().ok());
        others.flatten().chain(mine).collect()
    });
    done.sort_by_key(|life| life.node);
    Replayed::of(done, journals.strays().to_vec())
}

fn one(process: &Process, world: &World, options: &ReplayOptions) -> LifeReplay {
    match process.kind() {
        NodeKind::Cell => life::replay::<CellCore>(process, world, options),
        NodeKind::Base => life::replay::<BaseCore>(process, world, options),
        NodeKind::Manager | NodeKind::Client => LifeReplay::without_core(process.node()),
    }
}
