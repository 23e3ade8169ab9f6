//! The values that etcd's API is made of: revisions, key ranges, keys with their metadata, events.

use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// A position in the store's history. An empty store stands at 1; the first write takes 2.
pub type Revision = i64;

/// A key with its value and the metadata that etcd keeps of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValue {
    /// The key; never empty.
    pub key: Vec<u8>,
    /// The value; empty when only keys were asked for.
    pub value: Vec<u8>,
    /// Revision of the key's last creation.
    pub create_revision: Revision,
    /// Revision of its last change.
    pub mod_revision: Revision,
    /// Number of changes since its creation, from 1. A deletion resets it.
    pub version: i64,
    /// The lease that the key dies with, 0 if none.
    pub lease: i64,
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created or overwritten.
    Put,
    /// It was deleted, by a client or with its lease.
    Delete,
}

/// One change of one key, as a watch delivers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The key after the change. After a deletion only `key` and `mod_revision` are set.
    pub kv: KeyValue,
    /// The key before the change, if the watcher asked for it and the history still has it.
    pub prev_kv: Option<KeyValue>,
}

pub(crate) type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A range of keys in etcd's convention for the wire.
///
/// `end` empty: just `key`. `end` = `"\0"`: every key from `key` on. Else `key <= k < end`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRange {
    /// First key of the range.
    pub key: Vec<u8>,
    /// End of the range; see above.
    pub end: Vec<u8>,
}

impl KeyRange {
    /// Exactly one key.
    #[must_use]
    pub fn one(key: impl Into<Vec<u8>>) -> Self {
        Self { key: key.into(), end: Vec::new() }
    }

    /// Every key that begins with `prefix`. An empty prefix means every key.
    #[must_use]
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let key: Vec<u8> = prefix.into();
        if key.is_empty() {
            return Self { key: vec![0], end: vec![0] };
        }
        let mut end = key.clone();
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                return Self { key, end };
            }
        }
        Self { key, end: vec![0] }
    }

    /// Whether `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        match self.end.as_slice() {
            [] => key == self.key,
            [0] => key >= self.key.as_slice(),
            end => key >= self.key.as_slice() && key < end,
        }
    }

    /// The range as bounds for an ordered map; `None` if it can hold no key.
    pub(crate) fn bounds(&self) -> Option<KeyBounds<'_>> {
        let key = self.key.as_slice();
        match self.end.as_slice() {
            [] => Some((Bound::Included(key), Bound::Included(key))),
            [0] => Some((Bound::Included(key), Bound::Unbounded)),
            end if end > key => Some((Bound::Included(key), Bound::Excluded(end))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_all_ones_reaches_to_the_end_of_the_key_space() {
        let range = KeyRange::prefix(vec![0xff, 0xff]);
        assert!(range.contains(&[0xff, 0xff, 7]) && !range.contains(&[0xff, 0xfe]));
        assert!(KeyRange::prefix(Vec::new()).contains(b"anything"));
    }

    #[test]
    fn a_range_whose_end_lies_before_its_key_holds_nothing() {
        let range = KeyRange { key: b"m".to_vec(), end: b"a".to_vec() };
        assert!(range.bounds().is_none() && !range.contains(b"m") && !range.contains(b"b"));
    }
}
