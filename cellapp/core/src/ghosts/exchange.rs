//! A small cluster of owners and hosts in one test: links that are slow but keep their order, a
//! base that grants, and an observer that knows every state that was ever flushed.

mod base;
mod duties;
mod order;
mod property;

use super::kit::{WOLF, cell, kinds, map_of, strips};
use super::{GhostOut, GhostRange, Haunts, MirrorCtx, Mirrors, Patience, Reach};
use crate::interest::Looks;
use base::Base;
use marchland_common::cluster::{ClusterMap, MapChange};
use marchland_common::journal::Event;
use marchland_common::msg::CellToCell;
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Seq, Tick};
use marchland_common::world::{Kinds, Place, Value};
use std::collections::{BTreeMap, VecDeque};

pub(super) const RANGE: GhostRange = GhostRange { distance: 50_000, margin: 5_000, min_life: 10 };
const PATIENCE: Patience = Patience { stale: 40, abandoned: 400 };
pub(super) const PROCESSES: usize = 3;

/// A real of one process.
#[derive(Clone, Debug)]
pub(super) struct Wolf {
    pub(super) epoch: Epoch,
    pub(super) place: Place,
    pub(super) props: Vec<Value>,
    pub(super) dirty: u32,
    /// Where it goes when this tick ends, and since then.
    pub(super) leaving: Option<usize>,
    pub(super) is_frozen: bool,
}

/// One process.
pub(super) struct Process {
    pub(super) node: Node,
    pub(super) looks: Looks,
    pub(super) haunts: Haunts,
    pub(super) mirrors: Mirrors,
    pub(super) out: GhostOut,
    pub(super) wolves: BTreeMap<EntityId, Wolf>,
}

impl Process {
    fn new(node: Node, map: &ClusterMap) -> Self {
        let mut haunts = Haunts::new(node, RANGE);
        haunts.set_reach(Reach::new(node, map));
        Self {
            node,
            looks: Looks::new(30_000),
            haunts,
            mirrors: Mirrors::new(PATIENCE, false),
            out: GhostOut::default(),
            wolves: BTreeMap::new(),
        }
    }

    pub(super) fn mirror<R>(
        &mut self,
        (kinds, now): (&Kinds, Tick),
        work: impl FnOnce(&mut Mirrors, &mut MirrorCtx<'_>) -> R,
    ) -> R {
        let Self { mirrors, looks, out, .. } = self;
        work(mirrors, &mut MirrorCtx { now, kinds, looks, out })
    }
}

/// A bundle under way.
struct Parcel {
    due: Tick,
    mail: Vec<CellToCell>,
}

/// What was flushed and what was shown.
#[derive(Default)]
pub(super) struct Observer {
    flushed: BTreeMap<(EntityId, Epoch, Seq), u64>,
    shown: BTreeMap<(Node, EntityId), (Epoch, Seq)>,
    /// How many states hosts have shown.
    pub(super) applied: usize,
}

impl Observer {
    fn note(&mut self, at: Node, event: &Event) {
        match *event {
            Event::GhostFlushed { entity, epoch, seq, digest } => {
                let before = self.flushed.insert((entity, epoch, seq), digest);
                assert!(before.is_none_or(|d| d == digest), "two states under one name");
            }
            Event::GhostApplied { entity, epoch, seq, digest, .. } => {
                let flushed = self.flushed.get(&(entity, epoch, seq));
                assert_eq!(flushed, Some(&digest), "{at} shows {entity:?} {epoch:?} {seq}");
                let before = self.shown.insert((at, entity), (epoch, seq));
                assert!(before.is_none_or(|b| b <= (epoch, seq)), "{at} went back on {entity:?}");
                self.applied += 1;
            }
            _ => {}
        }
    }
}

/// The cluster.
pub(super) struct Cluster {
    pub(super) kinds: Kinds,
    pub(super) now: Tick,
    pub(super) map: ClusterMap,
    pub(super) processes: Vec<Process>,
    pub(super) base: Base,
    pub(super) observer: Observer,
    /// Ticks that a bundle takes from one process to another.
    pub(super) delay: BTreeMap<(u16, u16), u64>,
    net: BTreeMap<(Node, Node), VecDeque<Parcel>>,
    version: u64,
    lives: u64,
}

impl Cluster {
    pub(super) fn new() -> Self {
        let owners: Vec<Node> = (1..=PROCESSES as u16).map(cell).collect();
        let map = map_of(strips(&owners));
        Self {
            kinds: kinds(),
            now: Tick(1_000),
            processes: owners.iter().map(|node| Process::new(*node, &map)).collect(),
            map,
            base: Base::default(),
            observer: Observer::default(),
            delay: BTreeMap::new(),
            net: BTreeMap::new(),
            version: 1,
            lives: 100,
        }
    }

