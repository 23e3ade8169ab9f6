//! The operator's door: what `march` asks, answered within a bound.

use crate::address_book::AddressBook;
use crate::dry_run::dry_run;
use crate::lead::Waiting;
use crate::status::{status, without_leader};
use crate::watch::Findings;
use crate::{drains, fan_out, pass_on, spaces};
use marchland_common::order::{EntityId, NodeKind, NodeName, SpaceId};
use marchland_proto::operator::operator_server::Operator;
use marchland_proto::operator::{
    CreateSpaceRequest, DrainReply, DrainRequest, DryRunReply, EntityReply, GetEntityRequest,
    HandoffReply, HandoffRequest, ListEntitiesReply, ListEntitiesRequest, RemoveSpaceRequest,
    SpaceReply, StatusReply, StatusRequest,
};
use marchland_runtime::coord::{CoordClient, Leadership};
use marchland_runtime::process::MapFeed;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tonic::{Request, Response, Status};

/// How much longer than its own deadline the manager waits for a baseapp's answer.
const GRACE: Duration = Duration::from_millis(500);
/// The longest deadline of an order.
const DEADLINE_MAX_MS: u32 = 60_000;

/// What the door knows.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) coord: CoordClient,
    pub(crate) feed: MapFeed,
    pub(crate) book: Arc<AddressBook>,
    /// What the planner waits for.
    pub(crate) waiting: watch::Receiver<Waiting>,
    /// What the judge found.
    pub(crate) findings: watch::Receiver<Findings>,
    /// The right to write, while this manager leads.
    pub(crate) leads: watch::Receiver<Option<Arc<Leadership>>>,
    /// Held while an order to drain is given.
    pub(crate) drains: Arc<Mutex<()>>,
}

#[tonic::async_trait]
impl Operator for Door {
    async fn status(
        &self,
        request: Request<StatusRequest>,
    ) -> Result<Response<StatusReply>, Status> {
        if self.leadership().is_some() {
            return Ok(Response::new(status(self).await));
        }
        // What is waited for and who is lost, the leader knows; the rest is read here without it.
        let why = match pass_on::leader(&request, &self.feed.seen(), self.book.dial_from) {
            Ok(mut leader) => {
                let asked = leader.status(pass_on::marked(StatusRequest {}));
                match pass_on::answer(asked, &self.feed.seen()).await {
                    Ok(answer) => return Ok(answer),
                    Err(why) => why,
                }
            }
            Err(why) => why,
        };
        Ok(Response::new(without_leader(self, why.message()).await))
    }

    async fn list_entities(
        &self,
        request: Request<ListEntitiesRequest>,
    ) -> Result<Response<ListEntitiesReply>, Status> {
        let seen = self.feed.seen();
        fan_out::entities(&self.book, &seen, request.get_ref()).await.map(Response::new)
    }

    async fn get_entity(
        &self,
        request: Request<GetEntityRequest>,
    ) -> Result<Response<EntityReply>, Status> {
        let id = EntityId(request.get_ref().entity);
        fan_out::entity(&self.book, &self.feed.seen(), id).await.map(Response::new)
    }

    async fn handoff(
        &self,
        request: Request<HandoffRequest>,
    ) -> Result<Response<HandoffReply>, Status> {
        self.order(request.into_inner()).await.map(Response::new)
    }

    async fn dry_run(
        &self,
        request: Request<HandoffRequest>,
    ) -> Result<Response<DryRunReply>, Status> {
        dry_run(self, request.get_ref()).await.map(Response::new)
    }

    async fn create_space(
        &self,
        request: Request<CreateSpaceRequest>,
    ) -> Result<Response<SpaceReply>, Status> {
        let seen = self.feed.seen();
        let Some(leadership) = self.leadership() else {
            let mut leader = pass_on::leader(&request, &seen, self.book.dial_from)?;
            let asked = leader.create_space(pass_on::marked(request.into_inner()));
            return pass_on::answer(asked, &seen).await;
        };
        let created = spaces::create(&self.coord, &leadership, request.get_ref(), &seen).await;
        created.map(Response::new)
    }

