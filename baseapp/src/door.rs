//! What the operator and the manager may ask a baseapp. Questions wait in bounded queues for the
//! end of a tick; an order waits for its end, at most until its deadline.

use crate::takeover::TakeOvers;
use crossbeam_channel::Sender;
use dashmap::DashMap;
use marchland_baseapp_core::io::{BaseOrder, EntityBrief, OrderAnswer};
use marchland_common::cluster::SlotMove;
use marchland_common::msg::HandoffRefusal;
use marchland_common::order::{EntityId, Incarnation, Node, NodeKind, NodeName, SpaceId};
use marchland_common::world::{Kinds, Place, Pos, Value};
use marchland_proto::convert::{
    gives_from_wire, move_to_wire, take_state_to_wire, takes_from_wire,
};
use marchland_proto::operator::process_server::Process;
use marchland_proto::operator::{
    CreateEntitiesReply, CreateEntitiesRequest, DrainReply, DrainRequest, EntityReply,
    GetEntityRequest, HandoffReply, HandoffRequest, HealthReply, HealthRequest, ListEntitiesReply,
    ListEntitiesRequest, MoveSlotsReply, MoveSlotsRequest,
};
use marchland_runtime::process::Introduction;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tonic::{Request, Response, Status};

/// How long a question waits for the tick thread.
const LOOK_MAX: Duration = Duration::from_millis(900);
/// How much longer than its own deadline an order is waited for.
const ORDER_GRACE: Duration = Duration::from_millis(300);
/// Most slots that one request gives away.
const GIVE_MAX: usize = 256;
/// The longest path of a log.
const PATH_MAX: usize = 4_096;
/// Most entities that one request creates.
const CREATE_MAX: usize = 1_000;

/// A question to the core.
pub(crate) enum Look {
    /// One entity.
    One(EntityId, oneshot::Sender<Option<EntityBrief>>),
    /// The first so many, above an id, of a space or of all.
    Many {
        limit: usize,
        after: EntityId,
        space: Option<SpaceId>,
        answer: oneshot::Sender<Vec<EntityBrief>>,
    },
}

/// The door.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) about: Introduction,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) step: Duration,
    pub(crate) looks: Sender<Look>,
    pub(crate) orders: Sender<BaseOrder>,
    pub(crate) open: Arc<OpenOrders>,
    /// Which slots are on their way from here.
    pub(crate) moves: watch::Receiver<Vec<SlotMove>>,
    /// Slots that go on here out of the logs of lost baseapps.
    pub(crate) takeovers: TakeOvers,
}

/// Orders that wait for their end.
pub(crate) struct OpenOrders {
    next: AtomicU64,
    waiting: DashMap<u64, oneshot::Sender<OrderAnswer>>,
}

impl OpenOrders {
    /// Orders of this life are numbered above those of all earlier ones.
    pub(crate) fn new(life: Incarnation) -> Self {
        Self { next: AtomicU64::new((life.0 << 20) | 1), waiting: DashMap::new() }
    }

    fn open(&self) -> (u64, oneshot::Receiver<OrderAnswer>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, end) = oneshot::channel();
        self.waiting.insert(number, answer);
        (number, end)
    }

    /// The core ended an order.
    pub(crate) fn end(&self, answer: OrderAnswer) {
        let number = match &answer {
            OrderAnswer::Created { request, .. } | OrderAnswer::NotCreated { request, .. } => {
                *request
            }
            OrderAnswer::Handoff { order, .. } => *order,
        };
        if let Some((_, waiting)) = self.waiting.remove(&number) {
            // Whoever asked may have gone.
            let _ = waiting.send(answer);
        }
    }
}

#[tonic::async_trait]
impl Process for Door {
    async fn health(&self, _: Request<HealthRequest>) -> Result<Response<HealthReply>, Status> {
        Ok(Response::new(self.about.reply()))
    }

    async fn entities(
        &self,
        request: Request<ListEntitiesRequest>,
    ) -> Result<Response<ListEntitiesReply>, Status> {
        let ListEntitiesRequest { limit, after, space } = request.into_inner();
        let limit = match limit {
            0 => 100,
            n => n.min(10_000) as usize,
        };
        let space = (space != 0).then_some(SpaceId(space));
        let (answer, briefs) = oneshot::channel();
        self.look(Look::Many { limit: limit + 1, after: EntityId(after), space, answer })?;
        let mut briefs = self.seen(briefs).await?;
        let more = briefs.len() > limit;
        briefs.truncate(limit);
        let entities = briefs.into_iter().map(|b| self.reply(b)).collect();
        Ok(Response::new(ListEntitiesReply { entities, more }))
    }

