//! Asking processes: all at once, each with a deadline, and whoever does not answer is named.

use crate::address_book::{ASK_MAX, AddressBook};
use marchland_common::order::{EntityId, Node, NodeKind, NodeName};
use marchland_proto::operator::{
    EntityReply, GetEntityRequest, HealthReply, HealthRequest, ListEntitiesReply,
    ListEntitiesRequest,
};
use marchland_runtime::coord::Member;
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use tokio::time::timeout;
use tonic::{Code, Status};

/// The health of every process that answers, by life.
pub(crate) async fn health(book: &AddressBook, seen: &Seen) -> BTreeMap<Node, HealthReply> {
    let ask = |m: Member| async move {
        let mut client = book.process(&m.info.operator_addr)?;
        let reply = timeout(ASK_MAX, client.health(HealthRequest {})).await.ok()?.ok()?;
        Some((m.node(), reply.into_inner()))
    };
    let answers = futures::future::join_all(seen.members.iter().cloned().map(ask)).await;
    answers.into_iter().flatten().collect()
}

/// The member that keeps the entity's record.
pub(crate) fn keeper(seen: &Seen, entity: EntityId) -> Result<Member, Status> {
    let slot = seen.slots.iter().find(|s| s.slot == entity.slot());
    let base = slot.map(|s| s.base).ok_or_else(|| {
        Status::not_found(format!("no baseapp keeps slot {} of entity {entity}", entity.slot()))
    })?;
    member(seen, base).ok_or_else(|| {
        Status::unavailable(format!("{base}, which keeps entity {entity}, is not registered"))
    })
}

/// The newest life of a process.
pub(crate) fn member(seen: &Seen, name: NodeName) -> Option<Member> {
    seen.members.iter().filter(|m| m.info.name == name).max_by_key(|m| m.incarnation).cloned()
}

/// One entity's record.
pub(crate) async fn entity(
    book: &AddressBook,
    seen: &Seen,
    id: EntityId,
) -> Result<EntityReply, Status> {
    let keeper = keeper(seen, id)?;
    let mut client = book
        .process(&keeper.info.operator_addr)
        .ok_or_else(|| Status::internal("the address of a baseapp makes no sense"))?;
    let ask = client.entity(GetEntityRequest { entity: id.0 });
    match timeout(ASK_MAX, ask).await {
        Ok(answer) => answer.map(tonic::Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded(format!("{} does not answer", keeper.node()))),
    }
}

/// Entities in the order of their ids, from all bases, at most `limit`.
pub(crate) async fn entities(
    book: &AddressBook,
    seen: &Seen,
    request: &ListEntitiesRequest,
) -> Result<ListEntitiesReply, Status> {
    let limit = match request.limit {
        0 => 100,
        n => n.min(10_000),
    };
    let bases = seen.members.iter().filter(|m| m.info.name.kind == NodeKind::Base);
    let ask = |m: Member| {
        let request = ListEntitiesRequest { limit, ..*request };
        async move {
            let unreachable =
                |why: &str| Status::new(Code::Unavailable, format!("{}: {why}", m.node()));
            let mut client = book
                .process(&m.info.operator_addr)
                .ok_or_else(|| unreachable("its address makes no sense"))?;
            let answer = timeout(ASK_MAX, client.entities(request)).await;
            let answer = answer.map_err(|_| unreachable("no answer"))?;
            answer.map(tonic::Response::into_inner)
        }
    };
    let answers = futures::future::try_join_all(bases.cloned().map(ask)).await?;
    let mut all: Vec<EntityReply> = Vec::new();
    let mut more = false;
    for answer in answers {
        more |= answer.more;
        all.extend(answer.entities);
    }
    all.sort_by_key(|e| e.id);
    all.dedup_by_key(|e| e.id);
    more |= all.len() > limit as usize;
    all.truncate(limit as usize);
    Ok(ListEntitiesReply { entities: all, more })
}
