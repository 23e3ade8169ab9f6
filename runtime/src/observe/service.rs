//! The service that a process serves to observers.

use super::desk::{Desk, Subject};
use super::stage::{Shown, Stage};
use super::tee::{RecordTee, Teed};
use crate::coord::LeaseProof;
use crate::link::LinkPlane;
use crate::tick::monotonic_ns;
use futures::stream::{self, Stream};
use marchland_common::journal::JOURNAL_FORMAT;
use marchland_common::order::{BadNodeName, EntityId, Incarnation, Node, Tick};
use marchland_proto::observer::observe_server::{Observe, ObserveServer};
use marchland_proto::observer::piece::What;
use marchland_proto::observer::{
    Gap, LinkVitals, PassportReply, PassportRequest, Piece, RecordsReply, RecordsRequest,
    VitalsReply, VitalsRequest, World, WorldsRequest,
};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};
use tokio::time::Instant;
use tonic::{Request, Response, Status};

/// The version of the records that are told.
pub const RECORDS_VERSION: u32 = *JOURNAL_FORMAT.versions.end() as u32;
/// Most streams at once, pictures and records together.
const STREAMS_MAX: usize = 32;
/// Most pieces in one message, and about how many bytes.
const PIECES_MAX: usize = 64;
const BYTES_MAX: usize = 256 << 10;

type Told<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What a process shows.
#[derive(Clone)]
pub struct ObserveDoor {
    node: Node,
    stage: Option<Stage>,
    tee: RecordTee,
    desk: Desk,
    plane: LinkPlane,
    lease: watch::Receiver<LeaseProof>,
    room: Arc<Semaphore>,
}

impl ObserveDoor {
    /// The door of a life. `stage` is where its pictures are, if it makes some.
    #[must_use]
    pub fn new(
        node: Node,
        stage: Option<Stage>,
        tee: RecordTee,
        desk: Desk,
        plane: LinkPlane,
        lease: watch::Receiver<LeaseProof>,
    ) -> Self {
        let room = Arc::new(Semaphore::new(STREAMS_MAX));
        Self { node, stage, tee, desk, plane, lease, room }
    }

    /// It as a service.
    #[must_use]
    pub fn service(self) -> ObserveServer<Self> {
        ObserveServer::new(self)
    }

    fn enter(&self) -> Result<OwnedSemaphorePermit, Status> {
        self.room.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!("{STREAMS_MAX} observers listen already"))
        })
    }
}

#[tonic::async_trait]
impl Observe for ObserveDoor {
    type WorldsStream = Told<World>;
    type RecordsStream = Told<RecordsReply>;

    async fn worlds(&self, _: Request<WorldsRequest>) -> Result<Response<Told<World>>, Status> {
        let Some(stage) = &self.stage else {
            let text = format!("{} simulates nobody: ask a cellapp", self.node.name);
            return Err(Status::unimplemented(text));
        };
        let looks = Looks { looks: stage.look(), _permit: self.enter()? };
        let told: Told<World> = Box::pin(stream::unfold(looks, next_world));
        Ok(Response::new(told))
    }

    async fn records(
        &self,
        _: Request<RecordsRequest>,
    ) -> Result<Response<Told<RecordsReply>>, Status> {
        let listens = Listens {
            node: self.node,
            records: self.tee.listen(),
            told: None,
            _permit: self.enter()?,
        };
        let told: Told<RecordsReply> = Box::pin(stream::unfold(listens, next_records));
        Ok(Response::new(told))
    }

    async fn passport(
        &self,
        request: Request<PassportRequest>,
    ) -> Result<Response<PassportReply>, Status> {
        let PassportRequest { entity, to, to_incarnation } = request.into_inner();
        let to = match to.as_str() {
            "" => None,
            name => {
                let name = name
                    .parse()
                    .map_err(|e: BadNodeName| Status::invalid_argument(e.to_string()))?;
                Some(Node { name, incarnation: Incarnation(to_incarnation) })
            }
        };
        let reply = self.desk.ask(Subject { entity: EntityId(entity), to }).await?;
        let (name, incarnation) = (self.node.name.to_string(), self.node.incarnation.0);
        Ok(Response::new(PassportReply { name, incarnation, ..reply }))
    }

