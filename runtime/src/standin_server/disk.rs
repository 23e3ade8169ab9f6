//! The log thread: writes batches of changes, syncs them, and says how far everything is safe.
//!
//! Invariants: `Durable` only moves forward, and only after the sync; a snapshot is complete on
//! disk under its final name before the log it replaces is emptied; one process per data file.

use super::format::{decode_log, decode_snapshot, encode_snapshot};
use super::options::{StandinError, StandinOptions};
use super::shared::Shared;
use marchland_standin_core::{Revision, Standin};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use tokio::sync::{oneshot, watch};

/// Batches that one sync covers at most.
const BATCH_MAX: usize = 256;

/// How far confirmed state reaches.
#[derive(Clone, Debug, Default)]
pub(super) struct Durable {
    /// Every record up to this index is safe.
    pub index: u64,
    /// The machine's revision after that record.
    pub revision: Revision,
    /// The log ended, in order or broken: nothing after `index` will ever be safe.
    pub over: bool,
}

/// A batch of changes for the log thread.
pub(super) enum Job {
    /// Frames to append; `reached` is safe once they are.
    Append { frames: Vec<u8>, reached: Durable },
    /// Write a last snapshot, answer, and end.
    Close { shared: Arc<Shared>, done: Done },
}

type Done = oneshot::Sender<Result<(), StandinError>>;

/// What was on disk at the start.
pub(super) struct Recovered {
    pub machine: Standin,
    pub cluster_id: Option<u64>,
    pub index: u64,
}

/// The files of one server.
pub(super) struct Disk {
    path: PathBuf,
    log_path: PathBuf,
    log: File,
    log_bytes: u64,
    log_bytes_max: u64,
    sync: bool,
    /// Held for as long as the server lives; the kernel frees it whatever way we die.
    _lock: File,
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn lock(path: &Path) -> Result<File, StandinError> {
    let lock_path = beside(path, ".lock");
    let open = || OpenOptions::new().create(true).append(true).open(&lock_path);
    let file = open().map_err(|source| StandinError::Open { path: lock_path.clone(), source })?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| StandinError::InUse { path: path.to_owned() })?;
    Ok(file)
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, StandinError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StandinError::Open { path: path.to_owned(), source }),
    }
}

impl Disk {
    /// Opens and locks the files and rebuilds the machine from them.
    pub fn open(path: &Path, options: &StandinOptions) -> Result<(Self, Recovered), StandinError> {
        let lock = lock(path)?;
        let mut recovered = read_snapshot(path, options)?;
        let log_path = beside(path, ".log");
        let opened = |source| StandinError::Open { path: log_path.clone(), source };
        let mut log = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&log_path)
            .map_err(opened)?;
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes).map_err(opened)?;
        let whole = replay(&mut recovered, &bytes, &log_path)?;
        log.set_len(whole).map_err(opened)?;
        log.seek(SeekFrom::Start(whole)).map_err(opened)?;
        recovered.machine.renew_leases(0);
        let disk = Self {
            path: path.to_owned(),
            log_path,
            log,
            log_bytes: whole,
            log_bytes_max: options.log_bytes_max,
            sync: options.sync,
            _lock: lock,
        };
        Ok((disk, recovered))
    }

    /// Works off jobs until `Close`, or until the disk refuses.
    pub fn run(
        mut self,
        jobs: &mpsc::Receiver<Job>,
        shared: &std::sync::Weak<Shared>,
        durable: &watch::Sender<Durable>,
    ) {
        while let Ok(job) = jobs.recv() {
            let (mut frames, mut reached) = match job {
                Job::Append { frames, reached } => (frames, reached),
                Job::Close { shared, done } => return self.close(&shared, done, durable),
            };
            let mut close = None;
            for job in jobs.try_iter().take(BATCH_MAX) {
                match job {
                    Job::Append { frames: more, reached: further } => {
                        frames.extend(more);
                        reached = further;
                    }
                    Job::Close { shared, done } => close = Some((shared, done)),
                }
            }
            if let Err(error) = self.append(&frames) {
                tracing::error!(%error, path = %self.log_path.display(), "stand-in log failed");
                durable.send_modify(|d| d.over = true);
                let path = self.log_path.clone();
                let source = StandinError::Write { path, source: error };
                drop(self);
                return refuse(jobs, close.map(|(_, done)| done), source);
            }
            durable.send_replace(reached);
            if let Some((shared, done)) = close {
                return self.close(&shared, done, durable);
            }
            if self.log_bytes > self.log_bytes_max
                && let Some(shared) = shared.upgrade()
                && let Err(error) = self.snapshot(&shared)
            {
                tracing::warn!(%error, "stand-in snapshot failed; the log goes on growing");
                self.log_bytes_max = self.log_bytes_max.saturating_mul(2);
            }
        }
    }

    /// Nothing that is applied from now on is confirmed any more.
    fn close(mut self, shared: &Shared, done: Done, durable: &watch::Sender<Durable>) {
        durable.send_modify(|d| d.over = true);
        let written = self.snapshot(shared);
        // The lock goes first: whoever hears of the end may open the files again at once.
        drop(self);
        drop(done.send(written));
    }

    fn append(&mut self, frames: &[u8]) -> std::io::Result<()> {
        self.log.write_all(frames)?;
        if self.sync {
            self.log.sync_data()?;
        }
        self.log_bytes += frames.len() as u64;
        Ok(())
    }

    /// Replaces snapshot and log by a new snapshot. It may contain records that are still queued
    /// for the log; their indices make a replay skip them.
    fn snapshot(&mut self, shared: &Shared) -> Result<(), StandinError> {
        let bytes = encode_snapshot(&shared.saved());
        let failed = |source| StandinError::Write { path: self.path.clone(), source };
        write_atomically(&self.path, &bytes).map_err(failed)?;
        let emptied = self.log.set_len(0).and_then(|()| self.log.seek(SeekFrom::Start(0)));
        emptied.map_err(|source| StandinError::Write { path: self.log_path.clone(), source })?;
        self.log_bytes = 0;
        Ok(())
    }
}

