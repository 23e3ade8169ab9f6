//! What everybody may ask a cellapp.

use marchland_common::order::Node;
use marchland_proto::operator::process_server::Process;
use marchland_proto::operator::{
    CreateEntitiesReply, CreateEntitiesRequest, EntityReply, GetEntityRequest, HandoffReply,
    HandoffRequest, HealthReply, HealthRequest, ListEntitiesReply, ListEntitiesRequest,
};
use marchland_runtime::process::HealthBoard;
use marchland_runtime::telemetry::Counters;
use tonic::{Request, Response, Status};

pub(crate) struct Door {
    pub(crate) node: Node,
    pub(crate) health: HealthBoard,
    pub(crate) counters: Counters,
}

fn not_here<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("a cellapp keeps no records; ask the baseapp of the entity"))
}

#[tonic::async_trait]
impl Process for Door {
    async fn health(&self, _: Request<HealthRequest>) -> Result<Response<HealthReply>, Status> {
        let report = self.health.report();
        Ok(Response::new(HealthReply {
            name: self.node.name.to_string(),
            incarnation: self.node.incarnation.0,
            ready: report.reasons.is_empty(),
            reasons: report.reasons,
            tick: report.tick,
            reals: report.reals,
            ghosts: report.ghosts,
            counters: self.counters.snapshot().into_iter().collect(),
            ..HealthReply::default()
        }))
    }

    async fn entities(
        &self,
        _: Request<ListEntitiesRequest>,
    ) -> Result<Response<ListEntitiesReply>, Status> {
        not_here()
    }

    async fn entity(&self, _: Request<GetEntityRequest>) -> Result<Response<EntityReply>, Status> {
        not_here()
    }

    async fn order_handoff(
        &self,
        _: Request<HandoffRequest>,
    ) -> Result<Response<HandoffReply>, Status> {
        not_here()
    }

    async fn create_entities(
        &self,
        _: Request<CreateEntitiesRequest>,
    ) -> Result<Response<CreateEntitiesReply>, Status> {
        not_here()
    }
}
