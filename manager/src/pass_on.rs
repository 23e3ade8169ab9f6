//! A manager that does not lead passes on what only the leader can answer. What was passed on is
//! not passed on again: two managers that each take the other for the leader would play ball.

use crate::address_book::channel_to;
use marchland_proto::operator::operator_client::OperatorClient;
use marchland_runtime::process::Seen;
use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

/// How long the leader may take: it asks everybody itself, and waits for the store to say so.
const LEADER_MAX: Duration = Duration::from_secs(3);

/// Marks a request that another manager passed on.
const PASSED_ON: &str = "x-marchland-passed-on";

/// The leader, as far as the store says, dialed from that address of this machine. An error if there
/// is none, or if it is asked in vain.
pub(crate) fn leader<T>(
    request: &Request<T>,
    seen: &Seen,
    from: Option<IpAddr>,
) -> Result<OperatorClient<Channel>, Status> {
    if request.metadata().contains_key(PASSED_ON) {
        return Err(Status::unavailable("this manager does not lead any more; try again"));
    }
    let leader = seen.leader.as_ref().ok_or_else(|| {
        Status::unavailable("no manager leads at present; one does within seconds, try again")
    })?;
    let channel = channel_to(&leader.operator_addr, from).ok_or_else(|| {
        Status::internal(format!("the address of {} makes no sense", leader.name))
    })?;
    Ok(OperatorClient::new(channel))
}

/// The same request for the leader.
pub(crate) fn marked<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert(PASSED_ON, tonic::metadata::MetadataValue::from_static("1"));
    request
}

/// What the leader answers, within a bound: it may be stopped, and lead by its lease alone.
pub(crate) async fn answer<T>(
    asked: impl Future<Output = Result<Response<T>, Status>>,
    seen: &Seen,
) -> Result<Response<T>, Status> {
    let silent = || Status::unavailable("no answer in time");
    let answer = timeout(LEADER_MAX, asked).await.unwrap_or_else(|_| Err(silent()));
    answer.map_err(|status| match (&seen.leader, status.code()) {
        (Some(leader), Code::Unavailable) => Status::unavailable(format!(
            "{}, which leads, does not answer: {}; another one does soon, try again",
            leader.name,
            status.message()
        )),
        _ => status,
    })
}
