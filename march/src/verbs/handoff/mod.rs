//! Ordering handoffs, one or many. An order always ends by its deadline and says who owns the
//! entity now.

mod dry;

use super::{print_json, print_line};
use crate::cli::HandoffArgs;
use crate::connect::manager;
use crate::exit::{CHECK_FAILED, Failure, NOT_FOUND, REFUSED, TIMEOUT, USAGE};
use crate::verbs::status;
use marchland_common::rng::Rng;
use marchland_proto::operator::operator_client::OperatorClient;
use marchland_proto::operator::{
    EntityReply, GetEntityRequest, HandoffReply, HandoffRequest, ListEntitiesRequest,
};
use serde::Serialize;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tonic::transport::Channel;

/// The answer for programs.
#[derive(Debug, Serialize)]
struct HandoffJson {
    handoff_id: u64,
    entity: u64,
    result: String,
    reason: String,
    from: String,
    to: String,
    owner: String,
    epoch: u64,
    tick_last: u64,
    tick_first: u64,
}

impl From<HandoffReply> for HandoffJson {
    fn from(h: HandoffReply) -> Self {
        Self {
            handoff_id: h.handoff_id,
            entity: h.entity,
            result: h.result,
            reason: h.reason,
            from: h.from,
            to: h.to,
            owner: h.owner,
            epoch: h.epoch,
            tick_last: h.tick_last,
            tick_first: h.tick_first,
        }
    }
}

/// What many orders came to.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ManyJson {
    pub(crate) ordered: u32,
    pub(crate) committed: u32,
    pub(crate) aborted: u32,
    pub(crate) refused: u32,
    pub(crate) timeout: u32,
    pub(crate) worst_gap_ticks: u64,
    pub(crate) misplaced: u32,
}

impl ManyJson {
    fn count(&mut self, reply: &HandoffJson) {
        self.ordered += 1;
        match reply.result.as_str() {
            "committed" => {
                self.committed += 1;
                let gap = reply.tick_first.saturating_sub(reply.tick_last);
                self.worst_gap_ticks = self.worst_gap_ticks.max(gap);
            }
            "aborted" => self.aborted += 1,
            "refused" => self.refused += 1,
            _ => self.timeout += 1,
        }
    }
}

pub(crate) async fn run(args: HandoffArgs) -> Result<u8, Failure> {
    if args.deadline < Duration::from_millis(100) || args.deadline > Duration::from_secs(60) {
        return Err(Failure::new(USAGE, "a deadline is between 100ms and 1m"));
    }
    match (args.random, args.entity, &args.to) {
        (Some(count), ..) => {
            let sum = many(&args, count).await?;
            show_many(&sum, args.ask.output.is_json());
            let good = sum.timeout == 0 && sum.misplaced == 0 && sum.committed > 0;
            Ok(if good { 0 } else { CHECK_FAILED })
        }
        (None, Some(entity), Some(to)) if args.dry_run => {
            let request = request(&args, entity.0, to);
            dry::run(&args.ask.cluster, request, args.ask.output.is_json()).await
        }
        (None, Some(entity), Some(to)) => {
            let mut manager = manager(&args.ask.cluster).await?;
            let reply = order(&mut manager, &args, entity.0, to).await?;
            let code = code_of(&reply.result);
            show(&reply, args.ask.output.is_json());
            Ok(code)
        }
        _ => Err(Failure::usage("name an entity and --to, or --random")),
    }
}

fn request(args: &HandoffArgs, entity: u64, to: &str) -> HandoffRequest {
    HandoffRequest {
        entity,
        to: to.to_owned(),
        hold: args.hold,
        deadline_ms: u32::try_from(args.deadline.as_millis()).unwrap_or(u32::MAX),
        to_incarnation: 0,
    }
}

async fn order(
    manager: &mut OperatorClient<Channel>,
    args: &HandoffArgs,
    entity: u64,
    to: &str,
) -> Result<HandoffJson, Failure> {
    let request = request(args, entity, to);
    let limit = args.deadline + Duration::from_secs(3);
    let doing = format!("entity {entity} was not moved");
    match tokio::time::timeout(limit, manager.handoff(request)).await {
        Ok(reply) => {
            let reply = reply.map_err(|s| Failure::of_status(&s, &doing))?;
            Ok(reply.into_inner().into())
        }
        Err(_) => Err(Failure::new(TIMEOUT, format!("{doing}: the manager did not answer"))
            .hint(format!("march entity get {entity}   # says who owns it now"))),
    }
}

fn code_of(result: &str) -> u8 {
    match result {
        "committed" => 0,
        "timeout" => TIMEOUT,
        _ => REFUSED,
    }
}