    async fn vitals(&self, _: Request<VitalsRequest>) -> Result<Response<VitalsReply>, Status> {
        let (now, now_ns, proof) = (Instant::now(), monotonic_ns(), *self.lease.borrow());
        let ms = |d: std::time::Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        let vitals = self.plane.vitals(now_ns).into_iter().map(|link| LinkVitals {
            peer: link.peer.name.to_string(),
            incarnation: link.peer.incarnation.0,
            sending: link.sending,
            receiving: link.receiving,
            unacked: link.unacked as u64,
            unacked_bytes: link.unacked_bytes as u64,
            silent_ms: link.silent_ns / 1_000_000,
            queued: link.queued as u64,
        });
        Ok(Response::new(VitalsReply {
            name: self.node.name.to_string(),
            incarnation: self.node.incarnation.0,
            lease_ms: ms(proof.remaining(now)),
            lease_failing_ms: proof.failing_since.map_or(0, |since| ms(now - since).max(1)),
            links: vitals.collect(),
        }))
    }
}

struct Looks {
    looks: watch::Receiver<Option<Shown>>,
    _permit: OwnedSemaphorePermit,
}

/// The next picture; the end when the process makes none any more.
async fn next_world(mut looks: Looks) -> Option<(Result<World, Status>, Looks)> {
    loop {
        looks.looks.changed().await.ok()?;
        let Some(shown) = looks.looks.borrow_and_update().clone() else { continue };
        let age_ns = monotonic_ns().saturating_sub(shown.made_ns);
        let age_us = u32::try_from(age_ns / 1_000).unwrap_or(u32::MAX);
        let world = World { age_us, ..(*shown.world).clone() };
        return Some((Ok(world), looks));
    }
}

struct Listens {
    node: Node,
    records: broadcast::Receiver<Teed>,
    /// The newest tick that was told.
    told: Option<Tick>,
    _permit: OwnedSemaphorePermit,
}

/// What was written since, some of it in one message.
async fn next_records(mut listens: Listens) -> Option<(Result<RecordsReply, Status>, Listens)> {
    let (mut pieces, mut bytes, mut lost) = (Vec::new(), 0, 0);
    loop {
        let heard = match pieces.is_empty() {
            true => listens.records.recv().await,
            false => match listens.records.try_recv() {
                Ok(teed) => Ok(teed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
            },
        };
        match heard {
            Ok(teed) => {
                if lost > 0 {
                    pieces.push(listens.gap_before(&teed, lost));
                    lost = 0;
                }
                let piece = listens.piece(teed);
                bytes +=
                    if let Some(What::Record(record)) = &piece.what { record.len() } else { 0 };
                pieces.push(piece);
                if pieces.len() >= PIECES_MAX || bytes >= BYTES_MAX {
                    break;
                }
            }
            // What follows says until when something is missing.
            Err(RecvError::Lagged(missed)) => lost += missed,
            Err(RecvError::Closed) => return None,
        }
    }
    let (name, incarnation) = (listens.node.name.to_string(), listens.node.incarnation.0);
    let reply = RecordsReply { name, incarnation, version: RECORDS_VERSION, pieces };
    Some((Ok(reply), listens))
}

impl Listens {
    fn gap_before(&self, next: &Teed, lost: u64) -> Piece {
        let (first, to) = match next {
            Teed::Record { first, tick, .. } => (*first, *tick),
            Teed::Gap { first, from, .. } => (*first, *from),
        };
        let from = self.told.unwrap_or(to);
        Piece { first, what: Some(What::Gap(Gap { from: from.0, to: to.0, lost })) }
    }

    fn piece(&mut self, teed: Teed) -> Piece {
        match teed {
            Teed::Record { first, tick, bytes } => {
                self.told = Some(tick);
                Piece { first, what: Some(What::Record(bytes)) }
            }
            Teed::Gap { first, from, to } => {
                self.told = Some(to);
                Piece { first, what: Some(What::Gap(Gap { from: from.0, to: to.0, lost: 0 })) }
            }
        }
    }
}
