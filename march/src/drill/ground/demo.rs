//! A cluster of the drill's own on this machine, as `march demo` starts it.

use super::{BOTS, WOLVES};
use crate::cli::{DemoArgs, parsed};
use crate::demo::{Cluster, Left};
use crate::drill::table::{Drill, TTL_MS};
use crate::exit::{Failure, NOT_FOUND};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;

/// The store of a demo.
pub(super) const STORE: &str = "etcd-standin";
/// How long registrations outlive their processes.
pub(super) const TTL: Duration = Duration::from_millis(TTL_MS);

pub(in crate::drill) struct Demo {
    cluster: Cluster,
}

impl Demo {
    pub(super) async fn up(drill: &Drill) -> Result<Self, Failure> {
        let numbers = [BOTS, WOLVES, u64::from(drill.managers)].map(|n| n.to_string());
        let [bots, wolves, managers] = &numbers;
        let ttl = format!("{TTL_MS}ms");
        let words = ["--bots", bots, "--wolves", wolves, "--managers", managers, "--ttl", &ttl];
        let mut args: DemoArgs = parsed(&words)?;
        let name = format!("march-drill-{}-{}", drill.name, std::process::id());
        args.dir = Some(std::env::temp_dir().join(name));
        eprintln!("{}: starts a cluster, and {}", drill.name, drill.does);
        Ok(Self { cluster: Cluster::up(args).await? })
    }

    pub(super) fn address(&self) -> &str {
        self.cluster.address()
    }

    pub(super) fn signal(&self, name: &str, signal: Signal) -> Result<(), Failure> {
        let pid = self.cluster.file().pids.get(name).and_then(|pid| i32::try_from(*pid).ok());
        let pid =
            pid.ok_or_else(|| Failure::new(NOT_FOUND, format!("there is no process {name}")))?;
        kill(Pid::from_raw(pid), signal)
            .map_err(|e| Failure::internal(format!("cannot send {signal} to {name}: {e}")))
    }

    pub(super) async fn look_after(&mut self) -> Result<(), Failure> {
        self.cluster.look_after().await
    }

    pub(super) async fn end(self) -> Result<Left, Failure> {
        self.cluster.end().await
    }
}
