//! Cores on a wire: what a cell flushes reaches the base half a tick later, and what the base
//! answers reaches the cells with their next tick. Everything arrives; tests decide what does not.

use super::{CAVE, FakeBase, PLAIN, STEP_US, base, cell, world};
use bytes::Bytes;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellConfig, CellInput, CellOrder, CellOutput};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToCell, Command, Frame, HandoffOrder};
use marchland_common::order::{
    CellId, EntityId, Node, NodeKind, SessionId, SlotId, SpaceId, Term, Tick,
};
use marchland_common::world::{Axis, Layout, Pos, Rect, Tree};
use std::collections::BTreeMap;

/// The whole little cluster.
pub struct Cluster {
    pub tick: Tick,
    pub cells: BTreeMap<Node, CellCore>,
    /// Cores that get the same inputs and must do the same.
    pub shadows: BTreeMap<Node, CellCore>,
    pub base: FakeBase,
    /// What is under way to each process.
    wire: BTreeMap<Node, Vec<Frame>>,
    /// What the cells are told in their next tick besides bundles.
    pub inputs: BTreeMap<Node, CellInput>,
    /// Cells that do not run at present; what is for them waits.
    pub paused: Vec<Node>,
    /// Bundles between cells do not arrive.
    pub lose_cell_mail: bool,
    /// Bundles to this cell do not arrive.
    pub lose_mail_to: Option<Node>,
    /// What each cell produced, newest last.
    pub outputs: Vec<(Node, Tick, CellOutput)>,
    next_n: BTreeMap<SessionId, u64>,
}

/// Cells side by side along the east axis, 100 m each.
pub fn layout(space: SpaceId, version: u64, owners: &[Option<Node>]) -> Layout {
    let mut tree = leaf(owners, owners.len() - 1);
    for at in (0..owners.len() - 1).rev() {
        tree = Tree::Split {
            axis: Axis::X,
            at: (at as i32 + 1) * 100_000,
            low: Box::new(leaf(owners, at)),
            high: Box::new(tree),
        };
    }
    let east = owners.len() as i32 * 100;
    let bounds = Rect::new(Pos::metres(0, 0), Pos::metres(east, 100));
    Layout { space, version, bounds, tree }
}

fn leaf(owners: &[Option<Node>], at: usize) -> Tree {
    Tree::Leaf { cell: CellId(at as u32), owner: owners[at] }
}

impl Cluster {
    /// So many cells; the plain is split among all, the cave belongs to the last.
    pub fn new(cells: u16) -> Self {
        Self::with(cells, |_| {})
    }

    pub fn with(cells: u16, configure: impl Fn(&mut CellConfig)) -> Self {
        let nodes: Vec<Node> = (1..=cells).map(cell).collect();
        let cores = nodes.iter().map(|node| {
            let mut config = CellConfig::new(*node, 7, STEP_US);
            configure(&mut config);
            (*node, CellCore::new(config, world()))
        });
        let mut cluster = Self {
            tick: Tick(100),
            cells: cores.collect(),
            shadows: BTreeMap::new(),
            base: FakeBase::new(),
            wire: BTreeMap::new(),
            inputs: BTreeMap::new(),
            paused: Vec::new(),
            lose_cell_mail: false,
            lose_mail_to: None,
            outputs: Vec::new(),
            next_n: BTreeMap::new(),
        };
        let owners: Vec<Option<Node>> = nodes.iter().copied().map(Some).collect();
        let mut members: Vec<Member> =
            nodes.iter().map(|node| Member { node: *node, state: MemberState::Serving }).collect();
        members.push(Member { node: base(), state: MemberState::Serving });
        cluster.tell_all(MapChange::Members(members));
        let slot = SlotOwner { slot: SlotId(0), base: base().name, term: Term(1) };
        cluster.tell_all(MapChange::Slots(vec![slot]));
        cluster.tell_all(MapChange::Layout(layout(PLAIN, 1, &owners)));
        cluster.tell_all(MapChange::Layout(layout(CAVE, 1, &[owners[owners.len() - 1]])));
        cluster.run(3);
        cluster
    }

    pub fn tell_all(&mut self, change: MapChange) {
        for node in self.cells.keys().copied().collect::<Vec<_>>() {
            self.tell(node, change.clone());
        }
    }

    pub fn tell(&mut self, node: Node, change: MapChange) {
        self.input(node).map.push(change);
    }

    pub fn order(&mut self, node: Node, order: CellOrder) {
        self.input(node).orders.push(order);
    }

    pub fn input(&mut self, node: Node) -> &mut CellInput {
        self.inputs.entry(node).or_insert_with(|| CellInput::empty(Tick(0)))
    }

    /// Writes every core down, reads it back, and has the copies run along.
    pub fn shadow(&mut self) {
        for (node, core) in &self.cells {
            let copy = CellCore::restore(&core.snapshot(), world()).unwrap();
            self.shadows.insert(*node, copy);
        }
    }

    /// Puts a bundle on the wire.
    pub fn inject(&mut self, to: Node, frame: Frame) {
        self.wire.entry(to).or_default().push(frame);
    }

