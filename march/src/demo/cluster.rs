//! A cluster of one's own on this machine: started, looked after, ended and audited.

use super::child::{Children, Role};
use super::door::Doors;
use super::plan::Plan;
use crate::cli::DemoArgs;
use crate::connect::{CLUSTER_FILE, ClusterFile};
use crate::exit::{Failure, TIMEOUT, USAGE};
use crate::verbs::audit::{AuditNotes, NOTES_FILE, audit_dir};
use crate::verbs::status;
use marchland_client::bots::BotsReport;
use marchland_observe::{Summary, Verdict};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a cluster may take to be ready.
const READY_MAX: Duration = Duration::from_secs(30);
/// How long bots may take to hear their last answers.
const BOTS_MAX: Duration = Duration::from_secs(10);
/// How long processes may take to end.
const END_MAX: Duration = Duration::from_secs(8);

/// A cluster that is up, with its bots.
pub(crate) struct Cluster {
    args: DemoArgs,
    dir: PathBuf,
    plan: Plan,
    children: Children,
    file: ClusterFile,
    address: String,
}

/// What a cluster left when it had ended.
pub(crate) struct Left {
    pub(crate) dir: PathBuf,
    pub(crate) bots: BotsReport,
    pub(crate) verdict: Verdict,
    pub(crate) summary: Summary,
}

impl Cluster {
    /// Starts everybody, those who have one behind their doors, and the bots once it is ready.
    pub(crate) async fn up(args: DemoArgs, doors: &Doors) -> Result<Self, Failure> {
        let dir = folder(&args)?;
        let plan = Plan::new(&args, &dir, doors);
        let mut children = Children::new(&dir, !args.no_restart)?;
        match start(&args, &plan, &mut children).await {
            Ok(file) => {
                let address = file.managers.join(",");
                write_json(&dir.join(CLUSTER_FILE), &file)?;
                Ok(Self { args, dir, plan, children, file, address })
            }
            Err(failure) => {
                // Why it did not start matters more than how the others ended.
                let _ = children.stop_all(END_MAX).await;
                Err(failure)
            }
        }
    }

    /// Where its managers are.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Who is where.
    pub(crate) const fn file(&self) -> &ClusterFile {
        &self.file
    }

    /// Asks one child to end. Its exit code, if it ended by itself in time.
    pub(crate) async fn stop_one(&mut self, name: &str) -> Result<Option<i32>, Failure> {
        self.children.stop_one(name, END_MAX).await
    }

    /// Starts children again that ended.
    pub(crate) async fn look_after(&mut self) -> Result<(), Failure> {
        if self.children.look_after().await {
            self.file.pids = self.children.pids();
            write_json(&self.dir.join(CLUSTER_FILE), &self.file)?;
        }
        Ok(())
    }

    /// Ends everybody in order, and judges what happened.
    pub(crate) async fn end(mut self) -> Result<Left, Failure> {
        let bots = self.end_bots().await;
        let census_at = status::ask(&self.address).await.ok().map(|s| s.tick);
        // The census is of a tick that every process has behind it.
        sleep(self.args.tick * 4).await;
        if let Err(failure) = self.children.stop_all(END_MAX).await {
            tracing::warn!(%failure, "some processes did not end by themselves");
        }
        let bots = bots?;
        let notes = AuditNotes { census_at, killed: self.children.lost() };
        write_json(&self.dir.join(NOTES_FILE), &notes)?;
        let (verdict, summary) = audit_dir(&self.dir)?;
        Ok(Left { dir: self.dir, bots, verdict, summary })
    }

    async fn end_bots(&mut self) -> Result<BotsReport, Failure> {
        if self.args.bots == 0 {
            return Ok(BotsReport::default());
        }
        self.children.stop(Role::Bots, BOTS_MAX).await;
        let path = self.plan.bots_report();
        let text = std::fs::read_to_string(&path).map_err(|e| {
            Failure::internal(format!("the bots left no report at {}: {e}", path.display()))
        })?;
        serde_json::from_str(&text)
            .map_err(|e| Failure::internal(format!("the bots' report is not whole: {e}")))
    }
}

fn folder(args: &DemoArgs) -> Result<PathBuf, Failure> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::temp_dir().join(format!("march-demo-{}", std::process::id())),
    };
    marchland_runtime::process::prepare_dir(&dir)
        .map_err(|e| Failure::new(USAGE, e.to_string()))?;
    let journals = dir.join("journals");
    let used = journals.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if used {
        let text = format!("{} holds the journals of an earlier run", dir.display());
        return Err(Failure::new(USAGE, text).hint("choose a fresh folder with --dir"));
    }
    dir.canonicalize().map_err(|e| Failure::new(USAGE, e.to_string()))
}

async fn start(
    args: &DemoArgs,
    plan: &Plan,
    children: &mut Children,
) -> Result<ClusterFile, Failure> {
    let etcd = match &args.etcd {
        Some(etcd) => etcd.clone(),
        None => format!("http://{}", children.start(plan.etcd_standin()).await?.link),
    };
    let (mut managers, mut console) = (Vec::new(), String::new());
    for number in 1..=args.managers {
        let ready = children.start(plan.manager(number, &etcd)).await?;
        managers.push(format!("http://{}", ready.link));
        if !ready.console.is_empty() {
            console = format!("http://{}/", ready.console);
        }
    }
    let mut gateways = Vec::new();
    for number in 1..=args.bases {
        let ready = children.start(plan.base(number, &etcd)).await?;
        gateways.push(format!("http://{}", ready.gateway));
    }
    for number in 1..=args.cells {
        children.start(plan.cell(number, &etcd)).await?;
    }
    until_ready(&managers.join(","), children, args).await?;
    if args.bots > 0 {
        children.start_unready(plan.bots(&gateways))?;
    }
    Ok(ClusterFile {
        manager: managers[0].clone(),
        managers,
        gateways,
        console,
        etcd,
        pids: children.pids(),
        journals: plan.journals.clone(),
    })
}

async fn until_ready(
    address: &str,
    children: &mut Children,
    args: &DemoArgs,
) -> Result<(), Failure> {
    let deadline = Instant::now() + READY_MAX;
    let mut last = Vec::new();
    while Instant::now() < deadline {
        if let Some(dead) = children.first_dead() {
            return Err(Failure::internal(format!("{dead} ended before the cluster was ready"))
                .hint(format!("its log: {}", children.log_of(&dead).display())));
        }
        if let Ok(status) = status::ask(address).await {
            let wolves: u64 = status.members.iter().map(|m| m.entities).sum();
            if status.ready && wolves >= u64::from(args.wolves) {
                return Ok(());
            }
            last = status.reasons;
        }
        sleep(Duration::from_millis(100)).await;
    }
    let text = format!("the cluster was not ready within {READY_MAX:?}: {}", last.join("; "));
    Err(Failure::new(TIMEOUT, text))
}

fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).unwrap_or_default();
    let part = path.with_extension("part");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|e| Failure::new(USAGE, format!("cannot write {}: {e}", path.display())))
}
