//! The `Maintenance` service: only `Status`, which clients use to see whether anyone is there.

use super::shared::Shared;
use etcd_client::proto::{
    PbAlarmRequest, PbAlarmResponse, PbDefragmentRequest, PbDefragmentResponse, PbDowngradeRequest,
    PbDowngradeResponse, PbHashKvRequest, PbHashKvResponse, PbHashRequest, PbHashResponse,
    PbMaintenanceService, PbMoveLeaderRequest, PbMoveLeaderResponse, PbSnapshotRequest,
    PbSnapshotResponse, PbStatusRequest, PbStatusResponse,
};
use marchland_standin_core::Request as Ask;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

type Answer<T> = Result<Response<T>, Status>;

/// The version that clients are told: that of the API, and that it is not etcd.
const VERSION: &str = "3.4.0-marchland-standin";

fn not_served<T>() -> Answer<T> {
    Err(Status::unimplemented("the stand-in serves only Status of the maintenance service"))
}

#[tonic::async_trait]
impl PbMaintenanceService for Shared {
    async fn status(&self, _: Request<PbStatusRequest>) -> Answer<PbStatusResponse> {
        // A request like any other, so that a stalled or failed server does not look healthy.
        let reply = self.call(Ask::Leases).await?;
        let header = self.header(reply.revision);
        let (leader, index) = (header.member_id, self.index());
        Ok(Response::new(PbStatusResponse {
            header: Some(header),
            version: VERSION.to_owned(),
            leader,
            raft_index: index,
            raft_applied_index: index,
            raft_term: 1,
            ..PbStatusResponse::default()
        }))
    }

    async fn alarm(&self, _: Request<PbAlarmRequest>) -> Answer<PbAlarmResponse> {
        not_served()
    }

    async fn defragment(&self, _: Request<PbDefragmentRequest>) -> Answer<PbDefragmentResponse> {
        not_served()
    }

    async fn hash(&self, _: Request<PbHashRequest>) -> Answer<PbHashResponse> {
        not_served()
    }

    async fn hash_kv(&self, _: Request<PbHashKvRequest>) -> Answer<PbHashKvResponse> {
        not_served()
    }

    type SnapshotStream = ReceiverStream<Result<PbSnapshotResponse, Status>>;

    async fn snapshot(&self, _: Request<PbSnapshotRequest>) -> Answer<Self::SnapshotStream> {
        not_served()
    }

    async fn move_leader(&self, _: Request<PbMoveLeaderRequest>) -> Answer<PbMoveLeaderResponse> {
        not_served()
    }

    async fn downgrade(&self, _: Request<PbDowngradeRequest>) -> Answer<PbDowngradeResponse> {
        not_served()
    }
}