    /// One tick of every cell, then of the base.
    pub fn step(&mut self) {
        self.tick = self.tick.next();
        let mut flushed = Vec::new();
        for (node, core) in &mut self.cells {
            if self.paused.contains(node) {
                continue;
            }
            let mut input = self.inputs.remove(node).unwrap_or(CellInput::empty(Tick(0)));
            input.tick = self.tick;
            input.frames = self.wire.remove(node).unwrap_or_default();
            input.frames.sort_by_key(|frame| (frame.from, frame.bundle.n));
            let shadow = self.shadows.get_mut(node).map(|shadow| {
                let output = shadow.tick(input.clone());
                (output, shadow.digest())
            });
            let output = core.tick(input);
            if let Some(shadow) = shadow {
                assert_eq!(shadow.1, core.digest(), "digest of {node} at {}", self.tick);
                assert_eq!(shadow.0, output, "output of {node} at {}", self.tick);
            }
            flushed.extend(output.bundles.iter().cloned().map(|out| (*node, out)));
            self.outputs.push((*node, self.tick, output));
        }
        let is_lost = |to: Node| {
            self.lose_cell_mail && to.name.kind == NodeKind::Cell || self.lose_mail_to == Some(to)
        };
        flushed.retain(|(_, out)| !is_lost(out.to));
        for (from, out) in flushed {
            self.inject(out.to, Frame { from, bundle: out.bundle });
        }
        let frames = self.wire.remove(&self.base.life).unwrap_or_default();
        let peers: Vec<Node> = self.cells.keys().copied().collect();
        for out in self.base.run(self.tick, frames, &peers) {
            self.inject(out.to, Frame { from: self.base.life, bundle: out.bundle });
        }
    }

    pub fn run(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.step());
    }

    /// Runs until something holds; fails after 200 ticks.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..200 {
            if holds(self) {
                return;
            }
            self.step();
        }
        panic!("{what} did not happen in 200 ticks");
    }

    /// All events of a cell so far, with their ticks.
    pub fn events(&self, node: Node) -> impl Iterator<Item = (Tick, &Event)> {
        let of_node = self.outputs.iter().filter(move |(from, _, _)| *from == node);
        of_node.flat_map(|(_, tick, output)| output.events.iter().map(move |e| (*tick, e)))
    }

    /// All events of all cells so far.
    pub fn all_events(&self) -> impl Iterator<Item = (Node, Tick, &Event)> {
        self.outputs
            .iter()
            .flat_map(|(node, tick, output)| output.events.iter().map(|e| (*node, *tick, e)))
    }

    /// Lets a client in at an entity.
    pub fn attach(&mut self, id: EntityId, session: u64) {
        self.attach_with_view(id, session, 0);
    }

    pub fn attach_with_view(&mut self, id: EntityId, session: u64, radius: i32) {
        let session = SessionId(session);
        self.base.sessions.entry(id).or_default().push((session, radius));
        let owner = self.base.records[&id].owner;
        self.base.say(owner, BaseToCell::Attach { entity: id, session, radius });
    }

    /// A command of a client.
    pub fn command(&mut self, id: EntityId, session: u64, method: u8, args: &[u8]) -> u64 {
        let deadline = Tick(self.tick.0 + 100);
        self.command_by(id, session, method, args, deadline)
    }

    pub fn command_by(
        &mut self,
        id: EntityId,
        session: u64,
        method: u8,
        args: &[u8],
        deadline: Tick,
    ) -> u64 {
        let session = SessionId(session);
        let n = self.next_n.entry(session).or_default();
        *n += 1;
        let (n, args) = (*n, Bytes::copy_from_slice(args));
        let acknowledged = self.base.answered.get(&session).copied().unwrap_or(0);
        let command = Command { entity: id, session, n, method, args, deadline, acknowledged };
        self.base.deliver(BaseToCell::Command(command));
        n
    }

    /// The base dies and comes back with these records and nothing else.
    pub fn restart_base(&mut self, records: BTreeMap<EntityId, super::base::Record>) {
        let life = self.base.life;
        self.wire.remove(&life);
        for frames in self.wire.values_mut() {
            frames.retain(|frame| frame.from != life);
        }
        self.base = FakeBase::new();
        self.base.life = Node::new(NodeKind::Base, 1, life.incarnation.0 + 1);
        self.base.records = records;
        for node in self.cells.keys() {
            self.base.say(*node, BaseToCell::Resync { question: 1 });
        }
    }

    /// An operator's order.
    pub fn handoff(&mut self, order: u64, id: EntityId, to: Node, hold: u32) {
        let deadline = Tick(self.tick.0 + 100);
        let owner = self.base.records[&id].owner;
        let order = HandoffOrder { order, entity: id, to, hold, deadline };
        self.base.say(owner, BaseToCell::Order(order));
    }

    /// The committed handoffs of an entity so far.
    pub fn handoffs(&self, id: EntityId) -> usize {
        self.base.records[&id].last_ticks.len()
    }

    /// Ticks that nobody simulated and ticks that two did, over all committed handoffs.
    pub fn missed_and_doubled(&self, id: EntityId) -> (u64, u64) {
        let record = &self.base.records[&id];
        let pairs = record.last_ticks.iter().zip(record.first_ticks.iter().skip(1));
        pairs.fold((0, 0), |(missed, doubled), (last, first)| {
            let gap = (first.0 as i64) - (last.0 as i64);
            (missed + (gap - 1).max(0) as u64, doubled + (1 - gap).max(0) as u64)
        })
    }
}
