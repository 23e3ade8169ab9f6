//! What everybody may ask a process about itself, whatever its role; and the whole door of a
//! process that keeps no records.

use super::drain::DrainOrder;
use super::health::HealthBoard;
use crate::telemetry::Counters;
use marchland_common::order::Node;
use marchland_proto::operator::process_server::Process;
use marchland_proto::operator::{
    CreateEntitiesReply, CreateEntitiesRequest, DrainReply, DrainRequest, EntityReply,
    GetEntityRequest, HandoffReply, HandoffRequest, HealthReply, HealthRequest, ListEntitiesReply,
    ListEntitiesRequest, MoveSlotsReply, MoveSlotsRequest,
};
use tonic::{Request, Response, Status};

/// What a process says of itself. Clones share it.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Who it is.
    pub node: Node,
    /// Whether it is ready, and its figures.
    pub health: HealthBoard,
    /// Its counters.
    pub counters: Counters,
    /// Where it hears that it is to give away what it has; none if it has nothing to give away.
    pub drain: Option<DrainOrder>,
}

impl Introduction {
    /// The answer to whoever asks how it is.
    #[must_use]
    pub fn reply(&self) -> HealthReply {
        let report = self.health.report();
        HealthReply {
            name: self.node.name.to_string(),
            incarnation: self.node.incarnation.0,
            ready: report.reasons.is_empty(),
            reasons: report.reasons,
            tick: report.tick,
            reals: report.reals,
            ghosts: report.ghosts,
            entities: report.entities,
            sessions: report.sessions,
            counters: self.counters.snapshot().into_iter().collect(),
            drained: report.drained,
        }
    }

    /// Whether it may be given anything: nothing is missing, and it does not drain.
    #[must_use]
    pub fn takes_work(&self) -> bool {
        let drains = self.drain.as_ref().is_some_and(DrainOrder::is_given);
        !drains && self.health.report().reasons.is_empty()
    }

    /// Takes an order to give away what it has, if it is meant.
    ///
    /// # Errors
    /// It is another life, or has nothing to give away.
    pub fn drain(&self, request: &DrainRequest) -> Result<DrainReply, Status> {
        let Node { name, incarnation } = self.node;
        if (request.name.as_str(), request.incarnation)
            != (name.to_string().as_str(), incarnation.0)
        {
            let text = format!("{} is not here, but {}", request.name, self.node);
            return Err(Status::failed_precondition(text));
        }
        let Some(drain) = &self.drain else {
            return Err(Status::unimplemented(format!("{name} has nothing to give away")));
        };
        drain.give();
        Ok(DrainReply { ordered: true, reason: String::new(), incarnation: incarnation.0 })
    }
}

/// The door of a process that keeps no records of entities.
#[derive(Clone, Debug)]
pub struct NoRecordsDoor {
    /// What it answers about itself.
    pub about: Introduction,
    /// What it answers to everything else: who keeps the records.
    pub elsewhere: &'static str,
}

impl NoRecordsDoor {
    fn refuse<T>(&self) -> Result<Response<T>, Status> {
        Err(Status::unimplemented(self.elsewhere))
    }
}

#[tonic::async_trait]
impl Process for NoRecordsDoor {
    async fn health(&self, _: Request<HealthRequest>) -> Result<Response<HealthReply>, Status> {
        Ok(Response::new(self.about.reply()))
    }

    async fn entities(
        &self,
        _: Request<ListEntitiesRequest>,
    ) -> Result<Response<ListEntitiesReply>, Status> {
        self.refuse()
    }

    async fn entity(&self, _: Request<GetEntityRequest>) -> Result<Response<EntityReply>, Status> {
        self.refuse()
    }

    async fn order_handoff(
        &self,
        _: Request<HandoffRequest>,
    ) -> Result<Response<HandoffReply>, Status> {
        self.refuse()
    }

    async fn create_entities(
        &self,
        _: Request<CreateEntitiesRequest>,
    ) -> Result<Response<CreateEntitiesReply>, Status> {
        self.refuse()
    }

    async fn drain(&self, request: Request<DrainRequest>) -> Result<Response<DrainReply>, Status> {
        self.about.drain(request.get_ref()).map(Response::new)
    }

    async fn move_slots(
        &self,
        _: Request<MoveSlotsRequest>,
    ) -> Result<Response<MoveSlotsReply>, Status> {
        self.refuse()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use marchland_common::order::NodeKind;

    #[tokio::test]
    async fn a_process_without_records_tells_how_it_is_and_who_keeps_them() {
        let (health, counters) = (HealthBoard::default(), Counters::default());
        let drain = DrainOrder::default();
        let about = Introduction {
            node: Node::new(NodeKind::Cell, 3, 7),
            health: health.clone(),
            counters,
            drain: Some(drain.clone()),
        };
        let door = NoRecordsDoor { about: about.clone(), elsewhere: "ask a baseapp" };
        health.figures(40, 2, 1, 0, 0);
        about.counters.counter("bundles").add(5);
        let well = door.health(Request::new(HealthRequest {})).await.unwrap().into_inner();
        assert!(well.ready);
        assert_eq!((well.name.as_str(), well.incarnation), ("cell-3", 7));
        assert_eq!((well.tick, well.reals, well.ghosts, well.counters["bundles"]), (40, 2, 1, 5));
        health.set("a disk is missing", true);
        let ill = door.health(Request::new(HealthRequest {})).await.unwrap().into_inner();
        assert_eq!((ill.ready, ill.reasons), (false, vec!["a disk is missing".to_owned()]));
        assert!(!about.takes_work(), "nothing is given to who is ill");
        health.set("a disk is missing", false);
        assert!(about.takes_work());
        let asked = door.entity(Request::new(GetEntityRequest::default())).await.unwrap_err();
        assert_eq!(asked.message(), "ask a baseapp");
        let order = |incarnation| {
            let name = "cell-3".to_owned();
            door.drain(Request::new(DrainRequest { name, incarnation }))
        };
        assert!(order(6).await.unwrap_err().message().contains("cell-3@7"));
        assert!(!drain.is_given(), "another life is meant");
        assert!(order(7).await.unwrap().into_inner().ordered);
        drain.given().await;
        assert!(!about.takes_work(), "nor to who drains");
    }
}
