//! What a watcher knows: a full list at a revision, plus every later event, and the difference
//! between two such states.
//!
//! Invariant: an event at or before the revision of the view changes nothing, so duplicates and
//! events from the past are harmless.

use super::client::{KeyValue, Listing, Revision};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys in order with their values.
pub type Entries = BTreeMap<String, KeyValue>;

/// The state of a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Everything up to this revision is contained.
    pub revision: Revision,
    /// The keys.
    pub entries: Arc<Entries>,
}

/// One event, reduced to what a view needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyEvent {
    pub key: String,
    pub mod_revision: Revision,
    /// `None`: deleted.
    pub kv: Option<KeyValue>,
}

/// What applying a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Applied {
    /// Events that were new.
    pub fresh: u64,
    /// Events that were known already.
    pub stale: u64,
}

impl View {
    /// Applies events in the order they came.
    pub(super) fn apply(&mut self, events: Vec<KeyEvent>) -> Applied {
        let known = self.revision;
        let mut applied = Applied::default();
        for event in events {
            // Against the revision before the batch: a transaction's events share theirs.
            if event.mod_revision <= known {
                applied.stale += 1;
                continue;
            }
            applied.fresh += 1;
            self.revision = self.revision.max(event.mod_revision);
            let entries = Arc::make_mut(&mut self.entries);
            match event.kv {
                Some(kv) => drop(entries.insert(event.key, kv)),
                None => drop(entries.remove(&event.key)),
            }
        }
        applied
    }

    /// Replaces everything by a new list. Returns whether any key differs.
    pub(super) fn relist(&mut self, listing: Listing) -> bool {
        self.revision = listing.revision;
        if *self.entries == listing.entries {
            return false;
        }
        self.entries = Arc::new(listing.entries);
        true
    }
}

/// How one key differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diff {
    /// It was not there before.
    Added {
        /// The key.
        key: String,
        /// What it holds.
        new: KeyValue,
    },
    /// It holds something else.
    Changed {
        /// The key.
        key: String,
        /// What it held.
        old: KeyValue,
        /// What it holds.
        new: KeyValue,
    },
    /// It was deleted and created again in between.
    Recreated {
        /// The key.
        key: String,
        /// What it held.
        old: KeyValue,
        /// What it holds.
        new: KeyValue,
    },
    /// It is gone.
    Removed {
        /// The key.
        key: String,
        /// What it held.
        old: KeyValue,
    },
}

impl Diff {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Added { key, .. }
            | Self::Changed { key, .. }
            | Self::Recreated { key, .. }
            | Self::Removed { key, .. } => key,
        }
    }

    /// What the key held before.
    #[must_use]
    pub fn old(&self) -> Option<&KeyValue> {
        match self {
            Self::Added { .. } => None,
            Self::Changed { old, .. } | Self::Recreated { old, .. } | Self::Removed { old, .. } => {
                Some(old)
            }
        }
    }

    /// What the key holds now.
    #[must_use]
    pub fn new_value(&self) -> Option<&KeyValue> {
        match self {
            Self::Removed { .. } => None,
            Self::Added { new, .. } | Self::Changed { new, .. } | Self::Recreated { new, .. } => {
                Some(new)
            }
        }
    }
}

/// How `new` differs from `old`, in key order.
#[must_use]
pub fn diff(old: &Entries, new: &Entries) -> Vec<Diff> {
    let mut changes = Vec::new();
    let (mut before, mut after) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        changes.extend(match (old, new) {
            (Some((key, old)), None) => Some(Diff::Removed { key: key.clone(), old: old.clone() }),
            (None, Some((key, new))) => Some(Diff::Added { key: key.clone(), new: new.clone() }),
            (Some((key, old)), Some((_, new))) => differing(key, old, new),
            (None, None) => None,
        });
    }
}

