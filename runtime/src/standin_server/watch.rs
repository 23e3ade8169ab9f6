//! The `Watch` service: one task per stream, with a cursor per watch.
//!
//! Invariants: events of a watch go out in order, each revision whole; a reader that is slow holds
//! back its own cursors only and costs no memory; a progress answer never overtakes an event.

use super::convert;
use super::shared::Shared;
use etcd_client::proto::{PbWatchRequest, PbWatchRequestUnion, PbWatchResponse, PbWatchService};
use marchland_standin_core::{KeyRange, WatchCursor, WatchPoll};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// Watches of one stream.
const WATCHES_PER_STREAM_MAX: usize = 1024;

/// Answers of one stream that may wait for a slow reader.
const ANSWERS_MAX: usize = 16;

/// The id in answers that belong to no watch.
const NO_WATCH: i64 = -1;

/// Serves watches of the shared state; a stream outlives the call that opens it.
pub(super) struct WatchService(pub Arc<Shared>);

#[tonic::async_trait]
impl PbWatchService for WatchService {
    type WatchStream = ReceiverStream<Result<PbWatchResponse, Status>>;

    async fn watch(
        &self,
        request: Request<Streaming<PbWatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (answers, stream) = mpsc::channel(ANSWERS_MAX);
        let shared = Arc::clone(&self.0);
        let task = Stream { shared, answers, watches: BTreeMap::new(), next_id: 0 };
        tokio::spawn(task.run(request.into_inner()));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// The reader is gone or the server closes; nothing more to do for this stream.
struct Over;

struct Stream {
    shared: Arc<Shared>,
    answers: mpsc::Sender<Result<PbWatchResponse, Status>>,
    watches: BTreeMap<i64, WatchCursor>,
    next_id: i64,
}

impl Stream {
    async fn run(mut self, mut requests: Streaming<PbWatchRequest>) {
        let closing = self.shared.closing().clone();
        let mut durable = self.shared.durable();
        let mut faults = self.shared.faults.subscribe();
        loop {
            let went_on = tokio::select! {
                () = closing.cancelled() => Err(Over),
                () = self.answers.closed() => Err(Over),
                request = requests.message(), if !self.shared.faults.get().stall => match request {
                    Ok(Some(request)) => self.request(request).await,
                    Ok(None) | Err(_) => Err(Over),
                },
                changed = durable.changed() => match changed {
                    Ok(()) => self.deliver().await,
                    Err(_) => Err(Over),
                },
                Ok(()) = faults.changed() => self.deliver().await,
            };
            if went_on.is_err() {
                return;
            }
        }
    }

    async fn request(&mut self, request: PbWatchRequest) -> Result<(), Over> {
        match request.request_union {
            Some(PbWatchRequestUnion::CreateRequest(create)) => {
                let key = if create.key.is_empty() { vec![0] } else { create.key };
                let range = KeyRange { key, end: create.range_end };
                let no = |filter| create.filters.contains(&filter);
                // "From now on" begins where the header of our answer says that now is.
                let now = self.shared.safe_revision() + 1;
                let start = if create.start_revision == 0 { now } else { create.start_revision };
                let mut cursor = self.shared.lock().machine.watch(range, start);
                cursor.prev_kv = create.prev_kv;
                (cursor.no_put, cursor.no_delete) = (no(0), no(1));
                self.create(create.watch_id, create.start_revision, cursor).await
            }
            Some(PbWatchRequestUnion::CancelRequest(cancel)) => {
                if self.watches.remove(&cancel.watch_id).is_none() {
                    return Ok(());
                }
                let watch_id = cancel.watch_id;
                self.answer(PbWatchResponse { watch_id, canceled: true, ..Self::blank() }).await
            }
            Some(PbWatchRequestUnion::ProgressRequest(_)) => {
                self.deliver().await?;
                self.answer(PbWatchResponse { watch_id: NO_WATCH, ..Self::blank() }).await
            }
            None => Ok(()),
        }
    }

    async fn create(&mut self, wanted: i64, start: i64, cursor: WatchCursor) -> Result<(), Over> {
        let refusal = if start < 0 {
            Some("etcdserver: mvcc: required revision has been compacted")
        } else if self.watches.contains_key(&wanted) && wanted != 0 {
            Some("mvcc: duplicate watch ID provided on the WatchStream")
        } else if self.watches.len() >= WATCHES_PER_STREAM_MAX {
            Some("etcdserver: too many watches on one stream")
        } else {
            None
        };
        if let Some(reason) = refusal {
            let watch_id = NO_WATCH;
            let (created, canceled, cancel_reason) = (true, true, reason.to_owned());
            let answer =
                PbWatchResponse { watch_id, created, canceled, cancel_reason, ..Self::blank() };
            return self.answer(answer).await;
        }
        let watch_id = if wanted == 0 { self.free_id() } else { wanted };
        self.answer(PbWatchResponse { watch_id, created: true, ..Self::blank() }).await?;
        self.watches.insert(watch_id, cursor);
        self.deliver().await
    }

    fn free_id(&mut self) -> i64 {
        while self.watches.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        self.next_id - 1
    }

    /// Sends everything that has happened since each cursor's position and is safe.
    async fn deliver(&mut self) -> Result<(), Over> {
        let ids: Vec<i64> = self.watches.keys().copied().collect();
        for watch_id in ids {
            while let Some(answer) = self.poll(watch_id) {
                let last = answer.canceled;
                self.answer(answer).await?;
                if last {
                    self.watches.remove(&watch_id);
                    break;
                }
            }
        }
        Ok(())
    }

    fn poll(&mut self, watch_id: i64) -> Option<PbWatchResponse> {
        let cursor = self.watches.get_mut(&watch_id)?;
        let safe = self.shared.safe_revision();
        let mut inner = self.shared.lock();
        inner.machine.set_faults(self.shared.faults.get());
        let polled = inner.machine.poll_watch(cursor, safe);
        drop(inner);
        let blank = PbWatchResponse { watch_id, ..Self::blank() };
        match polled {
            WatchPoll::Idle => None,
            WatchPoll::Events { events, revision } => Some(PbWatchResponse {
                header: Some(self.shared.header(revision)),
                events: events.into_iter().map(convert::event).collect(),
                ..blank
            }),
            WatchPoll::Compacted { compact_revision } => {
                Some(PbWatchResponse { canceled: true, compact_revision, ..blank })
            }
            WatchPoll::Canceled => Some(PbWatchResponse { canceled: true, ..blank }),
        }
    }

    fn blank() -> PbWatchResponse {
        PbWatchResponse::default()
    }

    async fn answer(&self, mut answer: PbWatchResponse) -> Result<(), Over> {
        let at = self.shared.safe_revision();
        answer.header.get_or_insert_with(|| self.shared.header(at));
        tokio::select! {
            () = self.shared.closing().cancelled() => Err(Over),
            sent = self.answers.send(Ok(answer)) => sent.map_err(|_| Over),
        }
    }
}
