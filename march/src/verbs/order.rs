//! In which order things happened to an entity, across processes.

use super::{print_json, print_line};
use crate::cli::OrderArgs;
use crate::connect::cluster_file;
use crate::exit::{Failure, NOT_FOUND};
use marchland_observe::{Line, OrderFilter, columns, load, order};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &OrderArgs) -> Result<u8, Failure> {
    let dir = folder(args)?;
    let journals = load(&dir).map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    if journals.processes().is_empty() {
        let text = format!("there is no journal in {}", dir.display());
        return Err(Failure::new(NOT_FOUND, text).hint("give the folder with --dir"));
    }
    let filter = OrderFilter { entity: Some(args.entity), ..OrderFilter::default() };
    let limit = args.limit.unwrap_or(usize::MAX);
    let lines: Vec<Line> = order(&journals, &filter).take(limit).collect();
    if lines.is_empty() {
        let text = format!("no journal in {} speaks of entity {}", dir.display(), args.entity);
        return Err(Failure::new(NOT_FOUND, text).hint("march entity ls   # shows who lives"));
    }
    if args.output.is_json() {
        lines.iter().for_each(print_json);
    } else {
        columns(&lines).iter().for_each(|line| print_line(line));
    }
    Ok(0)
}

fn folder(args: &OrderArgs) -> Result<PathBuf, Failure> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    match &args.cluster {
        Some(cluster) if Path::new(cluster).is_dir() => {
            Ok(cluster_file(Path::new(cluster))?.journals)
        }
        _ => Err(Failure::usage("say where the journals are with --dir, or --cluster FOLDER")
            .hint("a demo prints its folder when it starts")),
    }
}