fn show(h: &HandoffJson, json: bool) {
    if json {
        print_json(h);
        return;
    }
    if h.result == "committed" {
        print_line(&format!(
            "entity {}: {} -> {}, epoch {}; last tick {} there, first tick {} here",
            h.entity, h.from, h.owner, h.epoch, h.tick_last, h.tick_first
        ));
    } else {
        print_line(&format!("entity {} was not moved ({}): {}", h.entity, h.result, h.reason));
        print_line(&format!("  owner stays {} (epoch {}), nothing was lost", h.owner, h.epoch));
    }
}

/// Where an entity may go: cellapps that own a cell of its space, without its owner.
fn targets(status: &status::StatusJson, entity: &EntityReply) -> Vec<String> {
    let space = status.spaces.iter().find(|s| s.id == entity.space);
    let mut owners: Vec<String> =
        space.into_iter().flat_map(|s| s.cells.iter().map(|c| c.owner.clone())).collect();
    owners.sort();
    owners.dedup();
    owners.retain(|o| !o.is_empty() && *o != entity.owner);
    owners
}

/// Orders many random entities to random cellapps, one after the other.
pub(crate) async fn many(args: &HandoffArgs, count: u32) -> Result<ManyJson, Failure> {
    let mut manager = manager(&args.ask.cluster).await?;
    let status = status::ask(&args.ask.cluster).await?;
    let list = ListEntitiesRequest { limit: 10_000, after: 0, space: 0 };
    let all = manager.list_entities(list).await;
    let all = all.map_err(|s| Failure::of_status(&s, "cannot list entities"))?.into_inner();
    let movable: Vec<EntityReply> =
        all.entities.into_iter().filter(|e| !targets(&status, e).is_empty()).collect();
    if movable.is_empty() {
        return Err(Failure::new(REFUSED, "no entity can go anywhere: no space has two owners")
            .hint("march status   # shows who owns which cell"));
    }
    let mut rng = Rng::child(args.seed, 0x6861_6e64);
    let mut sum = ManyJson::default();
    let mut next = Instant::now();
    for _ in 0..count {
        if let Some(rate) = args.rate.filter(|r| *r > 0) {
            sleep_until(next).await;
            next += Duration::from_secs(1) / rate;
        }
        let entity = &movable[rng.below(movable.len() as u64) as usize];
        one_of_many(&mut manager, args, &status, entity.id, &mut rng, &mut sum).await?;
    }
    Ok(sum)
}

/// Orders some of the entities that one cellapp owns to another one, one after the other.
pub(crate) async fn between(
    args: &HandoffArgs,
    from: &str,
    to: &str,
    count: u32,
) -> Result<ManyJson, Failure> {
    let mut manager = manager(&args.ask.cluster).await?;
    let status = status::ask(&args.ask.cluster).await?;
    let list = ListEntitiesRequest { limit: 10_000, after: 0, space: 0 };
    let all = manager.list_entities(list).await;
    let all = all.map_err(|s| Failure::of_status(&s, "cannot list entities"))?.into_inner();
    let goes = |e: &EntityReply| e.owner == from && targets(&status, e).iter().any(|t| t == to);
    let mut sum = ManyJson::default();
    for entity in all.entities.iter().filter(|e| goes(e)).take(count as usize) {
        match order(&mut manager, args, entity.id, to).await {
            Err(gone) if gone.code == NOT_FOUND => {}
            reply => sum.count(&reply?),
        }
    }
    Ok(sum)
}

fn show_many(sum: &ManyJson, json: bool) {
    if json {
        print_json(sum);
        return;
    }
    print_line(&format!(
        "{} ordered: {} committed, {} aborted, {} refused, {} timed out; worst gap {} ticks",
        sum.ordered, sum.committed, sum.aborted, sum.refused, sum.timeout, sum.worst_gap_ticks
    ));
}

async fn one_of_many(
    manager: &mut OperatorClient<Channel>,
    args: &HandoffArgs,
    status: &status::StatusJson,
    id: u64,
    rng: &mut Rng,
    sum: &mut ManyJson,
) -> Result<(), Failure> {
    // Where it is now decides where it can go; who or what ended meanwhile is passed over.
    let Ok(now) = manager.get_entity(GetEntityRequest { entity: id }).await else {
        return Ok(());
    };
    let targets = targets(status, now.get_ref());
    if targets.is_empty() {
        return Ok(());
    }
    let to = &targets[rng.below(targets.len() as u64) as usize];
    let reply = match order(manager, args, id, to).await {
        Err(gone) if gone.code == NOT_FOUND => return Ok(()),
        ordered => ordered?,
    };
    sum.count(&reply);
    if args.verify && reply.result == "committed" {
        let after = manager.get_entity(GetEntityRequest { entity: id }).await;
        let there = after.is_ok_and(|e| e.get_ref().owner == *to);
        sum.misplaced += u32::from(!there);
    }
    if !args.ask.output.is_json() {
        show(&reply, false);
    }
    Ok(())
}
