//! Whether the store and the log belong together. It is asked twice: before the name is taken, of
//! what the head of the log says, and when the log was read, of everything that it names. Until both
//! were answered nothing is written to the log.
//!
//! The store must be of the log's cluster, and at least as new as the log: terms and incarnations
//! are revisions of it, and what it hands out is never handed out again only while it grows. A name
//! that keeps slots must come with the folder of its log; the folder is made before the name is
//! taken, so a name that keeps slots had one.

use crate::log::whose;
use crate::run::{BaseError, BaseOptions};
use crate::takeover::marks;
use marchland_baseapp_core::ids_from;
use marchland_baseapp_core::log::{Named, Store};
use marchland_common::order::{Node, NodeName, SlotId};
use marchland_runtime::coord::{CoordClient, CoordError, Guard, Key, LogValue, LossesValue, Txn};
use marchland_runtime::process::{ProcessOptions, Seen, ShutdownWatch, StartError, connect};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a baseapp does not go on. Its log is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// Another cluster's store.
    #[error(
        "foreign store: {store} is of cluster {ours:#x}, and the log in {log} of cluster {theirs:#x}; \
         nothing was written to the log, and its entities wait in it"
    )]
    Cluster {
        /// Where the store is, and the cluster's name in it.
        store: String,
        /// Its cluster.
        ours: u64,
        /// The log.
        log: String,
        /// The log's cluster.
        theirs: u64,
    },
    /// The store went back.
    #[error(
        "foreign store: {store} is at revision {revision}, and the log in {log} names revision \
         {named}: the store is empty or older than the log, and would give again what it gave \
         before; nothing was written to the log, and its entities wait in it"
    )]
    Older {
        /// Where the store is, and the cluster's name in it.
        store: String,
        /// Its revision.
        revision: u64,
        /// The log.
        log: String,
        /// The highest term or incarnation that it names.
        named: u64,
    },
    /// The store forgot a slot, or went back in it.
    #[error(
        "foreign store: {store} does not know that {base} keeps slot {slot}, and the log in {log} \
         holds it; nothing was written to the log, and its entities wait in it"
    )]
    Slot {
        /// Where the store is, and the cluster's name in it.
        store: String,
        /// The slot.
        slot: SlotId,
        /// Who kept it.
        base: NodeName,
        /// The log.
        log: String,
    },
    /// There is no log where there must be one.
    #[error(
        "log lost: {base} keeps {slots} slots, says {store}, and there is no folder {log}; nothing \
         was written anywhere"
    )]
    Lost {
        /// Where the store is, and the cluster's name in it.
        store: String,
        /// Who keeps them.
        base: NodeName,
        /// How many.
        slots: usize,
        /// Where the log would be.
        log: String,
    },
    /// No range of ids is left.
    #[error("{losses} losses of logs were accepted: there are no ids left that were never used")]
    NoIds {
        /// How many.
        losses: u64,
    },
}

impl Misfit {
    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Cluster { .. } | Self::Older { .. } | Self::Slot { .. } => {
                "starting again does not help. Point --etcd and --cluster-name at this cluster's own \
                 store; if that is lost, stop every process and run `march recover --new-etcd --dir \
                 DIR...` with the folders of all baseapps"
            }
            Self::Lost { .. } => {
                "starting again does not help. Bring the folder back (--dir, or its volume); if it is \
                 gone for good, --accept-loss begins empty, and what only that log held is lost"
            }
            Self::NoIds { .. } => "found a new cluster",
        }
    }
}

/// Between two looks whether a manager has founded the cluster.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The folder of a baseapp's log.
pub(crate) fn log_folder(process: &ProcessOptions) -> PathBuf {
    process.dir.join(format!("log-{}", process.name))
}

/// Waits until the cluster is founded, looks whether its store and the log belong together, and
/// makes the folder of the log. False if the process is asked to end before that.
///
/// # Errors
/// [`Misfit`], or the store or the folder fails.
pub(crate) async fn before_the_name(
    options: &BaseOptions,
    shutdown: &ShutdownWatch,
) -> Result<bool, BaseError> {
    let process = &options.process;
    let coord = connect(process).await?;
    let question = Question::new(process);
    let mut asked = shutdown.clone();
    tracing::info!("waiting for a manager to found the cluster");
    let answer = tokio::select! {
        answer = founded(&coord) => answer.map_err(|e| question.unanswered(e))?,
        () = asked.asked() => return Ok(false),
    };
    if options.disk.is_some() {
        return Ok(true);
    }
    let folder = log_folder(process);
    if folder.is_dir() {
        question.head(&answer, &folder)?;
        return Ok(true);
    }
    let kept = answer.seen.slots.iter().filter(|slot| slot.base == process.name).count();
    if kept > 0 {
        let (store, log) = (question.store.clone(), question.log.clone());
        let lost = Misfit::Lost { store, base: process.name, slots: kept, log };
        if !options.accept_loss {
            return Err(lost.into());
        }
        accept_loss(&coord).await.map_err(|e| question.unanswered(e))?;
        tracing::warn!(%lost, "the loss is accepted: this baseapp begins empty");
    }
    make(&folder)?;
    Ok(true)
}

/// Makes the folder so that it stays, whatever becomes of the host.
fn make(folder: &Path) -> Result<(), StartError> {
    let made = std::fs::create_dir_all(folder).and_then(|()| {
        let parent = folder.parent().unwrap_or(folder);
        File::open(parent)?.sync_all()
    });
    made.map_err(|source| StartError::Dir { path: folder.to_owned(), source })
}

