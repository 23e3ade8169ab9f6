//! The service that peers dial: judges greetings, drains their frames, gives credit.

use super::hub::{Admitted, Hub, Key};
use super::wire;
use crate::tick::monotonic_ns;
use futures::StreamExt;
use marchland_common::link::Hello;
use marchland_proto::link::link_server::Link;
use marchland_proto::link::{Down, Up, up};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// A connection that says nothing is ended after this long.
const GREETING_LIMIT: Duration = Duration::from_secs(1);
/// Answers that may wait to be written; credit that finds no place is sent with the next.
const ANSWERS_MAX: usize = 4;

/// The service.
#[derive(Clone)]
pub struct LinkService(pub(super) Arc<Hub>);

impl std::fmt::Debug for LinkService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LinkService").field(&self.0.config.identity.node).finish()
    }
}

#[tonic::async_trait]
impl Link for LinkService {
    type CarryStream = ReceiverStream<Result<Down, Status>>;

    async fn carry(
        &self,
        request: Request<Streaming<Up>>,
    ) -> Result<Response<Self::CarryStream>, Status> {
        let (answers, stream) = mpsc::channel(ANSWERS_MAX);
        tokio::spawn(serve(self.0.clone(), request.into_inner(), answers));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

type Answers = mpsc::Sender<Result<Down, Status>>;

async fn serve(hub: Arc<Hub>, mut ups: Streaming<Up>, answers: Answers) {
    let greeting = tokio::select! {
        () = hub.stop.cancelled() => return,
        greeting = timeout(GREETING_LIMIT, ups.next()) => greeting,
    };
    let hello = match greeting {
        Err(_) => Err(Status::deadline_exceeded("no greeting came")),
        Ok(None) => return,
        Ok(Some(Err(status))) => Err(status),
        Ok(Some(Ok(up))) => read_hello(up),
    };
    let hello = match hello {
        Ok(hello) => hello,
        Err(status) => {
            hub.count_malformed();
            let _ = answers.try_send(Err(status));
            return;
        }
    };
    let key = (hello.from, hello.channel);
    match hub.on_hello(&hello) {
        Err(refusal) => {
            crate::warn_rarely!(peer = %hello.from, %refusal, "a greeting was refused");
            let _ = answers.try_send(Ok(wire::refusal_to_wire(&refusal)));
        }
        Ok(admitted) => {
            let _ = answers.try_send(Ok(wire::welcome_to_wire(&admitted.welcome)));
            let why = carry(&hub, key, &admitted, ups, &answers).await;
            hub.on_in_end(key, admitted.connection, why);
        }
    }
}

fn read_hello(up: Up) -> Result<Hello, Status> {
    let Some(up::What::Hello(hello)) = up.what else {
        return Err(Status::invalid_argument("the first message must be a greeting"));
    };
    wire::hello_from_wire(hello).map_err(|bad| Status::invalid_argument(bad.to_string()))
}

/// Drains the connection until it ends; says why it did.
async fn carry(
    hub: &Arc<Hub>,
    key: Key,
    admitted: &Admitted,
    mut ups: Streaming<Up>,
    answers: &Answers,
) -> String {
    loop {
        let up = tokio::select! {
            () = admitted.cut.cancelled() => return "ended by this process".to_owned(),
            () = admitted.wake.notified() => {
                give_credit(hub, key, admitted, answers);
                continue;
            }
            up = ups.next() => up,
        };
        let up = match up {
            None => return "ended by the peer".to_owned(),
            Some(Err(status)) => {
                if status.code() == tonic::Code::OutOfRange {
                    hub.count_malformed();
                }
                return status.to_string();
            }
            Some(Ok(up)) => up,
        };
        let Some(up::What::Frame(frame)) = up.what else {
            hub.count_malformed();
            let _ = answers.try_send(Err(Status::invalid_argument("frames follow a greeting")));
            return "a message that is no frame".to_owned();
        };
        let frame = wire::frame_from_wire(frame, monotonic_ns());
        if let Err(broken) = hub.on_frame(key, admitted.connection, frame) {
            let _ = answers.try_send(Err(Status::aborted(broken.to_string())));
            return broken.to_string();
        }
    }
}

/// Never waits: a peer that does not read its credit must not stop us from draining its frames.
fn give_credit(hub: &Hub, key: Key, admitted: &Admitted, answers: &Answers) {
    if let Ok(place) = answers.try_reserve()
        && let Some(ack) = hub.credit(key, admitted.connection)
    {
        place.send(Ok(wire::ack_to_wire(ack)));
    }
}
