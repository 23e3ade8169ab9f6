//! The map of the cluster as it changes: from keys of the store to inputs of a core and addresses
//! of peers.
//!
//! Changes wait for the tick thread in a slot per subject, the newest of each; nothing piles up.
//! Values that do not parse are left out, counted and warned of; they hurt nobody else.

use super::protocol::{ProtocolMismatch, settled};
use crate::coord::{
    ClockValue, Entries, Key, KeyValue, Keys, LeaderInfo, LogValue, LossesValue, Member,
    MemberState, MetaValue, Revision, SlotValue, SpaceValue, Tombstone, WantedValue, Watcher,
    WatcherGone,
};
use crate::link::PeerAddr;
use crate::telemetry::Counters;
use marchland_common::cluster::{self, MapChange, SlotOwner};
use marchland_common::order::{Incarnation, NodeKind, NodeName, SpaceId, Term};
use marchland_common::world::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Why a process does not go on to its first tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfounded {
    /// The watcher was stopped.
    #[error(transparent)]
    Watcher(#[from] WatcherGone),
    /// The cluster speaks otherwise.
    #[error(transparent)]
    Protocol(#[from] ProtocolMismatch),
}

/// Everything that the store says, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// All registered processes.
    pub members: Vec<Member>,
    /// Who keeps which slot.
    pub slots: Vec<SlotOwner>,
    /// The logs of baseapps, each with the revision of its key.
    pub logs: BTreeMap<NodeName, (LogValue, Revision)>,
    /// The spaces and their layouts.
    pub spaces: BTreeMap<SpaceId, SpaceValue>,
    /// The revisions of the spaces' keys, to guard their next change.
    pub space_revisions: BTreeMap<SpaceId, Revision>,
    /// Lives that were declared dead.
    pub dead: BTreeSet<Incarnation>,
    /// Why.
    pub tombstones: BTreeMap<Incarnation, Tombstone>,
    /// The revision of the store at which all this stood.
    pub revision: Revision,
    /// The cluster's clock, once a manager set it.
    pub clock: Option<ClockValue>,
    /// The cluster's identity, once a manager wrote it.
    pub meta: Option<MetaValue>,
    /// The spaces that are to be there.
    pub wanted: BTreeMap<SpaceId, WantedValue>,
    /// The manager that leads.
    pub leader: Option<LeaderInfo>,
    /// How many losses of logs were accepted.
    pub losses: LossesValue,
}

impl Seen {
    /// Parses all keys of a cluster.
    #[must_use]
    pub fn parse(keys: &Keys, entries: &Entries, counters: &Counters) -> Self {
        let mut seen = Self::default();
        for (key, kv) in entries {
            if seen.take(keys, key, kv).is_none() {
                counters.counter("map_malformed").add(1);
                tracing::warn!(key, "a value in the store does not parse; it is left out");
            }
        }
        seen
    }

    fn take(&mut self, keys: &Keys, key: &str, kv: &KeyValue) -> Option<()> {
        match keys.parse(key)? {
            Key::Member(_) => self.members.push(Member::parse(key, kv).ok()?),
            Key::Slot(slot) => {
                let SlotValue { base } = kv.json(key).ok()?;
                let term = Term(kv.mod_revision.unsigned_abs());
                self.slots.push(SlotOwner { slot, base, term });
            }
            Key::Log(name) => {
                self.logs.insert(name, (kv.json(key).ok()?, kv.mod_revision));
            }
            Key::Space(id) => {
                let value: SpaceValue = kv.json(key).ok()?;
                (value.layout.space == id).then_some(())?;
                self.spaces.insert(id, value);
                self.space_revisions.insert(id, kv.mod_revision);
            }
            Key::Dead(incarnation) => {
                self.dead.insert(incarnation);
                self.tombstones.insert(incarnation, Tombstone::read(kv));
            }
            Key::Clock => self.clock = Some(kv.json(key).ok()?),
            Key::Meta => self.meta = Some(kv.json(key).ok()?),
            Key::Wanted(id) => {
                self.wanted.insert(id, kv.json(key).ok()?);
            }
            Key::Leader => self.leader = Some(kv.json(key).ok()?),
            Key::Losses => self.losses = kv.json(key).ok()?,
        }
        Some(())
    }

    /// The members as a core sees them: those that may own something.
    #[must_use]
    pub fn core_members(&self) -> Vec<cluster::Member> {
        let state = |m: &Member| match m.info.state {
            MemberState::Draining | MemberState::Leaving => cluster::MemberState::Draining,
            MemberState::Starting | MemberState::Ready => cluster::MemberState::Serving,
        };
        self.members
            .iter()
            .filter(|m| matches!(m.info.name.kind, NodeKind::Cell | NodeKind::Base))
            .map(|m| cluster::Member { node: m.node(), state: state(m) })
            .collect()
    }

    /// Where cellapps and baseapps are.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerAddr> {
        self.members
            .iter()
            .filter(|m| matches!(m.info.name.kind, NodeKind::Cell | NodeKind::Base))
            .map(|m| PeerAddr { node: m.node(), addr: m.info.link_addr.clone() })
            .collect()
    }
}