    /// One tick: what the base and the links bring, what moves, what is told.
    pub(super) fn tick(&mut self) {
        self.now = self.now.next();
        self.deliver();
        self.do_duties();
        for at in 0..self.processes.len() {
            let clock = (&self.kinds, self.now);
            self.processes[at].mirror(clock, |mirrors, cx| mirrors.tick(cx));
            self.build(at);
            self.send(at);
        }
    }

    pub(super) fn ticks(&mut self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    fn deliver(&mut self) {
        let lives: Vec<Node> = self.processes.iter().map(|process| process.node).collect();
        for ((from, to), parcels) in &mut self.net {
            let Some(at) = lives.iter().position(|node| node == to) else { continue };
            while parcels.front().is_some_and(|parcel| parcel.due <= self.now) {
                let mail = parcels.pop_front().map(|parcel| parcel.mail).unwrap_or_default();
                if self.map.is_dead(*from) {
                    continue;
                }
                let process = &mut self.processes[at];
                process.mirror((&self.kinds, self.now), |mirrors, cx| mirrors.heard(*from, cx));
                for message in mail {
                    if let CellToCell::GhostNeedSnapshot { entity, epoch } = message {
                        process.haunts.need_snapshot(*from, entity, epoch, &mut process.out);
                        continue;
                    }
                    let clock = (&self.kinds, self.now);
                    let is_taken =
                        process.mirror(clock, |mirrors, cx| mirrors.apply(*from, &message, cx));
                    assert!(is_taken, "{message:?}");
                }
            }
        }
        self.net.retain(|(_, to), _| lives.contains(to));
    }

    /// SyncBuild of one process.
    fn build(&mut self, at: usize) {
        let process = &mut self.processes[at];
        let kind = self.kinds.get(WOLF).expect("wolves are declared");
        for (entity, wolf) in process.wolves.iter_mut().filter(|(_, wolf)| !wolf.is_frozen) {
            let dirty = std::mem::take(&mut wolf.dirty);
            let props = (wolf.props.as_slice(), dirty);
            process.haunts.touch(*entity, kind, &wolf.place, props, &mut process.looks);
        }
        process.haunts.flush(self.now, &process.looks, &mut process.out);
        let mut frozen = Vec::new();
        for (entity, wolf) in process.wolves.iter_mut().filter(|(_, wolf)| !wolf.is_frozen) {
            if let Some(target) = wolf.leaving {
                wolf.is_frozen = true;
                frozen.push((*entity, wolf.clone(), target));
            }
        }
        for (entity, wolf, target) in frozen {
            let handed = process.haunts.freeze(entity, &process.looks).expect("it is real here");
            let epoch = wolf.epoch;
            let clock = (&self.kinds, self.now);
            process.mirror(clock, |mirrors, cx| mirrors.from_real(entity, epoch, cx));
            self.base.handed(entity, wolf, (process.node, target), handed, self.now);
        }
    }

    fn send(&mut self, at: usize) {
        let process = &mut self.processes[at];
        let from = process.node;
        let mut out = std::mem::take(&mut process.out);
        out.events.iter().for_each(|event| self.observer.note(from, event));
        for to in self.processes.iter().map(|process| process.node).filter(|to| *to != from) {
            let mail = out.mail.extract_if(.., |(node, _)| *node == to);
            let mail = mail.map(|(_, message)| message).collect();
            let delay = self.delay.get(&(from.name.number, to.name.number)).copied().unwrap_or(1);
            let parcels = self.net.entry((from, to)).or_default();
            let last = parcels.back().map_or(Tick(0), |parcel| parcel.due);
            parcels.push_back(Parcel { due: Tick((self.now.0 + delay).max(last.0)), mail });
        }
    }

    /// Ends a process and starts the next life of its name, which owns the same strip.
    pub(super) fn restart(&mut self, at: usize) {
        let dead = self.processes[at].node;
        self.lives += 1;
        let node = Node::new(NodeKind::Cell, dead.name.number, self.lives);
        self.map.apply(MapChange::Dead(vec![dead.incarnation]));
        self.processes[at] = Process::new(node, &self.map);
        let owners: Vec<Node> = self.processes.iter().map(|process| process.node).collect();
        self.net.retain(|(_, to), _| *to != dead);
        self.lay_out(&owners);
        for process in &mut self.processes {
            process.haunts.forget_host(dead);
            process.mirror((&self.kinds, self.now), |mirrors, cx| mirrors.forget_owner(dead, cx));
        }
        self.base.restore_from(dead, (at + 1) % PROCESSES, self.now);
    }

    /// Gives the strips to these owners, from west to east.
    pub(super) fn lay_out(&mut self, owners: &[Node]) {
        self.version += 1;
        let mut layout = strips(owners);
        layout.version = self.version;
        assert!(self.map.apply(MapChange::Layout(layout)));
        for process in &mut self.processes {
            process.haunts.set_reach(Reach::new(process.node, &self.map));
        }
    }

    /// A wolf that is real somewhere and runs.
    pub(super) fn wolf(&mut self, entity: EntityId) -> Option<&mut Wolf> {
        let owner = self.base.owner(entity)?;
        let process = self.processes.iter_mut().find(|process| process.node == owner)?;
        process.wolves.get_mut(&entity).filter(|wolf| !wolf.is_frozen)
    }

    pub(super) fn at(&self, node: Node) -> Option<usize> {
        self.processes.iter().position(|process| process.node == node)
    }

    /// Everything that a quiet cluster must fulfil.
    pub(super) fn check_quiet(&self) {
        for (entity, owner) in self.base.owners() {
            let at = self.at(owner).expect("an owner lives");
            let process = &self.processes[at];
            let wolf = &process.wolves[&entity];
            let look = process.looks.get(entity).expect("a real is shown");
            assert!(look.is_real());
            let near =
                Reach::new(owner, &self.map).near(wolf.place.space, wolf.place.pos, i32::MAX);
            for host in self.processes.iter().filter(|host| host.node != owner) {
                let is_near = |reach: i64| {
                    near.iter().any(|n| n.node == host.node && n.distance_sq <= reach * reach)
                };
                let shows = host.mirrors.shows(entity);
                assert!(shows || !is_near(50_000), "{} misses {entity:?}", host.node);
                assert!(!shows || is_near(55_000), "{} keeps {entity:?}", host.node);
                assert_eq!(shows, process.haunts.hosts(entity).contains(&host.node));
                let name = |look: &crate::interest::Look| {
                    (look.epoch(), look.seq(), look.digest(), look.is_stale(), look.since())
                };
                let ghost = host.looks.get(entity).map(name);
                assert_eq!(ghost, shows.then(|| name(look)), "{} at {}", look.id(), host.node);
            }
        }
        let known: usize = self.base.owners().count();
        for process in &self.processes {
            assert_eq!(process.mirrors.waiting(), 0);
            assert_eq!(process.looks.len(), process.wolves.len() + process.mirrors.len());
            assert!(process.looks.len() <= known);
        }
    }

    /// Nothing is left of any entity, besides the memory of ended ghosts.
    pub(super) fn check_empty(&self) {
        for Process { node, looks, haunts, mirrors, .. } in &self.processes {
            assert!(looks.is_empty(), "{node}: {:?}", looks.ids());
            assert!(haunts.is_idle(), "{haunts:?}");
            assert!(mirrors.is_idle(), "{mirrors:?}");
        }
    }

    /// Both sides of every process, written down and read back, are equal.
    pub(super) fn check_snapshots(&self) {
        for process in &self.processes {
            let haunts = postcard::to_stdvec(&process.haunts).expect("it serialises");
            assert_eq!(postcard::from_bytes::<Haunts>(&haunts).as_ref(), Ok(&process.haunts));
            let mirrors = postcard::to_stdvec(&process.mirrors).expect("it serialises");
            assert_eq!(postcard::from_bytes::<Mirrors>(&mirrors).as_ref(), Ok(&process.mirrors));
        }
    }
}
