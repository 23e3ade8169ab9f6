//! The `Lease` service.

use super::kv::wrong_kind;
use super::shared::Shared;
use etcd_client::proto::{
    PbLeaseGrantRequest, PbLeaseGrantResponse, PbLeaseKeepAliveRequest, PbLeaseKeepAliveResponse,
    PbLeaseLeasesRequest, PbLeaseLeasesResponse, PbLeaseRevokeRequest, PbLeaseRevokeResponse,
    PbLeaseService, PbLeaseStatus, PbLeaseTimeToLiveRequest, PbLeaseTimeToLiveResponse,
};
use marchland_standin_core::{Request as Ask, Response as Body};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

type Answer<T> = Result<Response<T>, Status>;
type KeepAliveStream = ReceiverStream<Result<PbLeaseKeepAliveResponse, Status>>;

/// Answers of one keep-alive stream that may wait for a slow reader; then we stop reading it.
const ANSWERS_MAX: usize = 16;

/// Serves leases of the shared state; keep-alive streams outlive the call that opens them.
pub(super) struct LeaseService(pub Arc<Shared>);

#[tonic::async_trait]
impl PbLeaseService for LeaseService {
    async fn lease_grant(
        &self,
        request: Request<PbLeaseGrantRequest>,
    ) -> Answer<PbLeaseGrantResponse> {
        let PbLeaseGrantRequest { ttl: ttl_s, id } = request.into_inner();
        let reply = self.0.call(Ask::LeaseGrant { id, ttl_s }).await?;
        let Body::LeaseGrant { id, ttl_s } = reply.body else { return Err(wrong_kind()) };
        let header = Some(self.0.header(reply.revision));
        Ok(Response::new(PbLeaseGrantResponse { header, id, ttl: ttl_s, error: String::new() }))
    }

    async fn lease_revoke(
        &self,
        request: Request<PbLeaseRevokeRequest>,
    ) -> Answer<PbLeaseRevokeResponse> {
        let reply = self.0.call(Ask::LeaseRevoke { id: request.into_inner().id }).await?;
        Ok(Response::new(PbLeaseRevokeResponse { header: Some(self.0.header(reply.revision)) }))
    }

    type LeaseKeepAliveStream = KeepAliveStream;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<PbLeaseKeepAliveRequest>>,
    ) -> Answer<Self::LeaseKeepAliveStream> {
        let (answers, stream) = mpsc::channel(ANSWERS_MAX);
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let closing = shared.closing().clone();
            tokio::select! {
                () = keep_alive(&shared, request.into_inner(), &answers) => {}
                () = closing.cancelled() => {}
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<PbLeaseTimeToLiveRequest>,
    ) -> Answer<PbLeaseTimeToLiveResponse> {
        let PbLeaseTimeToLiveRequest { id, keys } = request.into_inner();
        let reply = self.0.call(Ask::LeaseTimeToLive { id, keys }).await?;
        let Body::LeaseTimeToLive { id, ttl_s, granted_ttl_s, keys } = reply.body else {
            return Err(wrong_kind());
        };
        Ok(Response::new(PbLeaseTimeToLiveResponse {
            header: Some(self.0.header(reply.revision)),
            id,
            ttl: ttl_s,
            granted_ttl: granted_ttl_s,
            keys,
        }))
    }

    async fn lease_leases(
        &self,
        _: Request<PbLeaseLeasesRequest>,
    ) -> Answer<PbLeaseLeasesResponse> {
        let reply = self.0.call(Ask::Leases).await?;
        let Body::Leases(ids) = reply.body else { return Err(wrong_kind()) };
        let leases = ids.into_iter().map(|id| PbLeaseStatus { id }).collect();
        let header = Some(self.0.header(reply.revision));
        Ok(Response::new(PbLeaseLeasesResponse { header, leases }))
    }
}

/// Answers renewals in order until the client or the stream ends. A lease that is gone is an
/// answer with a time to live of 0, not the end of the stream.
async fn keep_alive(
    shared: &Shared,
    mut requests: Streaming<PbLeaseKeepAliveRequest>,
    answers: &mpsc::Sender<Result<PbLeaseKeepAliveResponse, Status>>,
) {
    while let Ok(Some(PbLeaseKeepAliveRequest { id })) = requests.message().await {
        let answer = match shared.call(Ask::LeaseKeepAlive { id }).await {
            Ok(reply) => match reply.body {
                Body::LeaseKeepAlive { id, ttl_s } => {
                    let header = Some(shared.header(reply.revision));
                    Ok(PbLeaseKeepAliveResponse { header, id, ttl: ttl_s })
                }
                _ => Err(wrong_kind()),
            },
            Err(status) => Err(status),
        };
        let last = answer.is_err();
        if answers.send(answer).await.is_err() || last {
            return;
        }
    }
}
