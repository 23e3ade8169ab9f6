//! The children of a demo: started, watched, started again, and ended in order.

use super::wait::until_file;
use crate::exit::{Failure, NOT_FOUND, TIMEOUT, USAGE};
use crate::roles::ReadyFile;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// What a child is for: who ends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Loads the cluster; ends first.
    Bots,
    /// A cellapp or a baseapp.
    Server,
    /// A manager.
    Manager,
    /// The stand-in for etcd; ends last.
    Store,
}

/// How a child is started.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) args: Vec<String>,
    pub(super) ready: Option<PathBuf>,
}

struct Running {
    start: Start,
    child: Child,
}

impl Start {
    /// The same at the addresses of an earlier life: whoever knew them finds it again.
    fn at(mut self, ready: &ReadyFile) -> Self {
        let addrs = [
            ("--listen", &ready.link),
            ("--gateway", &ready.gateway),
            ("--console", &ready.console),
        ];
        for (flag, addr) in addrs {
            // Behind a door it listens elsewhere than it said.
            let behind = flag == "--listen" && self.args.iter().any(|arg| arg == "--advertise");
            if addr.is_empty() || behind {
                continue;
            }
            match self.args.iter().position(|arg| arg == flag) {
                Some(at) => self.args[at + 1].clone_from(addr),
                None => self.args.extend([flag.to_owned(), addr.clone()]),
            }
        }
        self
    }
}

pub(super) struct Children {
    program: PathBuf,
    logs: PathBuf,
    restart: bool,
    running: Vec<Running>,
    /// What each said when it was ready, by name.
    ready: BTreeMap<String, ReadyFile>,
    /// Lives that ended otherwise than in order.
    lost: Vec<String>,
}

/// How long a child may take to have its name.
const READY_MAX: Duration = Duration::from_secs(20);

