//! One entity as each process has it, asked of all at once.

use super::hub::Hub;
use super::ring::Ring;
use crate::frame::{EventJson, HISTORY};
use crate::pages::page;
use crate::source::{EventsAsk, Trouble};
use futures::future::join_all;
use marchland_common::order::{EntityId, NodeKind};
use marchland_proto::observer::observe_client::ObserveClient;
use marchland_proto::observer::{PassportReply, PassportRequest};
use marchland_runtime::coord::Member;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::timeout;

/// How long a process may take to answer.
const ANSWER_MAX: Duration = Duration::from_millis(1_200);
/// Most events of a history.
const HISTORY_MAX: usize = 200;

/// The passport of an entity.
pub(super) async fn passport(hub: &Hub, entity: EntityId) -> Result<Value, Trouble> {
    let seen = hub.realm.seen();
    let is_asked = |m: &&Member| matches!(m.info.name.kind, NodeKind::Cell | NodeKind::Base);
    let members: Vec<&Member> = seen.members.iter().filter(is_asked).collect();
    let answers = join_all(members.iter().map(|member| ask(hub, member, entity))).await;
    let mut silent = Vec::new();
    let mut replies = Vec::new();
    for (member, answer) in members.iter().zip(answers) {
        match answer {
            Some(reply) => replies.push(reply),
            None => silent.push(member.node().to_string()),
        }
    }
    let known: Vec<&PassportReply> = replies.iter().filter(|r| r.role != "none").collect();
    if known.is_empty() {
        let text = match silent.is_empty() {
            true => format!("nobody knows entity {entity}"),
            false => format!("nobody who answers knows entity {entity}; silent: {silent:?}"),
        };
        return Err(Trouble::not_found(text).hint("march entity ls shows who lives"));
    }
    let history = history(hub, entity).await?;
    let newest = replies.iter().map(|r| r.tick).max().unwrap_or(0);
    let base = known.iter().find(|r| r.role == "base");
    Ok(json!({
        "entity": entity.to_string(),
        "kind": known.iter().map(|r| r.kind.as_str()).find(|kind| !kind.is_empty()),
        "base": base.map(|base| json!({
            "process": base.name, "owner": base.owner, "pinned": base.pinned, "held": base.held,
        })),
        "rows": known.iter().map(|reply| row(reply, newest)).collect::<Vec<_>>(),
        "differs": differs(&known),
        "silent": silent,
        "history": history,
    }))
}

async fn ask(hub: &Hub, member: &Member, entity: EntityId) -> Option<PassportReply> {
    let mut observe = ObserveClient::new(hub.realm.channel(&member.info.operator_addr)?);
    let asked =
        observe.passport(PassportRequest { entity: entity.0, ..PassportRequest::default() });
    let reply = timeout(ANSWER_MAX, asked).await.ok()?.ok()?.into_inner();
    (reply.incarnation == member.incarnation.0).then_some(reply)
}

fn row(reply: &PassportReply, newest: u64) -> Value {
    let fields: Map<String, Value> =
        reply.fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "process": reply.name,
        "incarnation": reply.incarnation.to_string(),
        "role": reply.role,
        "owner": reply.owner,
        "epoch": reply.epoch,
        "seq": reply.seq,
        "tick": reply.tick,
        "state_tick": reply.state_tick,
        "age_ticks": newest.saturating_sub(reply.state_tick),
        "digest": reply.digest.map(|digest| digest.to_string()),
        "space": reply.space,
        "x": reply.x,
        "y": reply.y,
        "ghosts": reply.ghosts,
        "witnesses": reply.witnesses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "state_bytes": reply.state_bytes,
        "timers": reply.timers,
        "fields": fields,
    })
}

/// Fields of which two processes have different values.
fn differs(replies: &[&PassportReply]) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for reply in replies {
        for (name, value) in &reply.fields {
            values.entry(name).or_default().insert(value);
        }
    }
    let differ = values.into_iter().filter(|(_, values)| values.len() > 1);
    differ.map(|(name, _)| name.to_owned()).collect()
}

/// Who had it in the last minute, as far as somebody looked.
async fn history(hub: &Hub, entity: EntityId) -> Result<Vec<EventJson>, Trouble> {
    let rings: Vec<Ring> = hub.rings();
    let ask = EventsAsk {
        entity: Some(entity),
        kinds: HISTORY.map(str::to_owned).to_vec(),
        limit: HISTORY_MAX,
        ..EventsAsk::default()
    };
    hub.read(move || page(&rings, &ask).events).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_differs_only_where_two_processes_have_it_with_different_values() {
        let reply = |fields: &[(&str, &str)]| PassportReply {
            fields: fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            ..PassportReply::default()
        };
        let base = reply(&[("gold", "5"), ("name", "wolf")]);
        let real = reply(&[("gold", "6"), ("name", "wolf"), ("mood", "1")]);
        assert_eq!(differs(&[&base, &real]), ["gold"]);
    }
}
