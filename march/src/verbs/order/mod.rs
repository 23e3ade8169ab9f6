//! In which order things happened, across processes.

mod check;
mod diff;
mod explain;
mod show;
mod watch;

use crate::cli::{OrderArgs, OrderVerb, Where};
use crate::connect::cluster_file;
use crate::exit::{Failure, NOT_FOUND};
use marchland_observe::{Journals, load};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) async fn run(args: OrderArgs) -> Result<u8, Failure> {
    match args.verb {
        None => show::run(&args.show),
        Some(OrderVerb::Show(args)) => show::run(&args),
        Some(OrderVerb::Watch(args)) => watch::run(&args).await,
        Some(OrderVerb::Explain(args)) => explain::run(&args),
        Some(OrderVerb::Check(args)) => check::run(&args),
        Some(OrderVerb::Diff(args)) => diff::run(&args),
    }
}

/// The folder with the journals.
fn folder(at: &Where) -> Result<PathBuf, Failure> {
    folder_of(at.dir.as_deref(), at.cluster.as_deref())
}

pub(super) fn folder_of(dir: Option<&Path>, cluster: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(dir) = dir {
        return Ok(dir.to_owned());
    }
    match cluster.map(Path::new) {
        Some(cluster) if cluster.is_dir() => Ok(cluster_file(cluster)?.journals),
        _ => Err(Failure::usage("say where the journals are with --dir, or --cluster FOLDER")
            .hint("a demo prints its folder when it starts")),
    }
}

/// The journals of a folder. What is wrong with them is told on stderr.
pub(super) fn read(dir: &Path) -> Result<Journals, Failure> {
    let journals = load(dir).map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    notes(&journals).iter().for_each(|note| tell(&format!("note: {note}")));
    if journals.processes().is_empty() {
        let text = format!("there is no journal in {} that can be read", dir.display());
        return Err(Failure::new(NOT_FOUND, text).hint("give the folder with --dir"));
    }
    Ok(journals)
}

/// What is wrong with journals, and what therefore is not known.
fn notes(journals: &Journals) -> Vec<String> {
    let mut notes: Vec<String> = journals.strays().to_vec();
    let mut clusters: Vec<(u64, String)> = Vec::new();
    for process in journals.processes() {
        let node = process.node();
        notes.extend(process.faults().iter().map(|fault| format!("{node}: {fault}")));
        let gap = |(from, to): &(u64, u64)| {
            format!("{node} could not keep ticks {from} to {to}: nothing is known of them")
        };
        notes.extend(process.gaps().iter().map(gap));
        let cluster = process.header().map(|header| header.cluster).filter(|id| *id != 0);
        clusters.extend(cluster.map(|cluster| (cluster, node.to_string())));
    }
    if let Some((first, _)) = clusters.first().cloned() {
        let foreign = clusters.iter().filter(|(cluster, _)| *cluster != first);
        notes.extend(foreign.map(|(_, node)| {
            format!("{node} is of another cluster than {}: they share no order", clusters[0].1)
        }));
    }
    notes
}

/// Says something beside the answer.
pub(super) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