/// The log is lost: everyone who still waits for the thread gets the reason.
fn refuse(jobs: &mpsc::Receiver<Job>, waiting: Option<Done>, error: StandinError) {
    let done = waiting.or_else(|| {
        jobs.iter().find_map(|job| match job {
            Job::Close { done, .. } => Some(done),
            Job::Append { .. } => None,
        })
    });
    if let Some(done) = done {
        let _ = done.send(Err(error));
    }
}

fn read_snapshot(path: &Path, options: &StandinOptions) -> Result<Recovered, StandinError> {
    let Some(bytes) = read_if_there(path)? else {
        let machine = Standin::new(options.machine);
        return Ok(Recovered { machine, cluster_id: None, index: 0 });
    };
    let path = || path.to_owned();
    let saved = decode_snapshot(&bytes).map_err(|what| StandinError::Damaged {
        path: path(),
        at: 0,
        what,
    })?;
    let machine = Standin::restore(options.machine, &saved.machine, 0)
        .map_err(|source| StandinError::Snapshot { path: path(), source })?;
    Ok(Recovered { machine, cluster_id: Some(saved.cluster_id), index: saved.index })
}

/// Applies the log's records that the snapshot does not contain; returns the bytes to keep.
fn replay(to: &mut Recovered, bytes: &[u8], path: &Path) -> Result<u64, StandinError> {
    let log = decode_log(bytes);
    let whole = log.whole_bytes as u64;
    let damaged = |what| StandinError::Damaged { path: path.to_owned(), at: whole, what };
    if log.damaged {
        return Err(damaged("a broken record lies between whole ones"));
    }
    if log.whole_bytes < bytes.len() {
        let torn = bytes.len() - log.whole_bytes;
        tracing::warn!(path = %path.display(), torn, "dropping a torn, never confirmed record");
    }
    for (index, record) in log.records {
        if index <= to.index {
            continue;
        }
        if index != to.index + 1 {
            return Err(damaged("records are missing between the snapshot and the log"));
        }
        to.machine
            .replay(0, record)
            .map_err(|_| damaged("a record does not apply to the state before it"))?;
        to.index = index;
    }
    Ok(whole)
}

fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let tmp = beside(path, ".tmp");
    let mut file = File::create(&tmp)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&tmp, path)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A log that cannot be written, as on a full disk: opened for reading only.
    fn broken(dir: &Path, options: &StandinOptions) -> Disk {
        let (disk, _) = Disk::open(&dir.join("s"), options).unwrap();
        let log = File::open(&disk.log_path).unwrap();
        Disk { log, ..disk }
    }

    #[test]
    fn a_log_that_cannot_be_written_confirms_nothing_and_tells_whoever_closes_it() {
        let dir = tempfile::TempDir::new().unwrap();
        let options = StandinOptions::default();
        let (shared, _log) = Shared::open(&options).unwrap();
        let (send, jobs) = mpsc::channel();
        let reached = Durable { index: 1, revision: 2, over: false };
        send.send(Job::Append { frames: vec![0; 9], reached }).unwrap();
        let (done, mut closed) = oneshot::channel();
        send.send(Job::Close { shared: Arc::clone(&shared), done }).unwrap();
        let durable = watch::Sender::new(Durable::default());
        broken(dir.path(), &options).run(&jobs, &Arc::downgrade(&shared), &durable);
        let now = durable.borrow().clone();
        assert!(now.over && now.index == 0);
        assert!(matches!(closed.try_recv().unwrap(), Err(StandinError::Write { .. })));
    }

    #[test]
    fn a_log_that_does_not_follow_its_snapshot_is_refused() {
        let dir = tempfile::TempDir::new().unwrap();
        let (path, options) = (dir.path().join("s"), StandinOptions::default());
        let grant = marchland_standin_core::Request::LeaseGrant { id: 5, ttl_s: 60 };
        let frame = |index| super::super::format::encode_frame(index, &grant);
        std::fs::write(beside(&path, ".log"), frame(2)).unwrap();
        let refused = Disk::open(&path, &options).err().unwrap();
        assert!(matches!(refused, StandinError::Damaged { .. }), "{refused}");
        std::fs::write(beside(&path, ".log"), [frame(1), frame(2)].concat()).unwrap();
        let refused = Disk::open(&path, &options).err().unwrap();
        assert!(refused.to_string().contains("does not apply"), "{refused}");
        let torn = [frame(1), frame(2)[..9].to_vec()].concat();
        std::fs::write(beside(&path, ".log"), torn).unwrap();
        let (disk, recovered) = Disk::open(&path, &options).unwrap();
        assert_eq!((recovered.index, disk.log_bytes), (1, frame(1).len() as u64));
    }
}
