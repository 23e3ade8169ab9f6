//! Taking up a cluster whose etcd is lost.
//!
//! What is confirmed is in the logs of the baseapps; the store holds who they are, and numbers that
//! must never be given twice: terms and incarnations are its revisions. So the logs say whose store
//! it is to be and who keeps which slot, and the store's revision is raised above everything that
//! they name. All else, such as members, cells and the clock, is made anew when the processes start.

mod logs;
mod store;

use super::{print_json, print_line, print_table};
use crate::cli::RecoverArgs;
use crate::exit::Failure;
use logs::{Found, LogJson};
use serde::Serialize;
use store::Target;

/// The answer for programs.
#[derive(Debug, Serialize)]
struct RecoverJson {
    cluster_id: String,
    floor: u64,
    revision: u64,
    slots: usize,
    logs: Vec<LogJson>,
}

pub(crate) async fn run(args: RecoverArgs) -> Result<u8, Failure> {
    debug_assert!(args.new_etcd, "the command line requires it");
    let found = Found::read(&args.dirs, args.accept_loss)?;
    let target = Target::open(&args.etcd, &args.cluster_name, &found).await?;
    let revision = target.take_up(&found, args.tick).await?;
    let answer = RecoverJson {
        cluster_id: format!("{:#x}", found.cluster),
        floor: found.floor,
        revision,
        slots: found.slots.len(),
        logs: found.logs,
    };
    match args.output.is_json() {
        true => print_json(&answer),
        false => show(&answer),
    }
    Ok(0)
}

fn show(answer: &RecoverJson) {
    print_line(&format!("cluster {} is taken up", answer.cluster_id));
    print_line(&format!("  the logs name revisions up to {}", answer.floor));
    print_line(&format!("  the store is at revision {}", answer.revision));
    let row = |log: &LogJson| {
        vec![
            log.base.clone(),
            log.slots.to_string(),
            log.entities.to_string(),
            log.records.to_string(),
            log.dir.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = answer.logs.iter().map(row).collect();
    print_table(&["BASE", "SLOTS", "ENTITIES", "RECORDS", "LOG"], &rows);
    print_line("start every process now; a baseapp must come with the folder of its log");
}
