//! The state of the cluster in one answer.

use crate::fan_out::health;
use crate::lead::Waiting;
use crate::operator::Door;
use marchland_manager_core::{Lost, LostState};
use marchland_proto::operator::{
    CellStatus, HealthReply, LostStatus, MemberStatus, SpaceStatus, StatusReply,
};
use marchland_runtime::coord::{Member, MemberState, SpaceValue};
use marchland_runtime::process::Seen;

/// Asks everybody and puts it together, as the manager that leads.
pub(crate) async fn status(door: &Door) -> StatusReply {
    let Waiting { mut reasons, lost } = door.waiting.borrow().clone();
    reasons.extend(lost.iter().map(ToString::to_string));
    reasons.extend(door.findings.borrow().reasons());
    StatusReply { lost: lost.iter().map(lost_status).collect(), ..read(door, reasons).await }
}

/// The same where the leader could not be asked.
pub(crate) async fn without_leader(door: &Door, why: &str) -> StatusReply {
    read(door, vec![why.to_owned()]).await
}

async fn read(door: &Door, mut reasons: Vec<String>) -> StatusReply {
    let seen = door.feed.seen();
    let health = health(&door.book, &seen).await;
    let mut members: Vec<MemberStatus> =
        seen.members.iter().map(|m| member_status(&seen, m, health.get(&m.node()))).collect();
    members.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    let spaces: Vec<SpaceStatus> = seen.spaces.values().map(space_status).collect();
    reasons.extend(missing(&seen));
    for member in &members {
        reasons.extend(member.reasons.iter().map(|r| format!("{}: {r}", member.name)));
    }
    let leader = seen.leader.as_ref().map_or_else(String::new, |l| l.name.to_string());
    let tick = members.iter().map(|m| m.tick).max().unwrap_or(0);
    let (ready, lost) = (reasons.is_empty(), Vec::new());
    StatusReply { ready, reasons, tick, members, spaces, leader, lost }
}

/// What the cluster as a whole lacks.
fn missing(seen: &Seen) -> Vec<String> {
    let mut missing = Vec::new();
    if seen.spaces.is_empty() {
        missing.push("no space is laid out".to_owned());
    }
    if seen.slots.len() < usize::from(marchland_manager_core::SLOTS) {
        missing.push(format!("{} of 256 base slots have a keeper", seen.slots.len()));
    }
    let lives: Vec<_> = seen.members.iter().map(Member::node).collect();
    for value in seen.spaces.values() {
        for cell in value.layout.cells() {
            if cell.owner.is_none_or(|o| !lives.contains(&o)) {
                missing.push(format!("cell {} of space {} is away", cell.cell, value.layout.space));
            }
        }
    }
    missing
}

fn member_status(seen: &Seen, member: &Member, health: Option<&HealthReply>) -> MemberStatus {
    let name = member.info.name;
    let slots = seen.slots.iter().filter(|s| s.base == name).count();
    let state = match (member.info.state, health) {
        (_, None) => "unreachable",
        (MemberState::Draining | MemberState::Leaving, _) => "draining",
        _ => "serving",
    };
    let mut status = MemberStatus {
        name: name.to_string(),
        kind: name.kind.name().to_owned(),
        incarnation: member.incarnation.0,
        state: state.to_owned(),
        link: member.info.link_addr.clone(),
        gateway: member.info.extra.get("gateway").cloned().unwrap_or_default(),
        slots: u32::try_from(slots).unwrap_or(u32::MAX),
        ..MemberStatus::default()
    };
    match health {
        Some(h) => {
            status.reals = h.reals;
            status.ghosts = h.ghosts;
            status.entities = h.entities;
            status.sessions = h.sessions;
            status.tick = h.tick;
            status.drained = h.drained && slots == 0 && !owns_cells(seen, member);
            status.reasons.clone_from(&h.reasons);
            status.counters.clone_from(&h.counters);
        }
        None => status.reasons.push("it does not answer".to_owned()),
    }
    status
}

fn lost_status(lost: &Lost) -> LostStatus {
    let takers = match &lost.state {
        LostState::Asked(taker) | LostState::Taken(taker) => vec![taker.name.to_string()],
        LostState::Refused(all) => all.iter().map(|(node, _)| node.name.to_string()).collect(),
        LostState::NoLog | LostState::NotDead | LostState::NoTaker => Vec::new(),
    };
    LostStatus {
        name: lost.name.to_string(),
        incarnation: lost.life.map_or(0, |life| life.0),
        slots: u32::try_from(lost.slots).unwrap_or(u32::MAX),
        state: lost.word().to_owned(),
        takers,
        reason: lost.reason(),
        log: lost.folder.clone().unwrap_or_default(),
    }
}

fn owns_cells(seen: &Seen, member: &Member) -> bool {
    seen.spaces.values().any(|value| value.layout.is_owned_by(member.node()))
}

fn space_status(value: &SpaceValue) -> SpaceStatus {
    let cell = |c: marchland_common::world::CellRect| CellStatus {
        id: c.cell.0,
        rect: vec![c.rect.min.x, c.rect.min.y, c.rect.max.x, c.rect.max.y],
        owner: c.owner.map_or_else(String::new, |o| o.name.to_string()),
    };
    SpaceStatus {
        id: value.layout.space.0,
        version: value.layout.version,
        cells: value.layout.cells().into_iter().map(cell).collect(),
    }
}
