//! A cluster of real base cores and scripted owners, stepped by hand: each test says who speaks,
//! what gets lost and when a disk is done.

mod actor;
mod base;
mod clients;
mod owner;
mod player;
mod proof;
mod slots;
mod storm;
mod traffic;

pub use actor::*;
pub use base::*;
pub use clients::*;
pub use owner::*;
pub use player::*;
pub use proof::*;
pub use slots::*;
pub use storm::*;
pub use traffic::*;

use bytes::Bytes;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::log::{LogRecord, Recovered, replay};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::rng::Rng;
use marchland_common::world::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const SPACE: SpaceId = SpaceId(1);
pub const HERO: KindId = KindId(1);
pub const GOLD: u8 = 0;
pub const NOTE: u8 = 1;
pub const MOOD: u8 = 2;
pub const POKE: u8 = 0;
pub const HIDDEN: u8 = 1;

pub fn kinds() -> Arc<Kinds> {
    let prop = |name: &str, scope, lasting, default, conserved| PropDef {
        name: name.to_owned(),
        scope,
        lasting,
        default,
        conserved,
        detail_distance: None,
    };
    let method = |name: &str, exposed| MethodDef { name: name.to_owned(), exposed };
    Arc::new(Kinds::new(vec![KindDef {
        id: HERO,
        name: "hero".to_owned(),
        props: vec![
            prop("gold", Scope::OwnClient, Lasting::Durable, Value::Int(100), true),
            prop("note", Scope::AllClients, Lasting::Durable, Value::Bytes(Vec::new()), false),
            prop("mood", Scope::AllClients, Lasting::Volatile, Value::Int(0), false),
        ],
        methods: vec![method("poke", true), method("hidden", false)],
        has_base: true,
    }]))
}

pub fn cell(number: u16) -> Node {
    Node::new(NodeKind::Cell, number, 100 + u64::from(number))
}

pub fn base(number: u16) -> Node {
    Node::new(NodeKind::Base, number, 10 + u64::from(number))
}

/// West of 0 belongs to the first cell, east of it to the second, and a strip in the far north to
/// the third.
pub fn layout(owners: [Node; 3]) -> Layout {
    let leaf =
        |n: u32| Box::new(Tree::Leaf { cell: CellId(n), owner: Some(owners[n as usize - 1]) });
    Layout {
        space: SPACE,
        version: 1,
        bounds: Rect::new(Pos::metres(-100, -100), Pos::metres(100, 100)),
        tree: Tree::Split {
            axis: Axis::Y,
            at: 90 * METRE,
            low: Box::new(Tree::Split { axis: Axis::X, at: 0, low: leaf(1), high: leaf(2) }),
            high: leaf(3),
        },
    }
}

pub fn west() -> Place {
    Place { space: SPACE, pos: Pos::metres(-10, 0), heading: 0 }
}

pub fn east() -> Place {
    Place { space: SPACE, pos: Pos::metres(10, 0), heading: 0 }
}

/// Bases, owners and the bundles between them.
pub struct Cluster {
    pub kinds: Arc<Kinds>,
    pub tick: u64,
    pub bases: Vec<Base>,
    pub owners: BTreeMap<Node, Owner>,
    /// Everything any base sent, in order.
    pub sent: Vec<(Node, Outgoing)>,
    pub members: Vec<Member>,
    pub slots: Vec<SlotOwner>,
    /// The newest term that a slot's key was given.
    pub term: u64,
    /// The present lives of the three cells, and the version of the layout.
    pub lives: [Node; 3],
    pub version: u64,
    /// Lives of bases that run no more, and whose logs stay.
    pub lost: BTreeSet<Node>,
    /// How many of a hundred bundles get lost.
    pub loss: u64,
    pub rng: Rng,
}

impl Cluster {
    pub fn new() -> Self {
        Self::with(1, |_| {})
    }

    /// Some bases, slots dealt out among them, three cells, everybody heard.
    pub fn with(bases: u16, adjust: impl Fn(&mut BaseConfig)) -> Self {
        let kinds = kinds();
        let slots: Vec<SlotOwner> = (0..=255u8)
            .map(|slot| {
                let number = u16::from(slot) % bases + 1;
                SlotOwner { slot: SlotId(slot), base: base(number).name, term: Term(5) }
            })
            .collect();
        let mut cluster = Self {
            kinds,
            tick: 1_000,
            bases: Vec::new(),
            owners: (1..=3).map(|n| (cell(n), Owner::new(cell(n)))).collect(),
            sent: Vec::new(),
            members: Vec::new(),
            slots,
            term: 5,
            lives: [cell(1), cell(2), cell(3)],
            version: 1,
            lost: BTreeSet::new(),
            loss: 0,
            rng: Rng(1),
        };
        for n in 1..=bases {
            let mut config = BaseConfig::new(base(n), 7, 50_000);
            adjust(&mut config);
            cluster.bases.push(Base::new(config, &cluster.kinds, Recovered::default()));
        }
        let lives = (1..=3).map(cell).chain((1..=bases).map(base));
        cluster.members = lives.map(|node| Member { node, state: MemberState::Serving }).collect();
        cluster.announce();
        cluster.tick();
        cluster
    }

    /// Tells every base what the store says.
    pub fn announce(&mut self) {
        let layout = Layout { version: self.version, ..layout(self.lives) };
        for base in &mut self.bases {
            base.map.push(MapChange::Members(self.members.clone()));
            base.map.push(MapChange::Slots(self.slots.clone()));
            base.map.push(MapChange::Layout(layout.clone()));
        }
    }