fn differing(key: &str, old: &KeyValue, new: &KeyValue) -> Option<Diff> {
    if old == new {
        return None;
    }
    let (key, recreated) = (key.to_owned(), old.create_revision != new.create_revision);
    let (old, new) = (old.clone(), new.clone());
    Some(if recreated {
        Diff::Recreated { key, old, new }
    } else {
        Diff::Changed { key, old, new }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kv(create_revision: Revision, mod_revision: Revision) -> KeyValue {
        let value = mod_revision.to_le_bytes().to_vec().into();
        KeyValue { value, create_revision, mod_revision, lease: 0 }
    }

    /// A history of a store: at each revision one key is put or deleted.
    fn history() -> impl Strategy<Value = Vec<(u8, bool)>> {
        prop::collection::vec((0u8..5, any::<bool>()), 1..60)
    }

    /// The events of a history and the state after each revision.
    fn play(history: &[(u8, bool)]) -> (Vec<KeyEvent>, Vec<Entries>) {
        let mut state = Entries::new();
        let (mut events, mut states) = (Vec::new(), vec![state.clone()]);
        for (revision, (key, put)) in (1..).zip(history) {
            let key = format!("k{key}");
            let create = state.get(&key).map_or(revision, |old| old.create_revision);
            let kv = put.then(|| kv(create, revision));
            match &kv {
                Some(kv) => drop(state.insert(key.clone(), kv.clone())),
                None => drop(state.remove(&key)),
            }
            events.push(KeyEvent { key, mod_revision: revision, kv });
            states.push(state.clone());
        }
        (events, states)
    }

    fn replayed(mut state: Entries, changes: &[Diff]) -> Entries {
        for change in changes {
            assert_eq!(state.get(change.key()), change.old());
            match change.new_value() {
                Some(new) => drop(state.insert(change.key().to_owned(), new.clone())),
                None => drop(state.remove(change.key())),
            }
        }
        state
    }

    proptest! {
        /// Lists at any revision, lost events, duplicates and events from the past: after a list
        /// and everything later, the view is the store.
        #[test]
        fn a_list_and_all_later_events_give_the_state_whatever_came_before(
            history in history(),
            garbage in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
            at in any::<prop::sample::Index>(),
            again in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let (events, states) = play(&history);
            let mut view = View::default();
            let mut some: Vec<_> = garbage.iter().map(|i| i.get(&events).clone()).collect();
            some.sort_by_key(|e| e.mod_revision);
            view.apply(some);
            let at = at.index(states.len());
            view.relist(Listing {
                revision: at as Revision,
                entries: states[at].clone(),
                foreign: 0,
            });
            let mut later = events[at..].to_vec();
            let cut = later.len() / 2;
            let second = later.split_off(cut);
            view.apply(later);
            let mut old: Vec<_> = again.iter().map(|i| i.get(&events).clone()).collect();
            old.retain(|e| e.mod_revision <= view.revision);
            let (count, applied) = (old.len() as u64, view.apply(old));
            prop_assert_eq!(applied, Applied { fresh: 0, stale: count });
            view.apply(second);
            prop_assert_eq!(&*view.entries, &states[states.len() - 1]);
            prop_assert_eq!(view.revision, (states.len() - 1) as Revision);
        }

        /// A consumer that looks only now and then still sees every change exactly once.
        #[test]
        fn differences_between_any_moments_add_up_to_the_whole(
            history in history(),
            looks in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let (_, states) = play(&history);
            let mut at: Vec<_> = looks.iter().map(|i| i.index(states.len())).collect();
            at.push(states.len() - 1);
            at.sort_unstable();
            let mut seen = Entries::new();
            for now in at {
                let changes = diff(&seen, &states[now]);
                prop_assert_eq!(&replayed(seen.clone(), &changes), &states[now]);
                seen = states[now].clone();
            }
        }
    }

    #[test]
    fn all_events_of_one_transaction_are_applied_and_a_recreated_key_is_told_from_a_changed_one() {
        let mut view = View { revision: 4, ..View::default() };
        let event =
            |key: &str| KeyEvent { key: key.to_owned(), mod_revision: 5, kv: Some(kv(5, 5)) };
        let applied = view.apply(vec![event("a"), event("b")]);
        assert_eq!((applied.fresh, view.entries.len(), view.revision), (2, 2, 5));
        let one = |kv| Entries::from([("a".to_owned(), kv)]);
        let recreated = diff(&one(kv(5, 5)), &one(kv(7, 7)));
        assert!(matches!(recreated[..], [Diff::Recreated { .. }]));
        let changed = diff(&one(kv(5, 5)), &one(kv(5, 7)));
        assert!(matches!(changed[..], [Diff::Changed { .. }]));
    }
}
