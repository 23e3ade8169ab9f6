//! What a handoff would move and cost, or why it would be refused: asked of those who would carry it
//! out, and nothing is changed.

use crate::address_book::ASK_MAX;
use crate::fan_out;
use crate::operator::Door;
use marchland_common::order::{EntityId, NodeKind, NodeName, SessionId};
use marchland_proto::observer::{PassportReply, PassportRequest};
use marchland_proto::operator::{
    DryRunReply, EntityReply, HandoffRequest, HealthReply, HealthRequest,
};
use marchland_runtime::coord::Member;
use marchland_runtime::process::Seen;
use tokio::time::timeout;
use tonic::Status;

/// Up to this share of a step, in percent, work at a cellapp and at a baseapp costs no tick.
const UNNOTICED_PERCENT: u64 = 45;

/// Asks everybody who would take part.
pub(crate) async fn dry_run(door: &Door, request: &HandoffRequest) -> Result<DryRunReply, Status> {
    let to: NodeName = request
        .to
        .parse()
        .map_err(|bad| Status::invalid_argument(format!("{bad}; name a cellapp, like cell-2")))?;
    if to.kind != NodeKind::Cell {
        return Err(Status::invalid_argument(format!("{to} is not a cellapp")));
    }
    let (seen, id) = (door.feed.seen(), EntityId(request.entity));
    let now = fan_out::entity(&door.book, &seen, id).await?;
    let mut would = DryRunReply {
        entity: id.0,
        kind: now.kind.clone(),
        from: now.owner.clone(),
        epoch: now.epoch,
        to: to.to_string(),
        to_epoch: now.epoch + 1,
        ..DryRunReply::default()
    };
    let Some(target) = fan_out::member(&seen, to) else {
        would.refusal = format!("no cellapp {to} is registered");
        return Ok(would);
    };
    let keeper = fan_out::keeper(&seen, id)?;
    let owner = owner_of(&seen, &now);
    let ask = |to: Option<&Member>| PassportRequest {
        entity: id.0,
        to: to.map_or_else(String::new, |to| to.info.name.to_string()),
        to_incarnation: to.map_or(0, |to| to.incarnation.0),
    };
    let real = async {
        match &owner {
            Some(owner) => passport(door, owner, ask(None)).await,
            None => Err(Status::unavailable(format!("{} is not registered", now.owner))),
        }
    };
    let (record, real, there, here, base) = tokio::join!(
        passport(door, &keeper, ask(Some(&target))),
        real,
        health(door, Some(&target)),
        health(door, owner.as_ref()),
        health(door, Some(&keeper)),
    );
    let step_us = seen.clock.map_or(0, |clock| clock.step_us);
    would.destination_load_percent = there.as_ref().map_or(0, |h| percent(h, step_us));
    let late = |h: &Option<HealthReply>| {
        u32::from(h.as_ref().is_some_and(|h| worst_percent(h, step_us) > UNNOTICED_PERCENT))
    };
    would.expected_gap_ticks = 1 + late(&here) + late(&base);
    would.refusal = refusal(&seen, &now, &target, &record, &real).unwrap_or_default();
    if would.refusal.is_empty() && there.is_none() {
        would.refusal = format!("{to} does not answer");
    }
    if let Ok(real) = real {
        would.state_bytes = real.state_bytes;
        would.timers = real.timers;
        would.ghosts = real.ghosts.iter().map(|ghost| name_alone(ghost)).collect();
        would.witness = witness(&seen, &real);
    }
    Ok(would)
}

fn owner_of(seen: &Seen, now: &EntityReply) -> Option<Member> {
    let is_it =
        |m: &&Member| m.info.name.to_string() == now.owner && m.incarnation.0 == now.incarnation;
    seen.members.iter().find(is_it).cloned()
}

/// Why it would be refused, as far as is known now.
fn refusal(
    seen: &Seen,
    now: &EntityReply,
    target: &Member,
    record: &Result<PassportReply, Status>,
    real: &Result<PassportReply, Status>,
) -> Option<String> {
    let serves = seen.spaces.values().find(|v| v.layout.space.0 == now.space);
    if serves.is_none_or(|v| !v.layout.is_owned_by(target.node())) {
        return Some(format!("{} owns no cell of space {}", target.info.name, now.space));
    }
    match (record, real) {
        (Err(status), _) | (_, Err(status)) => Some(status.message().to_owned()),
        (Ok(record), _) if !record.held.is_empty() => Some(record.held.clone()),
        (_, Ok(real)) if !real.held.is_empty() => Some(real.held.clone()),
        (_, Ok(real)) if real.role != "real" => Some("it is on its way at present".to_owned()),
        _ => None,
    }
}

/// Who looks from it.
fn witness(seen: &Seen, real: &PassportReply) -> String {
    let Some(first) = real.witnesses.first() else { return String::new() };
    let slot = SessionId(*first).slot();
    let base = seen.slots.iter().find(|s| s.slot == slot);
    let base = base.map_or_else(|| "a baseapp".to_owned(), |s| s.base.to_string());
    match real.witnesses.len() {
        1 => format!("client of {base}"),
        n => format!("{n} clients of {base}"),
    }
}

fn name_alone(life: &str) -> String {
    life.split_once('@').map_or(life, |(name, _)| name).to_owned()
}

/// What an ordinary tick takes of its step.
fn percent(health: &HealthReply, step_us: u64) -> u32 {
    u32::try_from(share(health, "tick_us_p50", step_us)).unwrap_or(u32::MAX)
}

/// What a slow one takes.
fn worst_percent(health: &HealthReply, step_us: u64) -> u64 {
    share(health, "tick_us_p99", step_us)
}

fn share(health: &HealthReply, counter: &str, step_us: u64) -> u64 {
    let us = health.counters.get(counter).copied().unwrap_or(0);
    (us * 100).checked_div(step_us).unwrap_or(0)
}

async fn passport(
    door: &Door,
    member: &Member,
    request: PassportRequest,
) -> Result<PassportReply, Status> {
    let observe = door.book.observe(&member.info.operator_addr);
    let mut observe =
        observe.ok_or_else(|| Status::internal("the address of a process makes no sense"))?;
    match timeout(ASK_MAX, observe.passport(request)).await {
        Ok(answer) => answer.map(tonic::Response::into_inner),
        Err(_) => Err(Status::unavailable(format!("{} does not answer", member.node()))),
    }
}

async fn health(door: &Door, member: Option<&Member>) -> Option<HealthReply> {
    let mut process = door.book.process(&member?.info.operator_addr)?;
    let answer = timeout(ASK_MAX, process.health(HealthRequest {})).await.ok()?.ok()?;
    Some(answer.into_inner())
}
