//! What a process knows of the store: a full list at a revision, and every later event of its
//! watch. A watch is a hint: whatever it says of the past changes nothing, and whenever it ends or
//! its place in the history is gone, everything is listed again.

use crate::store::{Store, layout_of, member_of, slot_of, tombstone_of};
use marchland_common::cluster::{MapChange, Member, SlotOwner};
use marchland_common::order::{Incarnation, NodeName, SlotId, SpaceId};
use marchland_common::world::Layout;
use marchland_standin_core::{
    Event, EventKind, KeyRange, KeyValue, Revision, WatchCursor, WatchPoll,
};
use std::collections::{BTreeMap, BTreeSet};

/// What one look at a watch found.
pub(crate) enum Seen {
    /// Nothing, or events.
    News,
    /// The watch is over: list.
    Over,
}

/// How a watch misbehaves at one look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Misbehaviour {
    /// It loses what it has to tell.
    pub(crate) loses: bool,
    /// It begins with so many revisions of the past.
    pub(crate) goes_back: Revision,
    /// It ends.
    pub(crate) ends: bool,
}

#[derive(Default)]
pub(crate) struct Watch {
    cursor: Option<WatchCursor>,
    revision: Revision,
    entries: BTreeMap<Vec<u8>, KeyValue>,
    told: Map,
}

/// What a core was told.
#[derive(Default, PartialEq, Eq)]
struct Map {
    members: Vec<Member>,
    slots: Vec<SlotOwner>,
    layouts: BTreeMap<SpaceId, Layout>,
    dead: BTreeSet<Incarnation>,
}

impl Watch {
    /// Takes a full list and watches from there on.
    pub(crate) fn list(&mut self, store: &mut Store, now: u64) {
        let (revision, kvs) = store.list(now, "");
        self.entries = kvs.into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        self.revision = revision;
        self.cursor = Some(store.watch_from(revision + 1));
    }

    /// Looks what the watch has to tell.
    pub(crate) fn poll(&mut self, store: &Store, how: Misbehaviour) -> Seen {
        let Some(mut cursor) = self.cursor.take().filter(|_| !how.ends) else { return Seen::Over };
        if how.goes_back > 0 {
            // Not behind what can be told at all, or the watch would be over.
            let back = (cursor.next_revision - how.goes_back).max(store.oldest());
            cursor.next_revision = cursor.next_revision.min(back);
        }
        loop {
            match store.poll(&mut cursor) {
                WatchPoll::Idle => {
                    self.cursor = Some(cursor);
                    return Seen::News;
                }
                WatchPoll::Events { .. } if how.loses => {}
                WatchPoll::Events { events, .. } => {
                    let known = self.revision;
                    events.into_iter().for_each(|event| self.apply(known, event));
                }
                WatchPoll::Compacted { .. } | WatchPoll::Canceled => return Seen::Over,
            }
        }
    }

    fn apply(&mut self, known: Revision, event: Event) {
        if event.kv.mod_revision <= known {
            return;
        }
        self.revision = self.revision.max(event.kv.mod_revision);
        match event.kind {
            EventKind::Put => drop(self.entries.insert(event.kv.key.clone(), event.kv)),
            EventKind::Delete => drop(self.entries.remove(&event.kv.key)),
        }
    }

    /// What a core was not told yet, members before what refers to them.
    pub(crate) fn news(&mut self) -> Vec<MapChange> {
        let map = Map {
            members: self.entries.values().filter_map(member_of).collect(),
            slots: self.entries.values().filter_map(slot_of).collect(),
            layouts: self.entries.values().filter_map(layout_of).map(|l| (l.space, l)).collect(),
            dead: self.entries.values().filter_map(tombstone_of).collect(),
        };
        let old = std::mem::replace(&mut self.told, map);
        let (old, new) = (&old, &self.told);
        let mut news = Vec::new();
        if old.members != new.members {
            news.push(MapChange::Members(new.members.clone()));
        }
        if old.slots != new.slots {
            news.push(MapChange::Slots(new.slots.clone()));
        }
        let changed = new.layouts.iter().filter(|(space, l)| old.layouts.get(space) != Some(l));
        news.extend(changed.map(|(_, layout)| MapChange::Layout(layout.clone())));
        let died: Vec<Incarnation> = new.dead.difference(&old.dead).copied().collect();
        if !died.is_empty() {
            news.push(MapChange::Dead(died));
        }
        news
    }

    /// The members, as it knows them.
    pub(crate) fn members(&self) -> &[Member] {
        &self.told.members
    }

    /// Who keeps a slot, as far as it knows.
    pub(crate) fn keeper(&self, slot: SlotId) -> Option<NodeName> {
        self.told.slots.iter().find(|owner| owner.slot == slot).map(|owner| owner.base)
    }

    /// Whether it knows that a life was declared dead.
    pub(crate) fn is_dead(&self, life: Incarnation) -> bool {
        self.told.dead.contains(&life)
    }
}

/// The range of everything.
pub(crate) fn everything() -> KeyRange {
    KeyRange::prefix(Vec::new())
}