    pub fn declare_dead(&mut self, node: Node) {
        self.members.retain(|m| m.node != node);
        for base in &mut self.bases {
            base.proof.dead.insert(node.incarnation);
            base.map.push(MapChange::Members(self.members.clone()));
            base.map.push(MapChange::Dead(vec![node.incarnation]));
        }
    }

    /// One whole tick: owners speak, bases flush, disks sync, everything arrives.
    pub fn tick(&mut self) {
        self.flush();
        self.sync();
    }

    pub fn ticks(&mut self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    /// Owners speak and bases flush; nothing becomes durable.
    pub fn flush(&mut self) {
        self.tick += 1;
        let tick = Tick(self.tick);
        let nodes: Vec<Node> = self.bases.iter().map(|b| b.node).collect();
        let lost = &self.lost;
        for owner in self.owners.values_mut() {
            for (at, node) in nodes.iter().enumerate().filter(|(_, node)| !lost.contains(node)) {
                let slots = &self.slots;
                let mine =
                    |id: EntityId| slots.iter().any(|s| s.slot == id.slot() && s.base == node.name);
                let frame = owner.speak(tick, *node, mine);
                let lost = self.loss > 0 && self.rng.chance(self.loss, 100);
                self.bases[at].frames.extend(frame.filter(|_| !lost));
            }
        }
        for at in 0..self.bases.len() {
            if self.lost.contains(&self.bases[at].node) {
                continue;
            }
            let output = self.bases[at].run(tick, Moment::Flush, None);
            self.carry(at, output);
        }
    }

    /// The disks are done: a Release moment at every base that wrote something.
    pub fn sync(&mut self) {
        (0..self.bases.len()).for_each(|at| self.sync_one(at));
    }

    pub fn sync_one(&mut self, at: usize) {
        let last = self.bases[at].log.len() as u64;
        self.sync_to(at, last);
    }

    /// The disk of one base is done up to a record.
    pub fn sync_to(&mut self, at: usize, lsn: u64) {
        if lsn <= self.bases[at].durable || self.lost.contains(&self.bases[at].node) {
            return;
        }
        self.bases[at].durable = lsn;
        self.bases[at].releases = (self.bases[at].releases + 1).clamp(1, 3);
        let moment = Moment::Release(self.bases[at].releases);
        let output = self.bases[at].run(Tick(self.tick), moment, Some(Lsn(lsn)));
        self.carry(at, output);
    }

    fn carry(&mut self, at: usize, output: BaseOutput) {
        let from = self.bases[at].node;
        for outgoing in output.bundles {
            self.sent.push((from, outgoing.clone()));
            if self.loss > 0 && self.rng.chance(self.loss, 100) {
                continue;
            }
            if let Some(owner) = self.owners.get_mut(&outgoing.to) {
                owner.hear(from, &outgoing.bundle, &self.kinds);
            } else if let Some(base) = self.bases.iter_mut().find(|b| b.node == outgoing.to) {
                base.frames.push(Frame { from, bundle: outgoing.bundle });
            }
        }
    }

    pub fn owner(&mut self, number: u16) -> &mut Owner {
        self.owners.get_mut(&cell(number)).unwrap()
    }

    /// An entity in the west, granted and reported.
    pub fn born(&mut self) -> EntityId {
        self.born_at(0, west())
    }

    pub fn born_at(&mut self, at: usize, place: Place) -> EntityId {
        let order = BaseOrder::Create {
            request: self.tick,
            kind: HERO,
            place,
            argument: b"hello".to_vec(),
            props: Vec::new(),
        };
        self.bases[at].orders_in.push(order);
        self.ticks(2);
        let answer = self.bases[at].answers.pop();
        let Some(OrderAnswer::Created { entity, .. }) = answer else {
            panic!("not created: {answer:?}")
        };
        entity
    }

    /// Every message of a kind that any base sent since a mark, with its receiver.
    pub fn said<T>(&self, since: usize, pick: impl Fn(&Msg) -> Option<T>) -> Vec<(Node, T)> {
        let bundles = self.sent[since..].iter();
        bundles
            .flat_map(|(_, out)| out.bundle.msgs.iter().map(move |msg| (out.to, msg)))
            .filter_map(|(to, msg)| pick(msg).map(|t| (to, t)))
            .collect()
    }

    pub fn mark(&self) -> usize {
        self.sent.len()
    }
}

/// The record that a fact rests on.
pub fn lsn_of(event: &Event) -> Option<Lsn> {
    match event {
        Event::Created { lsn, .. }
        | Event::Accepted { lsn, .. }
        | Event::OwnerChanged { lsn, .. }
        | Event::Burned { lsn, .. }
        | Event::SlotTaken { lsn, .. }
        | Event::SlotFrozen { lsn, .. }
        | Event::SlotGiven { lsn, .. }
        | Event::Destroyed { lsn, .. } => Some(*lsn),
        _ => None,
    }
}

pub fn grant_of(msg: &Msg) -> Option<Grant> {
    match msg {
        Msg::BaseToCell(BaseToCell::Grant(grant)) => Some(grant.clone()),
        _ => None,
    }
}

pub fn to_cell(msg: &Msg) -> Option<BaseToCell> {
    match msg {
        Msg::BaseToCell(msg) => Some(msg.clone()),
        _ => None,
    }
}
