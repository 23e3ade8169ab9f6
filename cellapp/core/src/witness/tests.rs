#![allow(clippy::unwrap_used)]

mod budget;
mod handoff;
mod property;
mod sight;

use super::*;
use crate::ghosts::kit::{PLAIN, WOLF, at, epoch, id, kinds, session};
use crate::interest::{Looks, Shown, ghosted_props, pose_of};
use marchland_codec_core::{FullView, Pose, Prop, PropValue, Props, Version, ViewOp, ViewReader};
use marchland_common::journal::Event;
use marchland_common::msg::View;
use marchland_common::order::{EntityId, Seq, SessionId, Tick};
use marchland_common::world::{Kinds, Place, Pos, Rect, Value};
use std::collections::BTreeMap;

const LIMITS: ViewLimits =
    ViewLimits { radius_max: 60_000, hysteresis: 16, bytes: 4_096, forgets_leaves: false };

/// What a client was told of one entity.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    version: Version,
    pose: Pose,
    props: BTreeMap<u8, Value>,
}

/// A client that believes what it is told, and checks that it can.
#[derive(Clone, Debug, Default, PartialEq)]
struct Client {
    held: BTreeMap<EntityId, Held>,
    enters: usize,
    leaves: usize,
    updates: usize,
    resets: usize,
    fresh: usize,
    /// The bytes of each view.
    sizes: Vec<usize>,
}

impl Client {
    fn take(&mut self, view: &View) {
        if view.fresh {
            self.held.clear();
            self.fresh += 1;
        }
        self.sizes.push(view.body.len());
        let reader = ViewReader::new(&view.body).unwrap();
        assert_eq!(reader.tick(), view.tick);
        for op in reader {
            self.apply(op.unwrap());
        }
    }

    fn apply(&mut self, op: ViewOp<'_>) {
        match op {
            ViewOp::Enter { entity, kind, full } => {
                assert_eq!(kind, WOLF);
                let before = self.held.insert(entity, whole(full));
                assert!(before.is_none(), "{entity:?} entered twice");
                self.enters += 1;
            }
            ViewOp::Leave { entity } => {
                assert!(self.held.remove(&entity).is_some(), "{entity:?} left but was not there");
                self.leaves += 1;
            }
            ViewOp::Reset { entity, full } => {
                let held = self.held.get_mut(&entity).expect("a reset is for who is held");
                assert!(full.version.epoch > held.version.epoch);
                *held = whole(full);
                self.resets += 1;
            }
            ViewOp::Update { entity, fields } => {
                let held = self.held.get_mut(&entity).expect("an update is for who is held");
                if let Some(version) = fields.version {
                    assert!(version >= held.version, "{entity:?} went back");
                    held.version = version;
                }
                let [x, y] = fields.position.unwrap_or([held.pose.x(), held.pose.y()]);
                let heading = fields.heading.unwrap_or(held.pose.heading());
                held.pose = Pose::from_quanta(x, y, heading).unwrap();
                held.props.extend(values(fields.props));
                self.updates += 1;
            }
        }
    }
}

fn whole(full: FullView<Props<'_>>) -> Held {
    Held { version: full.version, pose: full.pose, props: values(full.props).collect() }
}

fn values(props: Props<'_>) -> impl Iterator<Item = (u8, Value)> {
    props.map(|Prop { slot, value }| match value {
        PropValue::Int(number) => (slot, Value::Int(number)),
        PropValue::Bytes(bytes) => (slot, Value::Bytes(bytes.to_vec())),
    })
}

/// A field with entities, witnesses and their clients.
struct Field {
    kinds: Kinds,
    looks: Looks,
    witnesses: Witnesses,
    scratch: ViewScratch,
    clients: BTreeMap<(EntityId, SessionId), Client>,
    events: Vec<Event>,
    bytes: Vec<u8>,
    now: Tick,
}

impl Field {
    fn new(limits: ViewLimits) -> Self {
        let kinds = kinds();
        let mut looks = Looks::new(30_000);
        looks.open_space(PLAIN, Rect::new(Pos::metres(-300, -300), Pos::metres(600, 600)));
        Self {
            scratch: ViewScratch::new(&kinds),
            kinds,
            looks,
            witnesses: Witnesses::new(limits),
            clients: BTreeMap::new(),
            events: Vec::new(),
            bytes: Vec::new(),
            now: Tick(10),
        }
    }

