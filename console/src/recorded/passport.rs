//! One entity as each process had it at a tick, as far as facts tell it: role, epoch, sequence number
//! and digest. What its fields held is in no fact.

use super::index::RecordedLife;
use crate::frame::HISTORY;
use crate::pages::{Life, page};
use crate::source::{EventsAsk, Trouble};
use marchland_common::journal::{Event, GhostEnd};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Seq};
use serde_json::{Value, json};

/// How many ticks before the one that is asked for are read: a minute.
const BACK: u64 = 1_200;
/// How many ticks before the one that is asked for a journal may end and its process still count as
/// there: processes do not end all in the same tick.
const END_SLACK: u64 = 40;
/// Most facts of a history that are read, and told: the newest.
const HISTORY_READ_MAX: usize = 10_000;
const HISTORY_MAX: usize = 200;

/// What the newest fact of a process about an entity says.
struct Stand {
    role: &'static str,
    owner: Option<Node>,
    epoch: Epoch,
    seq: Seq,
    digest: Option<u64>,
}

/// The passport of an entity at a tick.
pub(super) fn passport(
    lives: &[RecordedLife<'_>],
    entity: EntityId,
    tick: u64,
) -> Result<Value, Trouble> {
    let rows: Vec<Value> = lives.iter().filter_map(|life| row(life, entity, tick)).collect();
    let ask = EventsAsk {
        to: Some(tick),
        entity: Some(entity),
        kinds: HISTORY.map(str::to_owned).to_vec(),
        limit: HISTORY_READ_MAX,
        ..EventsAsk::default()
    };
    let mut history = page(lives, &ask);
    if rows.is_empty() && history.events.is_empty() {
        let text = format!("no journal tells anything of entity {entity} up to tick {tick}");
        return Err(Trouble::not_found(text).hint("/api/events tells of whom there are facts"));
    }
    let older = history.events.len().saturating_sub(HISTORY_MAX);
    let mut left_out = vec!["journals tell no fields: what an entity held is not shown".to_owned()];
    if older > 0 {
        left_out.push(format!("{older} older facts of its history"));
    }
    if history.more {
        left_out.push("the newest facts of its history: there are too many".to_owned());
    }
    Ok(json!({
        "entity": entity.to_string(),
        "kind": Value::Null,
        "base": Value::Null,
        "tick": tick,
        "rows": rows,
        "differs": [],
        "silent": [],
        "history": history.events.split_off(older),
        "left_out": left_out,
    }))
}

fn row(life: &RecordedLife<'_>, entity: EntityId, tick: u64) -> Option<Value> {
    let node = life.node();
    if life.index.last_tick().is_none_or(|last| last + END_SLACK < tick) {
        return None;
    }
    let (at, stand) = match node.name.kind {
        NodeKind::Cell => newest(life, entity, tick, cell_stand)?,
        NodeKind::Base => newest(life, entity, tick, base_stand)?,
        NodeKind::Manager | NodeKind::Client => return None,
    };
    let stand = stand?;
    Some(json!({
        "process": node.name.to_string(),
        "incarnation": node.incarnation.to_string(),
        "role": stand.role,
        "owner": stand.owner.map_or_else(String::new, |owner| owner.to_string()),
        "epoch": stand.epoch.grant(),
        "seq": stand.seq.0,
        "tick": at,
        "state_tick": at,
        "age_ticks": tick.saturating_sub(at),
        "digest": stand.digest.map(|digest| digest.to_string()),
        "fields": {},
    }))
}

/// What the newest telling fact says, and its tick; within it none if the entity is not there.
fn newest(
    life: &RecordedLife<'_>,
    entity: EntityId,
    tick: u64,
    stand: fn(&Event, EntityId) -> Option<Option<Stand>>,
) -> Option<(u64, Option<Stand>)> {
    for place in life.span(tick.saturating_sub(BACK), tick).rev() {
        let Some((_, record)) = life.read(place) else { continue };
        if let Some(found) = record.events.iter().rev().find_map(|event| stand(event, entity)) {
            return Some((life.tick(place), found));
        }
    }
    None
}

fn cell_stand(event: &Event, wanted: EntityId) -> Option<Option<Stand>> {
    let (role, entity, owner, epoch, seq, digest) = match *event {
        Event::Activated { entity, epoch, seq, digest, .. }
        | Event::Stepped { entity, epoch, seq, digest, .. } => {
            ("real", entity, None, epoch, seq, Some(digest))
        }
        Event::Unfrozen { entity, epoch, seq, .. } => ("real", entity, None, epoch, seq, None),
        Event::Frozen { entity, epoch, seq, target, .. } => {
            ("frozen", entity, Some(target), epoch, seq, None)
        }
        Event::GhostApplied { entity, owner, epoch, seq, digest } => {
            ("ghost", entity, Some(owner), epoch, seq, Some(digest))
        }
        Event::GhostEnded { why: GhostEnd::BecameReal, .. } => return None,
        Event::Deactivated { entity, .. } | Event::GhostEnded { entity, .. } => {
            return (entity == wanted).then_some(None);
        }
        _ => return None,
    };
    (entity == wanted).then_some(Some(Stand { role, owner, epoch, seq, digest }))
}

fn base_stand(event: &Event, wanted: EntityId) -> Option<Option<Stand>> {
    let (entity, owner, epoch, seq, digest) = match *event {
        Event::Accepted { entity, owner, epoch, seq, digest, .. } => {
            (entity, owner, epoch, seq, Some(digest))
        }
        Event::OwnerChanged { entity, to, epoch, seq, .. } => (entity, to, epoch, seq, None),
        Event::Destroyed { entity, .. } => return (entity == wanted).then_some(None),
        _ => return None,
    };
    let stand = Stand { role: "base", owner: Some(owner), epoch, seq, digest };
    (entity == wanted).then_some(Some(stand))
}
