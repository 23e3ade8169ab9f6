//! A cluster of the drill's own on this machine, as `march demo` starts it.

use super::net::Net;
use super::{BOTS, WOLVES};
use crate::cli::{DemoArgs, parsed};
use crate::demo::{Cluster, Left};
use crate::drill::table::{Drill, TTL_MS};
use crate::exit::{Failure, NOT_FOUND};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use std::path::Path;
use std::time::Duration;

/// The store of a demo.
pub(super) const STORE: &str = "etcd-standin";
/// How long registrations outlive their processes.
pub(super) const TTL: Duration = Duration::from_millis(TTL_MS);

pub(in crate::drill) struct Demo {
    cluster: Cluster,
    /// What stands between its processes, if the drill is of the network.
    net: Option<Net>,
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
        let of_network = drill.script.is_of_the_network();
        let net = of_network.then(|| Net::before(servers(&args))).transpose()?;
        let doors = net.as_ref().map(Net::doors).unwrap_or_default();
        Ok(Self { cluster: Cluster::up(args, &doors).await?, net })
    }

    pub(super) const fn net(&self) -> Option<&Net> {
        self.net.as_ref()
    }

    /// How large the file is that a baseapp's log is written to.
    pub(in crate::drill) fn log_bytes(&self, name: &str) -> Result<u64, Failure> {
        newest_segment(&self.cluster.file().journals.join(format!("log-{name}")))
            .map_err(|e| Failure::internal(format!("cannot look at the log of {name}: {e}")))
    }

    /// From now on no file of a process grows beyond so many bytes; none ends that.
    pub(in crate::drill) fn limit_files(
        &self,
        name: &str,
        bytes: Option<u64>,
    ) -> Result<(), Failure> {
        let pid = rustix::process::Pid::from_raw(self.pid(name)?);
        // What is lifted again is lifted to what this process may have itself.
        let all = getrlimit(Resource::Fsize);
        let limit = Rlimit { current: bytes.or(all.maximum), ..all };
        prlimit(pid, Resource::Fsize, limit)
            .map(drop)
            .map_err(|e| Failure::internal(format!("cannot limit the files of {name}: {e}")))
    }

    fn pid(&self, name: &str) -> Result<i32, Failure> {
        let pid = self.cluster.file().pids.get(name).and_then(|pid| i32::try_from(*pid).ok());
        pid.ok_or_else(|| Failure::new(NOT_FOUND, format!("there is no process {name}")))
    }

    pub(super) fn address(&self) -> &str {
        self.cluster.address()
    }

    pub(super) fn signal(&self, name: &str, signal: Signal) -> Result<(), Failure> {
        kill(Pid::from_raw(self.pid(name)?), signal)
            .map_err(|e| Failure::internal(format!("cannot send {signal} to {name}: {e}")))
    }

    pub(super) async fn stop(&mut self, name: &str) -> Result<Option<i32>, Failure> {
        self.cluster.stop_one(name).await
    }

    pub(super) async fn look_after(&mut self) -> Result<(), Failure> {
        self.cluster.look_after().await
    }

    pub(super) async fn end(self) -> Result<Left, Failure> {
        self.cluster.end().await
    }
}

/// The names of its cellapps and baseapps.
fn servers(args: &DemoArgs) -> Vec<String> {
    let cells = (1..=args.cells).map(|n| format!("cell-{n}"));
    (1..=args.bases).map(|n| format!("base-{n}")).chain(cells).collect()
}

/// The size of the newest segment of a log.
fn newest_segment(folder: &Path) -> std::io::Result<u64> {
    let mut segments = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|ext| ext == "wal") {
            segments.push((entry.file_name(), entry.metadata()?.len()));
        }
    }
    let newest = segments.into_iter().max();
    newest.map(|(_, bytes)| bytes).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}