/// The newest of each subject that the tick thread has not taken.
#[derive(Debug, Default)]
pub struct MapNews {
    members: Option<Vec<cluster::Member>>,
    slots: Option<Vec<SlotOwner>>,
    layouts: BTreeMap<SpaceId, Option<Layout>>,
    dead: BTreeSet<Incarnation>,
}

impl MapNews {
    fn differ(&mut self, old: &Seen, new: &Seen) {
        if old.core_members() != new.core_members() {
            self.members = Some(new.core_members());
        }
        if old.slots != new.slots {
            self.slots = Some(new.slots.clone());
        }
        for (id, value) in &new.spaces {
            if old.spaces.get(id) != Some(value) {
                self.layouts.insert(*id, Some(value.layout.clone()));
            }
        }
        for id in old.spaces.keys().filter(|id| !new.spaces.contains_key(id)) {
            self.layouts.insert(*id, None);
        }
        self.dead.extend(new.dead.difference(&old.dead));
    }

    /// Everything that is new, as inputs of a core; members before what refers to them.
    pub fn take(&mut self) -> Vec<MapChange> {
        let news = std::mem::take(self);
        let members = news.members.map(MapChange::Members);
        let slots = news.slots.map(MapChange::Slots);
        let layouts = news.layouts.into_iter().map(|(id, layout)| match layout {
            Some(layout) => MapChange::Layout(layout),
            None => MapChange::SpaceGone(id),
        });
        let dead = Vec::from_iter(news.dead);
        let dead = (!dead.is_empty()).then_some(MapChange::Dead(dead));
        members.into_iter().chain(slots).chain(layouts).chain(dead).collect()
    }
}

/// Between two looks how old what is known of the store is, while nothing changes.
const AGE_EVERY: Duration = Duration::from_millis(200);

fn millis(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

/// Follows the store for one process. The gauge `watch_age_ms` says how long ago the store last
/// gave a sign of life.
#[derive(Clone)]
pub struct MapFeed {
    news: Arc<Mutex<MapNews>>,
    seen: watch::Receiver<Arc<Seen>>,
}

impl MapFeed {
    /// Follows `watcher`, which watches all keys of the cluster. `peers` is told the addresses
    /// whenever they change; it must not block.
    ///
    /// Must be called inside a tokio runtime; ends with the watcher, or when nobody holds the feed
    /// any more.
    pub fn spawn(
        keys: Keys,
        mut watcher: Watcher,
        counters: Counters,
        peers: impl Fn(&Seen) + Send + 'static,
    ) -> Self {
        let news = Arc::new(Mutex::new(MapNews::default()));
        let (publish, seen) = watch::channel(Arc::new(Seen::default()));
        let feed = Self { news: news.clone(), seen };
        let age = counters.counter("watch_age_ms");
        tokio::spawn(async move {
            loop {
                let change = tokio::select! {
                    change = watcher.changed() => Some(change),
                    () = sleep(AGE_EVERY) => None,
                    () = publish.closed() => return,
                };
                age.set(watcher.age().map_or(0, millis));
                let Some(change) = change else { continue };
                let Ok(change) = change else { return };
                let old = publish.borrow().clone();
                let seen = Seen::parse(&keys, &change.snapshot, &counters);
                let new = Arc::new(Seen { revision: change.revision, ..seen });
                news.lock().unwrap_or_else(PoisonError::into_inner).differ(&old, &new);
                if old.members != new.members || old.dead != new.dead {
                    peers(&new);
                }
                publish.send_replace(new);
            }
        });
        feed
    }

    /// What the tick thread has not seen yet. Never waits for more than a moment's copying.
    #[must_use]
    pub fn take(&self) -> Vec<MapChange> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Everything as it is now.
    #[must_use]
    pub fn seen(&self) -> Arc<Seen> {
        self.seen.borrow().clone()
    }

    /// Waits until a manager has founded the cluster, or says that it speaks what this build does:
    /// its identity and its clock.
    ///
    /// # Errors
    /// [`Unfounded`]: the watcher was stopped before, or who leads speaks another protocol.
    pub async fn founded(&self) -> Result<(MetaValue, ClockValue), Unfounded> {
        let mut seen = self.seen.clone();
        let both = |s: &Seen| settled(s).zip(s.clock);
        let seen = seen.wait_for(|s| both(s).is_some()).await;
        let seen = seen.map_err(|_| WatcherGone)?.clone();
        let (meta, clock) = both(&seen).ok_or(WatcherGone)?;
        Ok((meta?, clock))
    }

    /// A receiver of everything as it changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Seen>> {
        self.seen.clone()
    }
}
