//! The multi-version store: every key with its versions, and the history of changes in order.
//!
//! Invariants: versions of a key ascend in mod revision; a key has at most one version per
//! revision; `history` names every retained change at or after the compaction, in the order it
//! happened; a deleted key keeps its tombstone until a compaction passes it.

use crate::error::EtcdError;
use crate::types::{Event, EventKind, KeyRange, KeyValue, Revision};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Revision of a store that was never compacted: below every revision.
pub(crate) const NEVER_COMPACTED: Revision = -1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub mod_revision: Revision,
    pub create_revision: Revision,
    pub version: i64,
    pub lease: i64,
    /// `None` is a tombstone.
    pub value: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mvcc {
    pub revision: Revision,
    pub compacted: Revision,
    pub keys: BTreeMap<Vec<u8>, Vec<Version>>,
    pub history: VecDeque<(Revision, Vec<u8>)>,
    /// Bytes of all kept versions, by `Version::bytes`.
    pub bytes: usize,
}

impl Version {
    /// What keeping this version of a key costs, about.
    pub fn bytes(&self, key: &[u8]) -> usize {
        key.len() + self.value.as_ref().map_or(0, Vec::len) + size_of::<Self>()
    }
}

impl Default for Mvcc {
    fn default() -> Self {
        Self {
            revision: 1,
            compacted: NEVER_COMPACTED,
            keys: BTreeMap::new(),
            history: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl Mvcc {
    /// Whether a read as of `revision` (0 or less: now) can be answered.
    pub fn check_readable(&self, revision: Revision, newest: Revision) -> Result<(), EtcdError> {
        match revision {
            ..=0 => Ok(()),
            r if r > newest => Err(EtcdError::FutureRevision),
            r if r < self.compacted => Err(EtcdError::Compacted),
            _ => Ok(()),
        }
    }

    /// The live keys of a range as of `at`, in key order.
    pub fn live<'a>(
        &'a self,
        range: &'a KeyRange,
        at: Revision,
    ) -> impl Iterator<Item = (&'a Vec<u8>, &'a Version)> {
        range
            .bounds()
            .map(|bounds| self.keys.range::<[u8], _>(bounds))
            .into_iter()
            .flatten()
            .filter_map(move |(key, versions)| {
                let version = version_at(versions, at)?;
                version.value.is_some().then_some((key, version))
            })
    }

    /// One key as of `at`, if it lived then.
    pub fn get(&self, key: &[u8], at: Revision) -> Option<KeyValue> {
        let (key, versions) = self.keys.get_key_value(key)?;
        key_value(key, version_at(versions, at)?)
    }

    /// Writes a key at revision `main`.
    pub fn put(&mut self, main: Revision, key: &[u8], value: Vec<u8>, lease: i64) {
        let versions = self.keys.entry(key.to_vec()).or_default();
        let (create_revision, version) = match versions.last() {
            Some(last) if last.value.is_some() => (last.create_revision, last.version + 1),
            _ => (main, 1),
        };
        let value = Some(value);
        let new = Version { mod_revision: main, create_revision, version, lease, value };
        self.bytes += new.bytes(key);
        versions.push(new);
        self.history.push_back((main, key.to_vec()));
    }

    /// Deletes a live key at revision `main`.
    pub fn delete(&mut self, main: Revision, key: &[u8]) {
        let Some(versions) = self.keys.get_mut(key) else { return };
        let (create_revision, version, lease, value) = (0, 0, 0, None);
        let tombstone = Version { mod_revision: main, create_revision, version, lease, value };
        self.bytes += tombstone.bytes(key);
        versions.push(tombstone);
        self.history.push_back((main, key.to_vec()));
    }

    /// Bytes of the versions that a compaction at the newest revision keeps, about.
    pub fn living_bytes(&self) -> usize {
        let living = self.keys.iter().filter_map(|(key, versions)| Some((key, versions.last()?)));
        living.map(|(key, version)| version.bytes(key)).sum()
    }

    /// Forgets what nobody can ask for any more once `revision` is the oldest readable one.
    pub fn compact(&mut self, revision: Revision) -> Result<(), EtcdError> {
        if revision <= self.compacted {
            return Err(EtcdError::Compacted);
        }
        if revision > self.revision {
            return Err(EtcdError::FutureRevision);
        }
        self.compacted = revision;
        let gone = self.history.partition_point(|(at, _)| *at < revision);
        self.history.drain(..gone);
        self.bytes = 0;
        self.keys.retain(|key, versions| {
            let newer = versions.partition_point(|v| v.mod_revision <= revision);
            let mut first = newer.saturating_sub(1);
            let dead = versions[first].value.is_none() && versions[first].mod_revision < revision;
            if newer > 0 && dead {
                first += 1;
            }
            versions.drain(..first);
            self.bytes += versions.iter().map(|v| v.bytes(key)).sum::<usize>();
            !versions.is_empty()
        });
        Ok(())
    }

    /// Changes of `range` in `from..=to`, at most `revisions_max` revisions of them. Returns the
    /// first revision that was not looked at, too.
    pub fn events(
        &self,
        range: &KeyRange,
        (from, to): (Revision, Revision),
        prev_kv: bool,
        revisions_max: usize,
    ) -> (Vec<Event>, Revision) {
        let first = self.history.partition_point(|(at, _)| *at < from);
        let mut events = Vec::new();
        let (mut last, mut revisions) = (0, 0);
        for (at, key) in self.history.range(first..) {
            if *at > to {
                break;
            }
            if !range.contains(key) {
                continue;
            }
            if *at != last {
                if revisions == revisions_max {
                    return (events, *at);
                }
                (last, revisions) = (*at, revisions + 1);
            }
            events.extend(self.event(key, *at, prev_kv));
        }
        (events, to + 1)
    }

    fn event(&self, key: &[u8], at: Revision, prev_kv: bool) -> Option<Event> {
        let version = version_at(self.keys.get(key)?, at)?;
        let prev_kv = (prev_kv && at > self.compacted).then(|| self.get(key, at - 1)).flatten();
        Some(match key_value(key, version) {
            Some(kv) => Event { kind: EventKind::Put, kv, prev_kv },
            None => Event {
                kind: EventKind::Delete,
                kv: KeyValue { key: key.to_vec(), mod_revision: at, ..KeyValue::default() },
                prev_kv,
            },
        })
    }
}

/// The newest version that is not younger than `at`; it may be a tombstone.
fn version_at(versions: &[Version], at: Revision) -> Option<&Version> {
    let newer = versions.partition_point(|v| v.mod_revision <= at);
    versions.get(newer.checked_sub(1)?)
}

/// A live version as a client sees it; `None` for a tombstone.
pub(crate) fn key_value(key: &[u8], version: &Version) -> Option<KeyValue> {
    Some(KeyValue {
        key: key.to_vec(),
        value: version.value.clone()?,
        create_revision: version.create_revision,
        mod_revision: version.mod_revision,
        version: version.version,
        lease: version.lease,
    })
}