impl Children {
    pub(super) fn new(dir: &Path, restart: bool) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|e| Failure::internal(format!("cannot find this program: {e}")))?;
        for folder in ["run", "logs", "journals"] {
            std::fs::create_dir_all(dir.join(folder)).map_err(|e| {
                Failure::new(USAGE, format!("cannot write to {}: {e}", dir.display()))
            })?;
        }
        let logs = dir.join("logs");
        let (running, ready, lost) = (Vec::new(), BTreeMap::new(), Vec::new());
        Ok(Self { program, logs, restart, running, ready, lost })
    }

    pub(super) fn log_of(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    fn spawn(&self, start: &Start) -> Result<Child, Failure> {
        if let Some(ready) = &start.ready {
            // It may be there from an earlier life.
            let _ = std::fs::remove_file(ready);
        }
        let log = File::options().create(true).append(true).open(self.log_of(&start.name));
        let log = log.map_err(|e| Failure::new(USAGE, format!("cannot write a log: {e}")))?;
        Command::new(&self.program)
            .args(&start.args)
            .env("MARCH_LOG", std::env::var("MARCH_LOG").unwrap_or_else(|_| "info".to_owned()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| Failure::internal(format!("cannot start {}: {e}", start.name)))
    }

    /// Starts a child and waits until it is ready.
    pub(super) async fn start(&mut self, start: Start) -> Result<ReadyFile, Failure> {
        let child = self.spawn(&start)?;
        let (name, ready) = (start.name.clone(), start.ready.clone());
        self.running.push(Running { start, child });
        let Some(path) = ready else {
            return Err(Failure::internal(format!("{name} does not say when it is ready")));
        };
        let deadline = Instant::now() + READY_MAX;
        loop {
            if let Some(text) = until_file(&path, Duration::from_millis(200)).await {
                let said: ReadyFile = serde_json::from_slice(&text)
                    .map_err(|e| Failure::internal(format!("{name} said nonsense: {e}")))?;
                self.ready.insert(name, said.clone());
                return Ok(said);
            }
            let log = self.log_of(&name);
            if let Some(dead) = self.first_dead() {
                return Err(Failure::internal(format!("{dead} ended at once"))
                    .hint(format!("its log: {}", log.display())));
            }
            if Instant::now() >= deadline {
                return Err(Failure::new(TIMEOUT, format!("{name} was not ready in time"))
                    .hint(format!("its log: {}", log.display())));
            }
        }
    }

    /// Starts a child that says nothing.
    pub(super) fn start_unready(&mut self, start: Start) -> Result<(), Failure> {
        let child = self.spawn(&start)?;
        self.running.push(Running { start, child });
        Ok(())
    }

    pub(super) fn pids(&self) -> BTreeMap<String, u32> {
        let pid = |r: &Running| Some((r.start.name.clone(), r.child.id()?));
        self.running.iter().filter_map(pid).collect()
    }

    /// The first child that ended unasked.
    pub(super) fn first_dead(&mut self) -> Option<String> {
        let dead = |r: &mut Running| matches!(r.child.try_wait(), Ok(Some(_)));
        self.running.iter_mut().find_map(|r| dead(r).then(|| r.start.name.clone()))
    }

    /// Starts children again that ended unasked, where they were. True if there were any.
    pub(super) async fn look_after(&mut self) -> bool {
        let mut dead = Vec::new();
        for (i, running) in self.running.iter_mut().enumerate() {
            if let Ok(Some(status)) = running.child.try_wait() {
                eprintln!("  {} ended: {status}", running.start.name);
                if !status.success() {
                    self.lost.push(running.start.name.clone());
                }
                dead.push(i);
            }
        }
        let any = !dead.is_empty();
        for i in dead.into_iter().rev() {
            let start = self.running.remove(i).start;
            if self.restart && start.role != Role::Bots {
                eprintln!("  {} is started again", start.name);
                let start = match self.ready.get(&start.name) {
                    Some(ready) => start.at(ready),
                    None => start,
                };
                if let Err(failure) = self.start(start).await {
                    eprintln!("  {failure}");
                }
            }
        }
        any
    }

    /// Names of children that ended otherwise than in order, once for each life.
    pub(super) fn lost(&self) -> Vec<String> {
        self.lost.clone()
    }

    /// Asks one child to end, and kills it after `within`. Its exit code, if it ended by itself. It is
    /// started again with those who ended unasked.
    pub(super) async fn stop_one(
        &mut self,
        name: &str,
        within: Duration,
    ) -> Result<Option<i32>, Failure> {
        let child = self.running.iter_mut().find(|r| r.start.name == name).map(|r| &mut r.child);
        let pid = child.as_ref().and_then(|c| c.id()).and_then(|pid| i32::try_from(pid).ok());
        let (Some(child), Some(pid)) = (child, pid) else {
            return Err(Failure::new(NOT_FOUND, format!("there is no process {name}")));
        };
        // It may have ended meanwhile.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        match timeout(within, child.wait()).await {
            Ok(Ok(status)) => Ok(status.code()),
            Ok(Err(e)) => Err(Failure::internal(format!("cannot wait for {name}: {e}"))),
            Err(_) => {
                let _ = child.kill().await;
                Ok(None)
            }
        }
    }

    /// Ends the children of a role, at most `within`.
    pub(super) async fn stop(&mut self, role: Role, within: Duration) -> bool {
        let (mut ending, rest): (Vec<Running>, Vec<Running>) =
            std::mem::take(&mut self.running).into_iter().partition(|r| r.start.role == role);
        self.running = rest;
        for running in &ending {
            if let Some(pid) = running.child.id().and_then(|p| i32::try_from(p).ok()) {
                // It may have ended meanwhile.
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
        }
        let deadline = Instant::now() + within;
        let mut in_order = true;
        for running in &mut ending {
            let left = deadline.saturating_duration_since(Instant::now());
            if timeout(left, running.child.wait()).await.is_err() {
                tracing::warn!(name = running.start.name, "did not end in time and is killed");
                in_order = false;
                let _ = running.child.kill().await;
            }
        }
        in_order
    }

    /// Ends everybody: those who load first, then those who would judge the others' end, the store
    /// last.
    pub(super) async fn stop_all(&mut self, within: Duration) -> Result<(), Failure> {
        let mut in_order = true;
        for role in [Role::Bots, Role::Manager, Role::Server, Role::Store] {
            in_order &= self.stop(role, within).await;
        }
        sleep(Duration::from_millis(10)).await;
        if in_order {
            Ok(())
        } else {
            Err(Failure::new(TIMEOUT, "not every process ended in time; some were killed"))
        }
    }
}
