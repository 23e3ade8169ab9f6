//! The write-ahead logs beside journals.
//!
//! They are only read: nothing is locked, repaired or cut, and a base may go on writing meanwhile.
//! What it wrote after its journal was read makes its log longer than its journal tells.

use crate::exit::{Failure, NOT_FOUND};
use marchland_baseapp::log::{Inspection, inspect};
use marchland_baseapp_core::log::account;
use marchland_common::order::{NodeKind, NodeName};
use marchland_frontier_core::kinds;
use marchland_observe::BaseLog;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// How deep folders are searched.
const DEPTH_MAX: usize = 16;
/// How the name of a log's folder begins; the name of its base follows.
const PREFIX: &str = "log-";
/// How often a log is read anew that a base changes meanwhile: a checkpoint takes the place of
/// segments, and does so only every so many megabytes.
const READS_MAX: usize = 5;

/// Every log in a folder and the folders in it. Links are not followed.
pub(super) fn load(dir: &Path) -> Result<Vec<BaseLog>, Failure> {
    Ok(find(dir)?.into_iter().map(|(base, folder)| read(base, &folder)).collect())
}

/// Every log's folder in a folder and the folders in it, or itself if it is one, with the base that
/// its name says.
pub(crate) fn find(dir: &Path) -> Result<Vec<(NodeName, PathBuf)>, Failure> {
    if let Some(base) = base_of(dir.file_name()).filter(|_| dir.is_dir()) {
        return Ok(vec![(base, dir.to_owned())]);
    }
    let mut found = Vec::new();
    collect(dir, DEPTH_MAX, &mut found)
        .map_err(|e| Failure::new(NOT_FOUND, format!("cannot read {}: {e}", dir.display())))?;
    found.sort();
    Ok(found)
}

fn collect(dir: &Path, depth: usize, found: &mut Vec<(NodeName, PathBuf)>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        match base_of(Some(&entry.file_name())) {
            Some(base) => found.push((base, path)),
            None if depth > 0 => collect(&path, depth - 1, found)?,
            None => {}
        }
    }
    Ok(())
}

/// Whose log a folder of this name is.
fn base_of(name: Option<&OsStr>) -> Option<NodeName> {
    let base: NodeName = name?.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
    (base.kind == NodeKind::Base).then_some(base)
}

fn read(base: NodeName, folder: &Path) -> BaseLog {
    let mut log = judge(base, folder);
    for _ in 1..READS_MAX {
        if log.faults.is_empty() {
            break;
        }
        // Damage stays; what a base is just changing does not.
        log = judge(base, folder);
    }
    log
}

fn judge(base: NodeName, folder: &Path) -> BaseLog {
    let Inspection { identity, recovery, damage } = match inspect(folder) {
        Ok(inspection) => inspection,
        Err(error) => {
            let (account, faults) = (Default::default(), vec![error.to_string()]);
            return BaseLog { base, account, faults };
        }
    };
    let image = recovery.checkpoint.map(|image| image.entries).unwrap_or_default();
    let records = recovery.records.into_iter().map(|(_, bytes)| bytes);
    let (account, misfit) = account(&kinds(), image.into_iter().chain(records));
    let foreign = identity.filter(|identity| identity.base != base.to_string());
    let foreign = foreign.map(|identity| format!("it says that it is {}'s", identity.base));
    let faults = [damage.map(|damage| damage.to_string()), misfit.map(|m| m.to_string()), foreign];
    BaseLog { base, account, faults: faults.into_iter().flatten().collect() }
}
