//! What the logs of a cluster's baseapps say about its store.

use crate::exit::{CHECK_FAILED, Failure, NOT_FOUND, REFUSED};
use crate::verbs::audit::logs::find;
use marchland_baseapp::log::{Inspection, LogIdentity, inspect};
use marchland_baseapp_core::log::{Named, Recovered, replay};
use marchland_baseapp_core::{ids_from, losses_before};
use marchland_common::order::{NodeName, SlotId, Term, Tick};
use marchland_frontier_core::kinds;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many slots a cluster has.
const SLOTS: usize = 256;

/// One log, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LogJson {
    pub(super) base: String,
    pub(super) dir: String,
    pub(super) term: u64,
    pub(super) slots: usize,
    pub(super) entities: usize,
    pub(super) records: u64,
    /// Whether a crash tore its end off: that was never confirmed.
    torn: bool,
}

/// One log that was read.
struct Read {
    base: NodeName,
    folder: PathBuf,
    identity: LogIdentity,
    named: Named,
    recovered: Recovered,
    torn: bool,
}

/// Everything that the logs say.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) cluster: u64,
    /// The highest revision that any of them names.
    pub(super) floor: u64,
    /// The newest tick that any of them names.
    pub(super) tick: Tick,
    /// Who keeps which slot.
    pub(super) slots: BTreeMap<SlotId, NodeName>,
    /// How many losses of logs are behind it.
    pub(super) losses: u64,
    pub(super) logs: Vec<LogJson>,
}

impl Found {
    /// Reads every log under these folders.
    ///
    /// # Errors
    /// A log is damaged, or they are not all there and of one cluster.
    pub(super) fn read(dirs: &[PathBuf], accept_loss: bool) -> Result<Self, Failure> {
        let mut reads: Vec<Read> = Vec::new();
        for dir in dirs {
            for (base, folder) in find(dir)? {
                let read = read(base, &folder)?;
                let twice = |r: &&Read| r.base == base && r.folder != folder;
                if let (Some(_), Some(other)) = (&read, reads.iter().find(twice)) {
                    return Err(disagree(&folder, &other.folder, &format!("both are {base}'s")));
                }
                let is_known = reads.iter().any(|r| r.folder == folder);
                reads.extend(read.filter(|_| !is_known));
            }
        }
        let Some(first) = reads.first() else {
            let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
            let text = format!("no baseapp has a log in {}", dirs.join(", "));
            return Err(Failure::new(NOT_FOUND, text)
                .hint("give the folders that baseapps were started with as --dir"));
        };
        let cluster = first.identity.cluster;
        if let Some(other) = reads.iter().find(|r| r.identity.cluster != cluster) {
            let text = format!("{:#x} and {:#x} are two clusters", other.identity.cluster, cluster);
            return Err(disagree(&other.folder, &first.folder, &text));
        }
        let slots = slots(&reads)?;
        let losses = losses(&reads, &slots, accept_loss)?;
        let keeps = |base| slots.values().filter(|keeper| **keeper == base).count();
        Ok(Self {
            cluster,
            floor: reads.iter().map(|r| r.named.revision).max().unwrap_or_default(),
            tick: reads.iter().map(|r| r.named.tick).max().unwrap_or_default(),
            losses,
            logs: reads.iter().map(|r| r.to_json(keeps(r.base))).collect(),
            slots,
        })
    }
}

impl Read {
    fn to_json(&self, slots: usize) -> LogJson {
        let living = self.recovered.store.entities.values().filter(|l| !l.state.destroyed);
        LogJson {
            base: self.base.to_string(),
            dir: self.folder.display().to_string(),
            term: self.identity.term.0,
            slots,
            entities: living.count(),
            records: self.recovered.last.0,
            torn: self.torn,
        }
    }
}

/// Reads one log; none if nothing was ever written to it.
fn read(base: NodeName, folder: &Path) -> Result<Option<Read>, Failure> {
    let damaged = |what: &dyn std::fmt::Display| {
        Failure::new(CHECK_FAILED, format!("the log in {} is damaged: {what}", folder.display()))
            .hint(
                "nothing was written. Bring it back from a copy that is whole, or take it out of \
                   the folder and say --accept-loss",
            )
    };
    let Inspection { identity, recovery, damage } = inspect(folder).map_err(|e| damaged(&e))?;
    if let Some(damage) = damage {
        return Err(damaged(&damage));
    }
    let Some(identity) = identity else { return Ok(None) };
    if identity.base != base.to_string() {
        return Err(damaged(&format!("it says that it is {}'s", identity.base)));
    }
    let torn = recovery.torn.is_some();
    let image = recovery.checkpoint.map(|image| image.entries).unwrap_or_default();
    let records = recovery.records.into_iter().map(|(_, bytes)| bytes);
    let all: Vec<Vec<u8>> = image.into_iter().chain(records).collect();
    let mut named = Named { revision: identity.term.0, ..Named::default() };
    all.iter().for_each(|record| named.add(record));
    let recovered = replay(&kinds(), &all).map_err(|e| damaged(&e))?;
    let folder = folder.to_owned();
    Ok(Some(Read { base, folder, identity, named, recovered, torn }))
}

/// Who keeps each slot: whoever took it under the highest term.
fn slots(reads: &[Read]) -> Result<BTreeMap<SlotId, NodeName>, Failure> {
    let mut keepers: BTreeMap<SlotId, (Term, &Read)> = BTreeMap::new();
    for read in reads {
        for (slot, row) in &read.recovered.store.slots {
            match keepers.get(slot) {
                Some((term, other)) if *term == row.term => {
                    let text = format!("both keep slot {slot} under term {term}");
                    return Err(disagree(&read.folder, &other.folder, &text));
                }
                Some((term, _)) if *term > row.term => {}
                _ => drop(keepers.insert(*slot, (row.term, read))),
            }
        }
    }
    Ok(keepers.into_iter().map(|(slot, (_, read))| (slot, read.base)).collect())
}

/// The losses that the logs know of, and one more if slots are in none of them.
fn losses(
    reads: &[Read],
    slots: &BTreeMap<SlotId, NodeName>,
    accept_loss: bool,
) -> Result<u64, Failure> {
    let rows = reads.iter().flat_map(|r| r.recovered.store.slots.values());
    let known = rows.map(|row| losses_before(row.reserved)).max().unwrap_or_default();
    let missing = SLOTS.saturating_sub(slots.len());
    if missing == 0 {
        return Ok(known);
    }
    if !accept_loss {
        let bases: Vec<String> = reads.iter().map(|r| r.base.to_string()).collect();
        let text = format!("{missing} of {SLOTS} slots are in no log of {}", bases.join(", "));
        return Err(Failure::new(REFUSED, text).hint(
            "nothing was written. Give the folders of all baseapps; for logs that are gone for good \
             say --accept-loss, and what only they held is lost",
        ));
    }
    match ids_from(known + 1) {
        Some(_) => Ok(known + 1),
        None => {
            Err(Failure::new(REFUSED, format!("{known} losses were accepted: no ids are left")))
        }
    }
}

fn disagree(one: &Path, other: &Path, how: &str) -> Failure {
    let text = format!("{} and {} do not go together: {how}", one.display(), other.display());
    Failure::new(REFUSED, text).hint("nothing was written. Give the logs of one cluster, each once")
}
