//! A whole cluster on this machine: every process for real, bots that load it, and a verdict at
//! the end.
//!
//! Children hold one end of a pipe: when the launcher is gone, whatever ended it, so are they.

mod child;
mod cluster;
mod door;
mod plan;
mod report;
mod wait;

pub(crate) use cluster::{Cluster, Left};
pub(crate) use door::{Door, Doors};

use crate::cli::DemoArgs;
use crate::connect::ClusterFile;
use crate::exit::{CHECK_FAILED, Failure};
use crate::verbs::{print_line, status};
use marchland_runtime::process::{Shutdown, ShutdownWatch};
use report::Report;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often progress is shown.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// How often children are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) async fn run(args: DemoArgs) -> Result<u8, Failure> {
    let mut shutdown = Shutdown::on_signals()
        .map_err(|e| Failure::internal(format!("cannot handle signals: {e}")))?;
    let mut cluster = Cluster::up(args.clone(), &Doors::new()).await?;
    announce(cluster.file(), cluster.dir(), &args);
    let until = args.run_for.map(|d| Instant::now() + d);
    let watched = watch(&mut cluster, until, &mut shutdown, args.json).await;
    let left = cluster.end().await;
    watched?;
    conclude(&left?, args.json)
}

fn announce(file: &ClusterFile, dir: &Path, args: &DemoArgs) {
    eprintln!("Marchland is up: {} cellapps, {} baseapps", args.cells, args.bases);
    eprintln!("  console   {}", file.console);
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

/// Shows progress until it is time or somebody asks to end; starts lost children again.
async fn watch(
    cluster: &mut Cluster,
    until: Option<Instant>,
    shutdown: &mut ShutdownWatch,
    quiet: bool,
) -> Result<(), Failure> {
    let mut shown = Instant::now();
    loop {
        let left = until.map_or(PROGRESS_EVERY, |u| u.saturating_duration_since(Instant::now()));
        if left.is_zero() || shutdown.is_asked() {
            return Ok(());
        }
        tokio::select! {
            () = shutdown.asked() => return Ok(()),
            () = sleep(left.min(LOOK_EVERY)) => {}
        }
        cluster.look_after().await?;
        if shown.elapsed() >= PROGRESS_EVERY {
            shown = Instant::now();
            if let (false, Ok(status)) = (quiet, status::ask(cluster.address()).await) {
                progress(&status);
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

fn conclude(left: &Left, json: bool) -> Result<u8, Failure> {
    let report = Report::new(left);
    if json {
        print_line(&serde_json::to_string(&report).unwrap_or_default());
    } else {
        report.show(left);
    }
    Ok(if report.is_good() { 0 } else { CHECK_FAILED })
}
