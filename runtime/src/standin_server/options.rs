//! What the server is started with, and how it can fail.

use marchland_standin_core::{Config, Faults, SnapshotError};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// What the server is started with.
#[derive(Clone, Debug)]
pub struct StandinOptions {
    /// Where the snapshot is kept; the log of changes since lies beside it, with `.log` appended,
    /// and a lock with `.lock`. `None`: everything is lost with the process.
    pub data_file: Option<PathBuf>,
    /// Whether each batch of changes is synced to the device before it is confirmed. Without it
    /// confirmed changes survive the process, but not the host.
    pub sync: bool,
    /// Log size in bytes at which a new snapshot replaces it.
    pub log_bytes_max: u64,
    /// Settings of the machine.
    pub machine: Config,
    /// Deliberate misbehaviour, for tests.
    pub faults: FaultSwitch,
}

impl Default for StandinOptions {
    fn default() -> Self {
        Self {
            data_file: None,
            sync: true,
            log_bytes_max: 4 << 20,
            machine: Config::default(),
            faults: FaultSwitch::default(),
        }
    }
}

/// Turns deliberate misbehaviour of a running server on and off. All clones are one switch.
#[derive(Clone, Debug)]
pub struct FaultSwitch(Arc<watch::Sender<Faults>>);

impl Default for FaultSwitch {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Faults::default())))
    }
}

impl FaultSwitch {
    /// Breaks these promises from now on, and keeps all others.
    pub fn set(&self, faults: Faults) {
        self.0.send_replace(faults);
    }

    pub(super) fn get(&self) -> Faults {
        *self.0.borrow()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Faults> {
        self.0.subscribe()
    }
}

/// Why the server could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum StandinError {
    /// Another process serves the same data file.
    #[error("{path} is in use by another stand-in; stop it or choose another folder")]
    InUse {
        /// The data file.
        path: PathBuf,
    },
    /// The data file or its log cannot be opened.
    #[error("cannot open {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The snapshot is damaged.
    #[error("{path} is not a readable snapshot; move it away to start empty")]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: SnapshotError,
    },
    /// A file is damaged in a place where a crash cannot have damaged it.
    #[error("{path} is damaged at byte {at}: {what}; move it away to start without it")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// In which way.
        what: &'static str,
    },
    /// Changes cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The network side failed.
    #[error("the stand-in's network side failed")]
    Transport(#[source] tonic::transport::Error),
}