/// What the store says at one revision.
struct Answer {
    seen: Seen,
    revision: u64,
}

async fn ask(coord: &CoordClient) -> Result<Answer, CoordError> {
    let listing = coord.list(coord.keys().root()).await?;
    let seen = Seen::parse(coord.keys(), &listing.entries, coord.counters());
    Ok(Answer { seen, revision: listing.revision.unsigned_abs() })
}

async fn founded(coord: &CoordClient) -> Result<Answer, CoordError> {
    let meta = coord.keys().key(Key::Meta);
    loop {
        match coord.get(&meta).await {
            Ok(Some(_)) => return ask(coord).await,
            Err(error) if !error.is_transient() => return Err(error),
            Ok(None) | Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

/// One more loss, before anything else of it: whoever begins without a log finds it counted.
async fn accept_loss(coord: &CoordClient) -> Result<(), CoordError> {
    let key = coord.keys().key(Key::Losses);
    loop {
        let old = coord.get(&key).await?;
        let before = old.as_ref().map_or(Ok(LossesValue::default()), |kv| kv.json(&key))?;
        let guard = match old {
            Some(kv) => Guard::UnchangedSince(key.clone(), kv.mod_revision),
            None => Guard::Absent(key.clone()),
        };
        let count = before.count + 1;
        let value = serde_json::to_vec(&LossesValue { count }).expect("numbers always encode");
        if coord.txn(Txn::new().when(guard).put(&key, value)).await?.succeeded {
            return Ok(());
        }
    }
}

/// Says in the store that this life writes to the log from here on. Whoever is about to give its
/// slots to others, by what an earlier life left in the log, finds the key changed and does not; and
/// what was given before, the look after this shows.
///
/// # Errors
/// The store does not answer.
pub(crate) async fn own_the_log(
    process: &ProcessOptions,
    coord: &CoordClient,
    life: Node,
    folder: String,
) -> Result<(), BaseError> {
    let value = LogValue { incarnation: life.incarnation, folder };
    let value = serde_json::to_vec(&value).expect("strings and numbers always encode");
    let put = Txn::new().put(coord.keys().key(Key::Log(life.name)), value);
    let put = coord.txn(put).await.map_err(|e| Question::new(process).unanswered(e))?;
    debug_assert!(put.succeeded, "a transaction without guards is applied");
    Ok(())
}

/// When the log was read: whether everything that it names fits the store, and where ids of slots
/// begin that it does not know.
///
/// # Errors
/// [`Misfit`], or the store does not answer.
pub(crate) async fn before_the_log(
    options: &BaseOptions,
    coord: &CoordClient,
    store: &Store,
) -> Result<u64, BaseError> {
    let question = Question::new(&options.process);
    let answer = ask(coord).await.map_err(|e| question.unanswered(e))?;
    question.whole(&answer, options.process.name, store)?;
    if options.disk.is_none() {
        let folder = log_folder(&options.process);
        let taken = marks(&folder);
        let taken = taken.map_err(|source| StartError::Dir { path: folder, source })?;
        // Where its slots went on is in no store that knows less.
        let newest = taken.iter().map(|(_, term)| term.0).max();
        question.at_least(answer.revision, newest.unwrap_or_default())?;
    }
    let losses = answer.seen.losses.count;
    ids_from(losses).ok_or_else(|| Misfit::NoIds { losses }.into())
}

/// Both sides, in words.
struct Question {
    store: String,
    log: String,
    endpoints: String,
}

impl Question {
    fn new(process: &ProcessOptions) -> Self {
        let endpoints = process.etcd.join(", ");
        Self {
            store: format!("the store at {endpoints} under the name `{}`", process.cluster),
            log: log_folder(process).display().to_string(),
            endpoints,
        }
    }

    fn unanswered(&self, source: CoordError) -> StartError {
        StartError::Store { endpoints: self.endpoints.clone(), source }
    }

    /// What the head of the log says. One that does not read is judged when the log is read.
    fn head(&self, answer: &Answer, folder: &Path) -> Result<(), BaseError> {
        let Some(identity) = whose(folder)? else { return Ok(()) };
        if let Some(meta) = answer.seen.meta
            && meta.cluster_id != identity.cluster
        {
            let (store, log) = (self.store.clone(), self.log.clone());
            let (ours, theirs) = (meta.cluster_id, identity.cluster);
            return Err(Misfit::Cluster { store, ours, log, theirs }.into());
        }
        Ok(self.at_least(answer.revision, identity.term.0)?)
    }

    fn whole(&self, answer: &Answer, base: NodeName, store: &Store) -> Result<(), Misfit> {
        self.at_least(answer.revision, Named::by(store).revision)?;
        for (slot, row) in &store.slots {
            let known = answer.seen.slots.iter().find(|s| s.slot == *slot);
            if known.is_none_or(|s| s.term < row.term) {
                let (store, log) = (self.store.clone(), self.log.clone());
                return Err(Misfit::Slot { store, slot: *slot, base, log });
            }
        }
        Ok(())
    }

    fn at_least(&self, revision: u64, named: u64) -> Result<(), Misfit> {
        if named <= revision {
            return Ok(());
        }
        let (store, log) = (self.store.clone(), self.log.clone());
        Err(Misfit::Older { store, revision, log, named })
    }
}