    /// Puts an entity somewhere, whole; the epoch is 1.
    fn put(&mut self, n: u64, place: Place) {
        self.show(n, place, 1, 1, 1);
    }

    fn show(&mut self, n: u64, place: Place, e: u64, seq: u64, since: u64) {
        let kind = self.kinds.get(WOLF).unwrap();
        let shown = Shown {
            kind: WOLF,
            space: place.space,
            pose: pose_of(&place),
            epoch: epoch(e),
            seq: Seq(seq),
            since: epoch(since),
            props: ghosted_props(kind, &kind.defaults()),
            is_real: true,
        };
        self.looks.show(id(n), shown);
    }

    fn step(&mut self, n: u64, place: Place) {
        self.looks.advance(id(n), place.space, pose_of(&place), [], false);
    }

    fn set(&mut self, n: u64, prop: u8, value: Value) {
        let look = self.looks.get(id(n)).unwrap();
        let (space, pose) = (look.space(), look.pose());
        self.looks.advance(id(n), space, pose, [(prop, value)], false);
    }

    fn attach(&mut self, n: u64, radius: i32) {
        let mut out = ViewOut::default();
        self.witnesses.attach(id(n), session(n), radius, &mut out);
        self.events.extend(out.events);
    }

    /// Runs all witnesses once, and hands the views to the clients.
    fn run(&mut self) {
        self.now = self.now.next();
        let mut out = ViewOut::default();
        self.witnesses.run(self.now, &mut self.looks, &mut self.scratch, &mut out);
        self.events.extend(out.events);
        for view in out.views {
            self.bytes.extend_from_slice(&view.body);
            self.clients.entry((view.entity, view.session)).or_default().take(&view);
        }
    }

    fn client(&mut self, n: u64) -> &mut Client {
        self.clients.entry((id(n), session(n))).or_default()
    }

    /// Whether the client of `n` holds exactly what is shown of everybody near enough.
    fn check(&mut self, n: u64) {
        let witness = self.looks.get(id(n)).unwrap();
        let (space, centre) = (witness.space(), witness.pos());
        let radius = self.witnesses.witnesses[&(id(n), session(n))].radius;
        let client = self.clients.entry((id(n), session(n))).or_default();
        let seen: Vec<EntityId> = client.held.keys().copied().collect();
        assert_eq!(seen, self.witnesses.seen(id(n), session(n)), "both ends agree");
        let near = |look: &crate::interest::Look, radius: i32| {
            look.space() == space && radius > 0 && centre.within(look.pos(), radius)
        };
        for other in self.looks.ids().into_iter().filter(|other| *other != id(n)) {
            let look = self.looks.get(other).unwrap();
            let held = client.held.get(&other);
            assert!(held.is_some() || !near(look, radius), "{n} misses {other:?}");
            assert!(held.is_none() || near(look, radius * 272 / 256), "{n} keeps {other:?}");
            let Some(held) = held else { continue };
            assert_eq!(held.pose, look.pose(), "{n} sees {other:?} elsewhere");
            for (prop, value) in &held.props {
                let is = look.props().iter().find(|(index, _)| index == prop);
                let far = *prop == crate::ghosts::kit::FUR && !centre.within(look.pos(), 20_000);
                assert!(far || is.map(|(_, v)| v) == Some(value), "{n} sees {other:?} wrong");
            }
        }
        assert!(client.held.keys().all(|other| self.looks.get(*other).is_some()));
    }

    /// How often anyone entered and left anyone's view, by the journal.
    fn balance(&self) -> BTreeMap<(EntityId, EntityId), (usize, usize)> {
        let mut balance: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for event in &self.events {
            match event {
                Event::Entered { witness, entity, .. } => {
                    balance.entry((*witness, *entity)).or_default().0 += 1;
                }
                Event::Left { witness, entity, .. } => {
                    balance.entry((*witness, *entity)).or_default().1 += 1;
                }
                _ => {}
            }
        }
        balance
    }
}

fn spot(x_mm: i32, y_mm: i32) -> Place {
    Place { space: PLAIN, pos: Pos::new(x_mm, y_mm), heading: 0 }
}
