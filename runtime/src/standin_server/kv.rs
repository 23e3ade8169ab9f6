//! The `KV` service.

use super::REQUEST_BYTES_MAX;
use super::convert;
use super::shared::{Shared, refusal};
use etcd_client::proto::{
    PbCompactionRequest, PbCompactionResponse, PbDeleteRequest, PbDeleteResponse, PbKvService,
    PbPutRequest, PbPutResponse, PbRangeRequest, PbRangeResponse, PbRangeStreamResponse,
    PbTxnRequest, PbTxnResponse,
};
use marchland_standin_core::{EtcdError, Request as Ask, Response as Body};
use prost::Message;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

type Answer<T> = Result<Response<T>, Status>;

/// Refuses what etcd's size limit refuses.
fn checked<T: Message>(request: Request<T>) -> Result<T, Status> {
    let request = request.into_inner();
    if request.encoded_len() > REQUEST_BYTES_MAX {
        return Err(refusal(EtcdError::RequestTooLarge));
    }
    Ok(request)
}

/// The machine answers each request in kind; anything else is a defect of this program.
pub(super) fn wrong_kind() -> Status {
    Status::internal("the stand-in answered with another kind of message")
}

#[tonic::async_trait]
impl PbKvService for Shared {
    async fn range(&self, request: Request<PbRangeRequest>) -> Answer<PbRangeResponse> {
        let ask = Ask::Range(convert::range_request(request.into_inner())?);
        let reply = self.call(ask).await?;
        let Body::Range(body) = reply.body else { return Err(wrong_kind()) };
        Ok(Response::new(convert::range_response(self.header(reply.revision), body)))
    }

    type RangeStreamStream = ReceiverStream<Result<PbRangeStreamResponse, Status>>;

    async fn range_stream(&self, _: Request<PbRangeRequest>) -> Answer<Self::RangeStreamStream> {
        Err(Status::unimplemented("the stand-in does not stream ranges"))
    }

    async fn put(&self, request: Request<PbPutRequest>) -> Answer<PbPutResponse> {
        let reply = self.call(Ask::Put(convert::put_request(checked(request)?))).await?;
        let Body::Put(body) = reply.body else { return Err(wrong_kind()) };
        Ok(Response::new(convert::put_response(self.header(reply.revision), body)))
    }

    async fn delete_range(&self, request: Request<PbDeleteRequest>) -> Answer<PbDeleteResponse> {
        let ask = Ask::DeleteRange(convert::delete_request(checked(request)?));
        let reply = self.call(ask).await?;
        let Body::DeleteRange(body) = reply.body else { return Err(wrong_kind()) };
        Ok(Response::new(convert::delete_response(self.header(reply.revision), body)))
    }

    async fn txn(&self, request: Request<PbTxnRequest>) -> Answer<PbTxnResponse> {
        let reply = self.call(Ask::Txn(convert::txn_request(checked(request)?)?)).await?;
        let Body::Txn(body) = reply.body else { return Err(wrong_kind()) };
        Ok(Response::new(convert::txn_response(Some(self.header(reply.revision)), body)))
    }

    async fn compact(&self, request: Request<PbCompactionRequest>) -> Answer<PbCompactionResponse> {
        let revision = request.into_inner().revision;
        let reply = self.call(Ask::Compact { revision }).await?;
        Ok(Response::new(PbCompactionResponse { header: Some(self.header(reply.revision)) }))
    }
}
