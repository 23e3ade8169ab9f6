//! The one state behind all services: the machine under a lock, and the way every request takes.
//!
//! Invariant: an answer leaves only after `durable` has reached the index that the machine had
//! when it gave the answer, so no client ever reads what a crash could take back.

use super::disk::{Disk, Durable, Job, Recovered};
use super::format::{Saved, encode_frame};
use super::options::{FaultSwitch, StandinError, StandinOptions};
use etcd_client::proto::PbResponseHeader;
use marchland_standin_core::{EtcdError, Handled, Reply, Request, Revision, Standin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

/// The machine and where its log stands.
pub(super) struct Inner {
    pub machine: Standin,
    index: u64,
    jobs: Option<mpsc::Sender<Job>>,
}

/// What all services share.
pub(super) struct Shared {
    inner: Mutex<Inner>,
    durable: watch::Sender<Durable>,
    pub faults: FaultSwitch,
    closing: CancellationToken,
    started: Instant,
    cluster_id: u64,
}

/// The way to end the log thread.
pub(super) struct LogHandle {
    jobs: Option<mpsc::Sender<Job>>,
}

impl LogHandle {
    /// Writes a last snapshot and ends the thread.
    pub async fn close(self, shared: &Arc<Shared>) -> Result<(), StandinError> {
        let Some(jobs) = self.jobs else { return Ok(()) };
        let (done, closed) = oneshot::channel();
        if jobs.send(Job::Close { shared: Arc::clone(shared), done }).is_err() {
            return Ok(());
        }
        closed.await.unwrap_or(Ok(()))
    }
}

impl Shared {
    /// Recovers what is on disk and starts the log thread.
    pub fn open(options: &StandinOptions) -> Result<(Arc<Self>, LogHandle), StandinError> {
        let (disk, recovered) = match &options.data_file {
            Some(path) => {
                let (disk, recovered) = Disk::open(path, options)?;
                (Some(disk), recovered)
            }
            None => {
                let machine = Standin::new(options.machine);
                (None, Recovered { machine, cluster_id: None, index: 0 })
            }
        };
        let (jobs, queue) = mpsc::channel();
        let jobs = disk.is_some().then_some(jobs);
        let (index, revision) = (recovered.index, recovered.machine.revision());
        let shared = Arc::new(Self {
            inner: Mutex::new(Inner { machine: recovered.machine, index, jobs: jobs.clone() }),
            durable: watch::Sender::new(Durable { index, revision, over: false }),
            faults: options.faults.clone(),
            closing: CancellationToken::new(),
            started: Instant::now(),
            cluster_id: recovered.cluster_id.unwrap_or_else(new_cluster_id),
        });
        if let Some(disk) = disk {
            let (weak, durable) = (Arc::downgrade(&shared), shared.durable.clone());
            let run = move || disk.run(&queue, &weak, &durable);
            let thread = std::thread::Builder::new().name("standin-log".to_owned()).spawn(run);
            thread.map_err(|source| StandinError::Open {
                path: options.data_file.clone().unwrap_or_default(),
                source,
            })?;
        }
        Ok((shared, LogHandle { jobs }))
    }

    /// Applies a request and returns its answer once it is safe.
    pub async fn call(&self, request: Request) -> Result<Reply, Status> {
        loop {
            self.while_stalled().await?;
            let (handled, index) = {
                let mut inner = self.lock();
                inner.machine.set_faults(self.faults.get());
                let outcome = inner.machine.handle(self.now_ms(), request.clone());
                (outcome.handled, self.append(&mut inner, &outcome.log))
            };
            if let Handled::Answered(answer) = handled {
                self.until_durable(index).await?;
                return answer.map_err(refusal);
            }
        }
    }

    /// Revokes the leases that ran out.
    pub fn expire(&self) {
        let mut inner = self.lock();
        inner.machine.set_faults(self.faults.get());
        let log = inner.machine.expire(self.now_ms());
        self.append(&mut inner, &log);
    }

    /// The machine, for reads that go with the durable revision.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far confirmed state reaches, and its changes.
    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.durable.subscribe()
    }

    /// The newest revision that a client may be told of.
    pub fn safe_revision(&self) -> Revision {
        self.durable.borrow().revision
    }

    /// Ends all streams when it fires.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Resolves when the log can no longer be written.
    pub async fn log_over(&self) {
        let mut durable = self.durable();
        if durable.wait_for(|d| d.over).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The header of an answer.
    pub fn header(&self, revision: Revision) -> PbResponseHeader {
        let cluster_id = self.cluster_id;
        PbResponseHeader { cluster_id, member_id: cluster_id ^ 1, revision, raft_term: 1 }
    }

    /// Everything that a snapshot file keeps.
    pub fn saved(&self) -> Saved {
        let inner = self.lock();
        let machine = inner.machine.snapshot();
        Saved { cluster_id: self.cluster_id, index: inner.index, machine }
    }

    /// Index of the newest change.
    pub fn index(&self) -> u64 {
        self.lock().index
    }

    fn append(&self, inner: &mut Inner, log: &[Request]) -> u64 {
        if log.is_empty() {
            return inner.index;
        }
        let mut frames = Vec::new();
        for record in log {
            inner.index += 1;
            if inner.jobs.is_some() {
                frames.extend(encode_frame(inner.index, record));
            }
        }
        let (index, revision) = (inner.index, inner.machine.revision());
        let reached = Durable { index, revision, over: false };
        match &inner.jobs {
            None => drop(self.durable.send_replace(reached)),
            // A thread that is gone has marked the log as failed; waiters see that.
            Some(jobs) => drop(jobs.send(Job::Append { frames, reached })),
        }
        index
    }

    async fn until_durable(&self, index: u64) -> Result<(), Status> {
        let mut durable = self.durable();
        match durable.wait_for(|d| d.index >= index || d.over).await {
            Ok(reached) if reached.index >= index => Ok(()),
            _ => Err(Status::unavailable("etcdserver: server stopped")),
        }
    }

    /// Waits while the server is stalled on purpose.
    async fn while_stalled(&self) -> Result<(), Status> {
        let mut faults = self.faults.subscribe();
        tokio::select! {
            _ = faults.wait_for(|f| !f.stall) => Ok(()),
            () = self.closing.cancelled() => {
                Err(Status::unavailable("etcdserver: server stopped"))
            }
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A refusal of the machine as a status.
pub(super) fn refusal(error: EtcdError) -> Status {
    Status::new(Code::from_i32(error.grpc_code()), error.to_string())
}

/// Distinguishes one stand-in's life from another's, so that a client can tell that it talks to a
/// store with another past. Never used for order.
fn new_cluster_id() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |d| d.as_nanos());
    let seed = [nanos.to_le_bytes().as_slice(), &std::process::id().to_le_bytes()].concat();
    let (low, high) = (crc32fast::hash(&seed), crc32fast::hash(&[&seed[..], b"high"].concat()));
    (u64::from(high) << 32) | u64::from(low)
}
