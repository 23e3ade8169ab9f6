//! Looking at entities.

use super::{print_json, print_line, print_table};
use crate::cli::{EntityArgs, EntityVerb};
use crate::connect::manager;
use crate::exit::Failure;
use marchland_proto::operator::{EntityReply, GetEntityRequest, ListEntitiesRequest};
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer for programs.
#[derive(Debug, Serialize)]
struct EntityJson {
    id: u64,
    kind: String,
    space: u32,
    owner: String,
    incarnation: u64,
    epoch: u64,
    seq: u64,
    base: String,
    pos: [i32; 2],
    pinned: Option<u64>,
    durable: BTreeMap<String, String>,
}

impl From<EntityReply> for EntityJson {
    fn from(e: EntityReply) -> Self {
        Self {
            id: e.id,
            kind: e.kind,
            space: e.space,
            owner: e.owner,
            incarnation: e.incarnation,
            epoch: e.epoch,
            seq: e.seq,
            base: e.base,
            pos: [e.x, e.y],
            pinned: e.pinned,
            durable: e.durable.into_iter().collect(),
        }
    }
}

pub(crate) async fn run(args: EntityArgs) -> Result<u8, Failure> {
    match args.verb {
        EntityVerb::Ls { ask, limit } => {
            let mut manager = manager(&ask.cluster).await?;
            let request = ListEntitiesRequest { limit, after: 0, space: 0 };
            let reply = manager.list_entities(request).await;
            let reply = reply.map_err(|s| Failure::of_status(&s, "cannot list entities"))?;
            let reply = reply.into_inner();
            list(reply.entities.into_iter().map(EntityJson::from), ask.output.is_json());
            if reply.more && !ask.output.is_json() {
                print_line(&format!("… and more; --limit shows up to 10000 (here {limit})"));
            }
        }
        EntityVerb::Get { ask, id } => {
            let mut manager = manager(&ask.cluster).await?;
            let reply = manager.get_entity(GetEntityRequest { entity: id.0 }).await;
            let reply = reply.map_err(|s| Failure::of_status(&s, "cannot look at the entity"))?;
            show(&reply.into_inner().into(), ask.output.is_json());
        }
    }
    Ok(0)
}

fn list(entities: impl Iterator<Item = EntityJson>, json: bool) {
    if json {
        entities.for_each(|e| print_json(&e));
        return;
    }
    let row = |e: EntityJson| {
        vec![
            e.id.to_string(),
            e.kind,
            e.space.to_string(),
            e.owner,
            e.epoch.to_string(),
            e.seq.to_string(),
            e.base,
            format!("{:.1} {:.1}", f64::from(e.pos[0]) / 1e3, f64::from(e.pos[1]) / 1e3),
        ]
    };
    let rows: Vec<Vec<String>> = entities.map(row).collect();
    let head = ["ID", "KIND", "SPACE", "OWNER", "EPOCH", "SEQ", "BASE", "POS (m)"];
    print_table(&head, &rows);
}

fn show(e: &EntityJson, json: bool) {
    if json {
        print_json(e);
        return;
    }
    print_line(&format!("entity {} ({}) in space {}", e.id, e.kind, e.space));
    print_line(&format!(
        "  owner   {}@{}, epoch {}, step {}",
        e.owner, e.incarnation, e.epoch, e.seq
    ));
    print_line(&format!("  record  {}", e.base));
    let metres = |mm: i32| f64::from(mm) / 1e3;
    print_line(&format!("  stands  {:.2} {:.2} m", metres(e.pos[0]), metres(e.pos[1])));
    if let Some(until) = e.pinned {
        print_line(&format!("  pinned  until tick {until}"));
    }
    for (name, value) in &e.durable {
        print_line(&format!("  {name} = {value}"));
    }
}
