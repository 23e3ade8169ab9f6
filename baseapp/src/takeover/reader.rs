//! The log of another base: its lock, and what it says.

use crate::broken::BrokenLog;
use crate::log::{Folder, LogIdentity, OpenError, Recovery, Storage, Unbegun};
use marchland_baseapp_core::log::{Recovered, Store, replay};
use marchland_common::order::{Lsn, Node, Term};
use marchland_common::world::Kinds;
use std::path::{Path, PathBuf};

/// A log that somebody else wrote. While this is there nobody writes to it.
pub(crate) struct ForeignLog {
    folder: PathBuf,
    store: Store,
    through: Lsn,
    /// With the lock.
    _storage: Box<dyn Storage>,
}

impl ForeignLog {
    /// Locks and reads the log that a life wrote last, as its own next life would, and changes
    /// nothing. The error says in words why not.
    pub(super) fn read(
        log: &str,
        own: Option<&Path>,
        (cluster, from): (u64, Node),
        kinds: &Kinds,
    ) -> Result<Self, String> {
        let folder = PathBuf::from(log);
        if !folder.is_absolute() || !folder.is_dir() {
            return Err(format!("there is no folder {log} here: the volume may not be shared"));
        }
        if own.is_some_and(|own| is_same(own, &folder)) {
            return Err(format!("{log} is its own log"));
        }
        let (base, term) = (from.name.to_string(), Term(from.incarnation.0));
        let identity = LogIdentity { cluster, base, term };
        let lock = Folder::lock_present(&folder).map_err(|e| in_words(&folder, &e, kinds))?;
        let mut read = Unbegun::read(Box::new(lock), identity)
            .map_err(|error| in_words(&folder, &error, kinds))?;
        // What goes on here must not vanish where it came from, should its host fail now.
        read.sync().map_err(|error| error.to_string())?;
        let Recovered { store, last } = replay(kinds, entries(read.recovery()))
            .map_err(|error| BrokenLog::unfit(&folder, &error).to_string())?;
        Ok(Self { folder, store, through: last, _storage: read.into_storage() })
    }

    pub(super) const fn store(&self) -> &Store {
        &self.store
    }

    /// Its last record.
    pub(super) const fn through(&self) -> Lsn {
        self.through
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| Some(one) == real(other))
}

fn in_words(folder: &Path, error: &OpenError, kinds: &Kinds) -> String {
    match error {
        OpenError::Locked { pid: Some(pid), .. } => {
            format!("process {pid} holds {}: whoever wrote it lives", folder.display())
        }
        OpenError::Locked { pid: None, .. } => {
            format!("a process holds {}: whoever wrote it lives", folder.display())
        }
        OpenError::Broken(broken) => BrokenLog::damaged(folder, broken, kinds).to_string(),
        other => other.to_string(),
    }
}

/// The records of a log, behind its checkpoint if there is one.
pub(crate) fn entries(recovery: &Recovery) -> impl Iterator<Item = &[u8]> {
    let image = recovery.checkpoint.iter().flat_map(|image| &image.entries);
    image.chain(recovery.records.iter().map(|(_, bytes)| bytes)).map(Vec::as_slice)
}