    async fn entity(
        &self,
        request: Request<GetEntityRequest>,
    ) -> Result<Response<EntityReply>, Status> {
        let id = EntityId(request.get_ref().entity);
        let (answer, brief) = oneshot::channel();
        self.look(Look::One(id, answer))?;
        match self.seen(brief).await? {
            Some(brief) => Ok(Response::new(self.reply(brief))),
            None => Err(Status::not_found(format!("there is no entity {id}"))),
        }
    }

    async fn order_handoff(
        &self,
        request: Request<HandoffRequest>,
    ) -> Result<Response<HandoffReply>, Status> {
        self.hand_over(request.into_inner()).await.map(Response::new)
    }

    async fn create_entities(
        &self,
        request: Request<CreateEntitiesRequest>,
    ) -> Result<Response<CreateEntitiesReply>, Status> {
        self.create(request.into_inner()).await.map(Response::new)
    }

    async fn drain(&self, request: Request<DrainRequest>) -> Result<Response<DrainReply>, Status> {
        self.about.drain(request.get_ref()).map(Response::new)
    }

    async fn move_slots(
        &self,
        request: Request<MoveSlotsRequest>,
    ) -> Result<Response<MoveSlotsReply>, Status> {
        self.give_slots(request.get_ref())?;
        self.take_slots_over(request.get_ref())?;
        let Node { name, incarnation } = self.about.node;
        let moves = self.moves.borrow().iter().map(move_to_wire).collect();
        let (name, incarnation) = (name.to_string(), incarnation.0);
        let takes = self.takeovers.states().iter().map(take_state_to_wire).collect();
        let accepts = self.about.takes_work();
        Ok(Response::new(MoveSlotsReply { name, incarnation, moves, takes, accepts }))
    }
}

impl Door {
    fn look(&self, look: Look) -> Result<(), Status> {
        self.looks
            .try_send(look)
            .map_err(|_| Status::resource_exhausted("too many questions wait; try again"))
    }

    async fn seen<T>(&self, answer: oneshot::Receiver<T>) -> Result<T, Status> {
        match timeout(LOOK_MAX, answer).await {
            Ok(Ok(seen)) => Ok(seen),
            _ => Err(Status::unavailable(format!("{} runs no ticks at present", self.about.node))),
        }
    }

    fn reply(&self, brief: EntityBrief) -> EntityReply {
        let kind = self.kinds.get(brief.kind);
        let name = |index: u8| {
            let prop = kind.and_then(|k| k.props.get(usize::from(index)));
            prop.map_or_else(|| index.to_string(), |p| p.name.clone())
        };
        let durable = brief.durable.into_iter().map(|(i, value)| (name(i), text_of(&value)));
        EntityReply {
            id: brief.entity.0,
            kind: kind.map_or_else(|| brief.kind.to_string(), |k| k.name.clone()),
            space: brief.place.space.0,
            owner: brief.owner.name.to_string(),
            incarnation: brief.owner.incarnation.0,
            epoch: brief.epoch.grant(),
            seq: brief.seq.0,
            base: self.about.node.name.to_string(),
            x: brief.place.pos.x,
            y: brief.place.pos.y,
            pinned: brief.pinned.map(|t| t.0),
            durable: durable.collect(),
        }
    }

    /// Hands orders to the tick thread. What they come to, the moves under way say.
    fn give_slots(&self, request: &MoveSlotsRequest) -> Result<(), Status> {
        let gives = gives_from_wire(&request.gives);
        let gives = gives.map_err(|bad| Status::invalid_argument(bad.to_string()))?;
        if gives.iter().map(|(_, slots)| slots.len()).sum::<usize>() > GIVE_MAX {
            return Err(Status::invalid_argument("at most 256 slots at once: there are no more"));
        }
        for (to, slots) in gives {
            if self.orders.try_send(BaseOrder::GiveSlots { slots, to }).is_err() {
                return Err(Status::resource_exhausted("too many orders wait; try again"));
            }
        }
        Ok(())
    }

    /// Has logs of lost baseapps taken over. What that comes to, the states say.
    fn take_slots_over(&self, request: &MoveSlotsRequest) -> Result<(), Status> {
        let takes = takes_from_wire(&request.takes);
        let takes = takes.map_err(|bad| Status::invalid_argument(bad.to_string()))?;
        for take in takes {
            let is_one = take.from.name.kind == NodeKind::Base && take.slots.len() <= GIVE_MAX;
            if !is_one || take.log.len() > PATH_MAX {
                return Err(Status::invalid_argument("that is no log of a baseapp's slots"));
            }
            self.takeovers.order(take, self.about.takes_work());
        }
        Ok(())
    }

