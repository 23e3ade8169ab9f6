//! The coordination store: the stand-in's state machine, and what each process last read of it.
//!
//! A watch is a hint here as anywhere: a process that hears of a change lists everything and takes
//! what differs.

use crate::config::SimConfig;
use crate::happening::{Agenda, Happening};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::order::{Node, NodeKind, NodeName, SlotId, SpaceId, Term};
use marchland_common::rng::Rng;
use marchland_common::world::Layout;
use marchland_frontier_core::spaces;
use marchland_manager_core::{Facts, SpaceSpec, Write, plan};
use marchland_standin_core::{
    Config, Handled, KeyRange, KeyValue, PutRequest, RangeRequest, Request, Response, Standin,
};
use std::collections::BTreeMap;

/// What a process last read.
#[derive(Default)]
struct Known {
    members: Vec<Member>,
    slots: Vec<SlotOwner>,
    layouts: BTreeMap<SpaceId, u64>,
}

pub(crate) struct Store {
    standin: Standin,
    known: BTreeMap<NodeName, Known>,
    rng: Rng,
    faulty: bool,
    pub(crate) lost_notices: u64,
}

/// A lost event is found by the next full list, at the latest after this long.
const RELIST_US: u64 = 3_000_000;

impl Store {
    pub(crate) fn new(config: &SimConfig) -> Self {
        Self {
            standin: Standin::new(Config::default()),
            known: BTreeMap::new(),
            rng: Rng::child(config.seed, 0x7374_6f72),
            faulty: config.faults.store,
            lost_notices: 0,
        }
    }

    fn put(&mut self, now: u64, key: &str, value: Vec<u8>) {
        let put = PutRequest { key: key.as_bytes().to_vec(), value, ..PutRequest::default() };
        let outcome = self.standin.handle(now / 1_000, Request::Put(put));
        assert!(
            matches!(&outcome.handled, Handled::Answered(Ok(_))),
            "a plain put succeeds: {:?}",
            outcome.handled
        );
    }

    fn list(&mut self, now: u64, prefix: &str) -> Vec<KeyValue> {
        let range = RangeRequest { range: KeyRange::prefix(prefix), ..RangeRequest::default() };
        match self.standin.handle(now / 1_000, Request::Range(range)).handled {
            Handled::Answered(Ok(reply)) => match reply.body {
                Response::Range(range) => range.kvs,
                other => unreachable!("a range answers with a range, not {other:?}"),
            },
            other => unreachable!("a plain range succeeds: {other:?}"),
        }
    }

    /// Registers a process: its incarnation is the create revision of its key.
    pub(crate) fn register(&mut self, now: u64, name: NodeName) -> Node {
        self.put(now, &format!("member/{name}"), Vec::new());
        let lives = self.members(now);
        lives.into_iter().find(|m| m.node.name == name).map_or_else(
            || unreachable!("a key that was just put is listed"),
            |m| {
                self.known.insert(name, Known::default());
                m.node
            },
        )
    }

    fn members(&mut self, now: u64) -> Vec<Member> {
        let member = |kv: KeyValue| {
            let key = String::from_utf8(kv.key).ok()?;
            let name: NodeName = key.strip_prefix("member/")?.parse().ok()?;
            let node = Node::new(name.kind, name.number, kv.create_revision as u64);
            Some(Member { node, state: MemberState::Serving })
        };
        self.list(now, "member/").into_iter().filter_map(member).collect()
    }

    fn slots(&mut self, now: u64) -> Vec<SlotOwner> {
        let slot = |kv: KeyValue| {
            let key = String::from_utf8(kv.key).ok()?;
            let slot: SlotId = key.strip_prefix("slot/")?.parse().ok()?;
            let base = String::from_utf8(kv.value).ok()?.parse().ok()?;
            Some(SlotOwner { slot, base, term: Term(kv.mod_revision as u64) })
        };
        self.list(now, "slot/").into_iter().filter_map(slot).collect()
    }

    pub(crate) fn layouts(&mut self, now: u64) -> BTreeMap<SpaceId, Layout> {
        let layout = |kv: KeyValue| {
            let layout: Layout = postcard::from_bytes(&kv.value).ok()?;
            Some((layout.space, layout))
        };
        self.list(now, "space/").into_iter().filter_map(layout).collect()
    }

    pub(crate) fn put_layout(&mut self, agenda: &mut Agenda, layout: &Layout) {
        let value = postcard::to_stdvec(layout).unwrap_or_default();
        self.put(agenda.now, &format!("space/{}", layout.space), value);
        self.tell_all(agenda);
    }

    /// What a manager does first: slots and layouts from what is registered.
    pub(crate) fn lay_out(&mut self, agenda: &mut Agenda) {
        let now = agenda.now;
        let spec = |s: &marchland_frontier_core::SpaceSpec| {
            (s.id, SpaceSpec { id: s.id, bounds: s.bounds, cells: s.cells })
        };
        let facts = Facts {
            members: self.members(now),
            specs: spaces().iter().map(spec).collect(),
            waited_enough: true,
            ..Facts::default()
        };
        for write in plan(&facts).writes {
            match write {
                Write::Slot(slot, base) => {
                    self.put(now, &format!("slot/{slot}"), base.to_string().into_bytes());
                }
                Write::Layout(layout) => self.put_layout(agenda, &layout),
                Write::RemoveSpace(space) => unreachable!("space {space} was just asked for"),
            }
        }
        self.tell_all(agenda);
    }

    fn tell_all(&mut self, agenda: &mut Agenda) {
        let names: Vec<NodeName> = self.known.keys().copied().collect();
        // The world begins with everybody knowing the map; what changes later may come late.
        let faulty = self.faulty && agenda.now > 0;
        for name in names {
            let most = if faulty { 2_000_000 } else { 15_000 };
            let delay = self.rng.between(500, most) as u64;
            if faulty && self.rng.chance(1, 4) {
                self.lost_notices += 1;
                agenda.after(RELIST_US, Happening::Notice(name));
            } else {
                agenda.after(delay, Happening::Notice(name));
            }
        }
    }

    /// What differs from what the process read before.
    pub(crate) fn read(&mut self, now: u64, name: NodeName) -> Vec<MapChange> {
        let (members, slots) = (self.members(now), self.slots(now));
        let layouts = self.layouts(now);
        let Some(known) = self.known.get_mut(&name) else { return Vec::new() };
        let mut changes = Vec::new();
        if known.members != members {
            known.members.clone_from(&members);
            changes.push(MapChange::Members(members));
        }
        if known.slots != slots {
            known.slots.clone_from(&slots);
            changes.push(MapChange::Slots(slots));
        }
        for (space, layout) in layouts {
            if known.layouts.insert(space, layout.version) != Some(layout.version) {
                changes.push(MapChange::Layout(layout));
            }
        }
        changes
    }

    /// All cellapps, by name.
    pub(crate) fn cells(&mut self, now: u64) -> Vec<Node> {
        let cells = self.members(now).into_iter().map(|m| m.node);
        cells.filter(|n| n.name.kind == NodeKind::Cell).collect()
    }
}
