//! What a cellapp shows of itself to whoever looks: a picture of everybody, and one entity's passport.
//! Made on the tick thread, from the core alone, and only when asked.

use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::cell::{CellBrief, Dot, Load, Role};
use marchland_common::order::{EntityId, KindId, Node, Tick};
use marchland_common::world::{Kinds, Value};
use marchland_proto::observer::{Dot as WireDot, PassportReply, World};
use std::collections::BTreeMap;

/// Everybody who is here.
pub(crate) fn picture(core: &CellCore, kinds: &Kinds, node: Node, tick: Tick) -> World {
    let picture = core.picture();
    let (mut kind_names, mut owners) = (Names::default(), Names::default());
    // A ghost that nobody speaks for has no owner: the first name is nobody's.
    owners.place(None, String::new);
    let mut dot = |dot: &Dot| {
        let name = || name_of(kinds, dot.kind);
        wire_dot(dot, kind_names.place(dot.kind, name))
    };
    let reals = picture.reals.iter().map(&mut dot).collect();
    let ghost = |ghost: &marchland_cellapp_core::cell::GhostDot| {
        let name = || ghost.owner.map_or_else(String::new, |owner| owner.name.to_string());
        let owner = owners.place(ghost.owner, name);
        WireDot { owner, state_tick: ghost.heard.0, ..dot(&ghost.dot) }
    };
    let ghosts = picture.ghosts.iter().map(ghost).collect();
    World {
        name: node.name.to_string(),
        incarnation: node.incarnation.0,
        tick: tick.0,
        age_us: 0,
        kinds: kind_names.names,
        owners: owners.names,
        reals,
        ghosts,
    }
}

fn wire_dot(dot: &Dot, kind: u32) -> WireDot {
    WireDot {
        entity: dot.entity.0,
        kind,
        space: dot.space.0,
        x: dot.pos.x,
        y: dot.pos.y,
        epoch: dot.epoch.grant(),
        owner: 0,
        state_tick: 0,
    }
}

/// Names by place, each once.
struct Names<K> {
    places: BTreeMap<K, u32>,
    names: Vec<String>,
}

impl<K> Default for Names<K> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), names: Vec::new() }
    }
}

impl<K: Ord> Names<K> {
    fn place(&mut self, key: K, name: impl FnOnce() -> String) -> u32 {
        *self.places.entry(key).or_insert_with(|| {
            self.names.push(name());
            u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

fn name_of(kinds: &Kinds, kind: KindId) -> String {
    kinds.get(kind).map_or_else(|| kind.to_string(), |kind| kind.name.clone())
}

/// One entity as it stands here.
pub(crate) fn passport(core: &CellCore, kinds: &Kinds, entity: EntityId) -> PassportReply {
    let tick = core.last_tick();
    let mut reply = PassportReply { tick: tick.0, role: "none".to_owned(), ..Default::default() };
    let parked = core.parked(entity);
    let Some(brief) = core.brief(entity) else {
        if let Some((from, epoch)) = parked {
            reply.role = "parked".to_owned();
            (reply.owner, reply.epoch) = (from.to_string(), epoch.grant());
            reply.state_tick = tick.0;
        }
        return reply;
    };
    fill(&mut reply, kinds, &brief);
    reply.state_tick = core.heard(entity).unwrap_or(tick).0;
    if let Some(load) = core.load(entity) {
        carry(&mut reply, &load);
    }
    reply
}

fn fill(reply: &mut PassportReply, kinds: &Kinds, brief: &CellBrief) {
    let role = match brief.role {
        Role::Real => "real",
        Role::Frozen => "frozen",
        Role::Ended => "ended",
        Role::Ghost => "ghost",
    };
    let props = kinds.get(brief.kind).map_or(&[][..], |kind| &kind.props[..]);
    let name = |index: u8| {
        props.get(usize::from(index)).map_or_else(|| index.to_string(), |p| p.name.clone())
    };
    reply.role = role.to_owned();
    reply.kind = name_of(kinds, brief.kind);
    reply.space = brief.place.space.0;
    (reply.x, reply.y) = (brief.place.pos.x, brief.place.pos.y);
    (reply.epoch, reply.seq) = (brief.epoch.grant(), brief.seq.0);
    reply.owner = brief.owner.map_or_else(String::new, |owner| owner.to_string());
    reply.fields = brief.props.iter().map(|(i, value)| (name(*i), text_of(value))).collect();
    reply.pinned = brief.pinned.map(|until| until.0);
}

fn carry(reply: &mut PassportReply, load: &Load) {
    reply.digest = Some(load.digest);
    reply.state_bytes = load.state_bytes as u64;
    reply.timers = u32::try_from(load.timers).unwrap_or(u32::MAX);
    reply.ghosts = load.hosts.iter().map(ToString::to_string).collect();
    reply.witnesses = load.sessions.iter().map(|session| session.0).collect();
    reply.held = load.held.unwrap_or_default().to_owned();
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