    async fn remove_space(
        &self,
        request: Request<RemoveSpaceRequest>,
    ) -> Result<Response<SpaceReply>, Status> {
        let seen = self.feed.seen();
        let Some(leadership) = self.leadership() else {
            let mut leader = pass_on::leader(&request, &seen, self.book.dial_from)?;
            let asked = leader.remove_space(pass_on::marked(request.into_inner()));
            return pass_on::answer(asked, &seen).await;
        };
        let space = request.get_ref().id;
        let ask = ListEntitiesRequest { limit: 1, after: 0, space };
        let living = fan_out::entities(&self.book, &seen, &ask).await?;
        if let Some(entity) = living.entities.first() {
            let reason = format!("entities live in space {space}, {} among them", entity.id);
            return Ok(Response::new(SpaceReply { done: false, reason, version: 0 }));
        }
        let removed = spaces::remove(&self.coord, &leadership, SpaceId(space), &seen).await;
        removed.map(Response::new)
    }

    async fn drain(&self, request: Request<DrainRequest>) -> Result<Response<DrainReply>, Status> {
        let seen = self.feed.seen();
        if self.leadership().is_none() {
            let mut leader = pass_on::leader(&request, &seen, self.book.dial_from)?;
            let asked = leader.drain(pass_on::marked(request.into_inner()));
            return pass_on::answer(asked, &seen).await;
        }
        drains::drain(self, request.get_ref()).await.map(Response::new)
    }
}

impl Door {
    /// The right to write, if this manager has it.
    pub(crate) fn leadership(&self) -> Option<Arc<Leadership>> {
        self.leads.borrow().clone().filter(|leadership| leadership.may_write())
    }

    /// Passes an order on to the entity's base and waits for its end.
    async fn order(&self, mut request: HandoffRequest) -> Result<HandoffReply, Status> {
        let seen = self.feed.seen();
        let to: NodeName = request.to.parse().map_err(|bad| {
            Status::invalid_argument(format!("{bad}; name a cellapp, like cell-2"))
        })?;
        if to.kind != NodeKind::Cell {
            return Err(Status::invalid_argument(format!("{to} is not a cellapp")));
        }
        let id = EntityId(request.entity);
        let now = fan_out::entity(&self.book, &seen, id).await?;
        let refused = |reason: &str| HandoffReply {
            entity: id.0,
            result: "refused".to_owned(),
            reason: reason.to_owned(),
            from: now.owner.clone(),
            to: to.to_string(),
            owner: now.owner.clone(),
            epoch: now.epoch,
            ..HandoffReply::default()
        };
        let Some(target) = fan_out::member(&seen, to) else {
            return Err(Status::not_found(format!("no cellapp {to} is registered")));
        };
        let serves = seen.spaces.values().find(|v| v.layout.space.0 == now.space);
        if serves.is_none_or(|v| !v.layout.is_owned_by(target.node())) {
            return Ok(refused(&format!("{to} owns no cell of space {}", now.space)));
        }
        request.to_incarnation = target.incarnation.0;
        request.deadline_ms = match request.deadline_ms {
            0 => 2_000,
            n => n.min(DEADLINE_MAX_MS),
        };
        self.pass_on(request, &now, id).await
    }

    async fn pass_on(
        &self,
        request: HandoffRequest,
        now: &EntityReply,
        id: EntityId,
    ) -> Result<HandoffReply, Status> {
        let keeper = fan_out::keeper(&self.feed.seen(), id)?;
        let mut base = self
            .book
            .process(&keeper.info.operator_addr)
            .ok_or_else(|| Status::internal("the address of a baseapp makes no sense"))?;
        let within = Duration::from_millis(request.deadline_ms.into()) + GRACE;
        let to = request.to.clone();
        match timeout(within, base.order_handoff(request)).await {
            Ok(answer) => answer.map(Response::into_inner),
            Err(_) => {
                // Whatever became of it, the base's record says who owns the entity now.
                let after = fan_out::entity(&self.book, &self.feed.seen(), id).await;
                let after = after.unwrap_or_else(|_| now.clone());
                Ok(HandoffReply {
                    entity: id.0,
                    result: "timeout".to_owned(),
                    reason: format!("{} did not answer by the deadline", keeper.node()),
                    from: now.owner.clone(),
                    to,
                    owner: after.owner,
                    epoch: after.epoch,
                    ..HandoffReply::default()
                })
            }
        }
    }
}
