//! What a replay needs of a core, and the two kinds of it.

use crate::World;
use crate::tree::Tree;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::BaseInput;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::CellInput;
use marchland_common::journal::{Event, PartedDigest};
use marchland_common::msg::{Frame, Moment, Outgoing};
use marchland_common::order::Tick;
use serde::de::DeserializeOwned;

/// What one output moment gave that a journal tells too.
pub(crate) struct Ran {
    pub(crate) events: Vec<Event>,
    pub(crate) bundles: Vec<Outgoing>,
}

/// A core that can be run again.
pub(crate) trait Core: Sized {
    /// What goes in.
    type Input: DeserializeOwned;
    /// What the parts of its digest are, in their order.
    const PARTS: &[&str];

    /// A core from its snapshot.
    fn restore(bytes: &[u8], world: &World) -> Result<Self, String>;
    /// The output moment that an input is for, and the bundles in it.
    fn about(input: &Self::Input) -> (Tick, Moment, &[Frame]);
    /// Whether such an input may be given to it: whoever numbers ticks wrongly stops a core.
    fn is_next(&self, tick: Tick) -> bool;
    /// Runs an output moment.
    fn run(&mut self, input: Self::Input) -> Ran;
    /// Its digest.
    fn digest(&self) -> PartedDigest;
    /// All of it as bytes.
    fn snapshot(&self) -> Vec<u8>;
    /// All of it with names.
    fn tree(&self) -> Tree;
    /// The length of a tick in microseconds.
    fn step_us(&self) -> u64;
}

impl Core for CellCore {
    type Input = CellInput;
    const PARTS: &[&str] = &Self::PARTS;

    fn restore(bytes: &[u8], world: &World) -> Result<Self, String> {
        Self::restore(bytes, world.shared.clone()).map_err(|bad| bad.to_string())
    }

    fn about(input: &CellInput) -> (Tick, Moment, &[Frame]) {
        (input.tick, Moment::Flush, &input.frames)
    }

    fn is_next(&self, tick: Tick) -> bool {
        tick > self.last_tick()
    }

    fn run(&mut self, input: CellInput) -> Ran {
        let output = self.tick(input);
        Ran { events: output.events, bundles: output.bundles }
    }

    fn digest(&self) -> PartedDigest {
        self.digest()
    }

    fn snapshot(&self) -> Vec<u8> {
        self.snapshot()
    }

    fn tree(&self) -> Tree {
        Tree::of(&self.image())
    }

    fn step_us(&self) -> u64 {
        self.config().step_us
    }
}

impl Core for BaseCore {
    type Input = BaseInput;
    const PARTS: &[&str] = &Self::PARTS;

    fn restore(bytes: &[u8], world: &World) -> Result<Self, String> {
        Self::restore(bytes, world.kinds.clone()).map_err(|bad| bad.to_string())
    }

    fn about(input: &BaseInput) -> (Tick, Moment, &[Frame]) {
        (input.tick, input.moment, &input.frames)
    }

    fn is_next(&self, _: Tick) -> bool {
        true
    }

    fn run(&mut self, input: BaseInput) -> Ran {
        let output = self.tick(input);
        Ran { events: output.events, bundles: output.bundles }
    }

    fn digest(&self) -> PartedDigest {
        self.digest()
    }

    fn snapshot(&self) -> Vec<u8> {
        self.snapshot()
    }

    fn tree(&self) -> Tree {
        Tree::of(self)
    }

    fn step_us(&self) -> u64 {
        self.config().step_us
    }
}