    async fn hand_over(&self, request: HandoffRequest) -> Result<HandoffReply, Status> {
        let bad = |e: marchland_common::order::BadNodeName| Status::invalid_argument(e.to_string());
        let name: NodeName = request.to.parse().map_err(bad)?;
        let to = Node { name, incarnation: Incarnation(request.to_incarnation) };
        let (order, end) = self.open.open();
        let deadline = Duration::from_millis(request.deadline_ms.into());
        let ticks = deadline.as_micros() / self.step.as_micros().max(1);
        let asked = BaseOrder::Handoff {
            order,
            entity: EntityId(request.entity),
            to,
            hold: request.hold,
            within: u32::try_from(ticks).unwrap_or(u32::MAX).max(1),
        };
        if self.orders.try_send(asked).is_err() {
            self.open.waiting.remove(&order);
            return Err(Status::resource_exhausted("too many orders wait; try again"));
        }
        let ended = timeout(deadline + ORDER_GRACE, end).await;
        self.open.waiting.remove(&order);
        match ended {
            Ok(Ok(OrderAnswer::Handoff {
                entity,
                refused,
                from,
                owner,
                epoch,
                tick_last,
                tick_first,
                ..
            })) => {
                let name = |n: Option<Node>| n.map_or_else(String::new, |n| n.name.to_string());
                let (result, reason) = verdict(refused);
                Ok(HandoffReply {
                    handoff_id: order,
                    entity: entity.0,
                    result: result.to_owned(),
                    reason: reason.to_owned(),
                    from: name(from),
                    to: request.to,
                    owner: name(owner),
                    epoch: epoch.grant(),
                    tick_last: tick_last.map_or(0, |t| t.0),
                    tick_first: tick_first.map_or(0, |t| t.0),
                })
            }
            _ => Err(Status::deadline_exceeded("the order did not end by its deadline")),
        }
    }

    async fn create(&self, request: CreateEntitiesRequest) -> Result<CreateEntitiesReply, Status> {
        let kind = self.kinds.by_name(&request.kind).map(|k| k.id);
        let kind = kind.ok_or_else(|| {
            Status::invalid_argument(format!("there is no kind `{}`", request.kind))
        })?;
        if request.spots.len() > CREATE_MAX {
            return Err(Status::invalid_argument("at most 1,000 entities at once"));
        }
        let mut ends = Vec::new();
        let mut reply = CreateEntitiesReply::default();
        for spot in request.spots {
            let (number, end) = self.open.open();
            let pos = Pos::new(spot.x, spot.y);
            let place = Place { space: SpaceId(request.space), pos, heading: 0 };
            let order = BaseOrder::Create {
                request: number,
                kind,
                place,
                argument: spot.argument.to_vec(),
                props: Vec::new(),
            };
            if self.orders.try_send(order).is_err() {
                reply.refused = "too many orders wait; the rest was not created".to_owned();
                break;
            }
            ends.push(end);
        }
        for end in ends {
            match timeout(Duration::from_secs(2), end).await {
                Ok(Ok(OrderAnswer::Created { entity, .. })) => reply.entities.push(entity.0),
                Ok(Ok(OrderAnswer::NotCreated { reason, .. })) => reply.refused = reason,
                _ => reply.refused = "not confirmed in time".to_owned(),
            }
        }
        Ok(reply)
    }
}

pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// How a handoff ended, for people and scripts.
pub(crate) fn verdict(refused: Option<HandoffRefusal>) -> (&'static str, &'static str) {
    match refused {
        None => ("committed", ""),
        Some(HandoffRefusal::Deadline) => ("timeout", "the deadline passed"),
        Some(HandoffRefusal::TargetSilent) => ("aborted", "the target was not heard of lately"),
        Some(HandoffRefusal::TargetNotAccepting) => ("aborted", "the target takes no entities"),
        Some(HandoffRefusal::TargetTooOld) => ("aborted", "the target runs an older schema"),
        Some(HandoffRefusal::TargetDead) => ("aborted", "the target is declared dead"),
        Some(HandoffRefusal::NotInSpace) => ("refused", "the target owns no cell of the space"),
        Some(HandoffRefusal::InProgress) => ("refused", "another handoff is under way"),
        Some(HandoffRefusal::NotOwned) => ("refused", "nobody owns the entity yet"),
        Some(HandoffRefusal::AlreadyThere) => ("refused", "it already stands there"),
        Some(HandoffRefusal::NoSuchEntity) => ("refused", "there is no such entity"),
    }
}
