//! A whole cluster on this machine: every process for real, bots that load it, and a verdict at
//! the end.
//!
//! Children hold one end of a pipe: when the launcher is gone, whatever ended it, so are they.

mod child;
mod plan;
mod report;
mod wait;

use crate::cli::DemoArgs;
use crate::connect::{CLUSTER_FILE, ClusterFile};
use crate::exit::{CHECK_FAILED, Failure, TIMEOUT, USAGE};
use crate::verbs::audit::{AuditNotes, NOTES_FILE, audit_dir};
use crate::verbs::{print_line, status};
use child::{Children, Role};
use marchland_client::bots::BotsReport;
use marchland_runtime::process::{Shutdown, ShutdownWatch};
use plan::Plan;
use report::Report;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a cluster may take to be ready.
const READY_MAX: Duration = Duration::from_secs(30);
/// How long bots may take to hear their last answers.
const BOTS_MAX: Duration = Duration::from_secs(10);
/// How long processes may take to end.
const END_MAX: Duration = Duration::from_secs(8);
/// How often progress is shown.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn run(args: DemoArgs) -> Result<u8, Failure> {
    let dir = folder(&args)?;
    let shutdown = Shutdown::on_signals()
        .map_err(|e| Failure::internal(format!("cannot handle signals: {e}")))?;
    let mut children = Children::new(&dir, !args.no_restart)?;
    let played = play(&args, &dir, &mut children, shutdown).await;
    let stopped = children.stop_all(END_MAX).await;
    let played = played?;
    if let Err(failure) = stopped {
        tracing::warn!(%failure, "some processes did not end by themselves");
    }
    let notes = AuditNotes { census_at: played.census_at, killed: children.lost() };
    write_json(&dir.join(NOTES_FILE), &notes)?;
    conclude(&args, &dir, played.bots)
}

/// What a run left beside its journals.
struct Played {
    bots: BotsReport,
    census_at: Option<u64>,
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

async fn play(
    args: &DemoArgs,
    dir: &Path,
    children: &mut Children,
    mut shutdown: ShutdownWatch,
) -> Result<Played, Failure> {
    let plan = Plan::new(args, dir);
    let etcd = match &args.etcd {
        Some(etcd) => etcd.clone(),
        None => format!("http://{}", children.start(plan.etcd_standin()).await?.link),
    };
    let mut managers = Vec::new();
    for number in 1..=args.managers {
        let ready = children.start(plan.manager(number, &etcd)).await?;
        managers.push(format!("http://{}", ready.link));
    }
    let mut gateways = Vec::new();
    for number in 1..=args.bases {
        let ready = children.start(plan.base(number, &etcd)).await?;
        gateways.push(format!("http://{}", ready.gateway));
    }
    for number in 1..=args.cells {
        children.start(plan.cell(number, &etcd)).await?;
    }
    let address = managers.join(",");
    until_ready(&address, children, args).await?;
    let mut file = ClusterFile {
        manager: managers[0].clone(),
        managers,
        gateways: gateways.clone(),
        etcd,
        pids: children.pids(),
        journals: plan.journals.clone(),
    };
    write_json(&dir.join(CLUSTER_FILE), &file)?;
    announce(&file, dir, args);
    if args.bots > 0 {
        children.start_unready(plan.bots(&gateways))?;
    }
    let until = args.run_for.map(|d| Instant::now() + d);
    let cluster = Watched { address: &address, file: &mut file, dir, quiet: args.json };
    cluster.watch(children, until, &mut shutdown).await?;
    let bots = end_bots(args, children, &plan).await?;
    let census_at = status::ask(&address).await.ok().map(|s| s.tick);
    // The census is of a tick that every process has behind it.
    sleep(args.tick * 4).await;
    Ok(Played { bots, census_at })
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

fn announce(file: &ClusterFile, dir: &Path, args: &DemoArgs) {
    eprintln!("Marchland is up: {} cellapps, {} baseapps", args.cells, args.bases);
    eprintln!("  managers  {}", file.managers.join(" "));
    eprintln!("  gateways  {}", file.gateways.join(" "));
    eprintln!("  etcd      {}", file.etcd);
    eprintln!("  journals  {}", file.journals.display());
    eprintln!("  try       march status --cluster {}", dir.display());
    eprintln!("            march handoff --random 5 --cluster {}", dir.display());
    eprintln!("            march entity ls --limit 5 --cluster {}", dir.display());
    match args.run_for {
        Some(d) => eprintln!("  ends      after {d:?}, or with Ctrl-C"),
        None => eprintln!("  ends      with Ctrl-C"),
    }
}

/// A cluster that is up.
struct Watched<'a> {
    address: &'a str,
    file: &'a mut ClusterFile,
    dir: &'a Path,
    quiet: bool,
}

impl Watched<'_> {
    /// Shows progress until it is time or somebody asks to end; starts lost children again.
    async fn watch(
        self,
        children: &mut Children,
        until: Option<Instant>,
        shutdown: &mut ShutdownWatch,
    ) -> Result<(), Failure> {
        let mut shown = Instant::now();
        loop {
            let left =
                until.map_or(PROGRESS_EVERY, |u| u.saturating_duration_since(Instant::now()));
            if left.is_zero() || shutdown.is_asked() {
                return Ok(());
            }
            tokio::select! {
                () = shutdown.asked() => return Ok(()),
                () = sleep(left.min(Duration::from_millis(250))) => {}
            }
            if children.look_after().await {
                self.file.pids = children.pids();
                write_json(&self.dir.join(CLUSTER_FILE), &self.file)?;
            }
            if shown.elapsed() >= PROGRESS_EVERY {
                shown = Instant::now();
                if let (false, Ok(status)) = (self.quiet, status::ask(self.address).await) {
                    progress(&status);
                }
            }
        }
    }
}

fn progress(status: &status::StatusJson) {
    let sum = |f: fn(&status::MemberJson) -> u64| status.members.iter().map(f).sum::<u64>();
    eprintln!(
        "  tick {:>6}   entities {:>5}   reals {:>5}   ghosts {:>5}   sessions {:>4}",
        status.tick,
        sum(|m| m.entities),
        sum(|m| m.reals),
        sum(|m| m.ghosts),
        sum(|m| m.sessions),
    );
}

async fn end_bots(
    args: &DemoArgs,
    children: &mut Children,
    plan: &Plan<'_>,
) -> Result<BotsReport, Failure> {
    if args.bots == 0 {
        return Ok(BotsReport::default());
    }
    children.stop(Role::Bots, BOTS_MAX).await;
    let path = plan.bots_report();
    let text = std::fs::read_to_string(&path).map_err(|e| {
        Failure::internal(format!("the bots left no report at {}: {e}", path.display()))
    })?;
    serde_json::from_str(&text)
        .map_err(|e| Failure::internal(format!("the bots' report is not whole: {e}")))
}

fn conclude(args: &DemoArgs, dir: &Path, bots: BotsReport) -> Result<u8, Failure> {
    let (verdict, summary) = audit_dir(dir)?;
    let report = Report::new(dir, &verdict, &summary, &bots);
    if args.json {
        print_line(&serde_json::to_string(&report).unwrap_or_default());
    } else {
        report.show(&verdict, &summary, &bots);
    }
    Ok(if report.is_good() { 0 } else { CHECK_FAILED })
}

fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).unwrap_or_default();
    let part = path.with_extension("part");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|e| Failure::new(USAGE, format!("cannot write {}: {e}", path.display())))
}
