//! The real's side: which processes hold ghosts of it, and what they are told.
//!
//! Invariants: at the end of a tick each host of a real has been told exactly the look that the
//! table of looks has for it, or a whole ghost is due to it; a host has one number per real, and a
//! number names one real; between a real's freeze and its thaw or end nothing is said about it.
//!
//! ```text
//!                  near                    told whole
//!   not a host ----------> host, whole due ----------> host, told by deltas
//!       ^                         ^                         |    |
//!       |                         +--- asked for it, jumped-+    |
//!       +---------- out of reach and lived long enough ----------+
//! ```

mod flush;
#[cfg(test)]
mod tests;
mod types;

pub use types::{Beginning, GhostRange, Handed, NewReal};

use super::{GhostOut, Reach};
use crate::interest::{Advanced, COORDINATE_MAX, Looks, Shown, ghosted_props, inside, pose_of};
use indexmap::IndexMap;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::CellToCell;
use marchland_common::order::{EntityId, Epoch, Node, Seq, Tick};
use marchland_common::world::{KindDef, Place, Value};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use types::{Due, Haunt, Host, Link};

/// The ghosts of all reals of this process. See the module for its invariants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Haunts {
    me: Node,
    range: GhostRange,
    reach: Reach,
    /// Its own order is never used.
    haunts: IndexMap<EntityId, Haunt, FxBuildHasher>,
    links: BTreeMap<Node, Link>,
    round: u64,
    /// Whose hosts have to be found again.
    unsettled: BTreeSet<EntityId>,
    /// When a host may be given up that is out of reach already.
    expiries: BTreeSet<(Tick, EntityId)>,
    /// Who owes somebody a whole ghost.
    wholes: BTreeSet<EntityId>,
    /// Whose change goes out with this tick; empty between two ticks.
    #[serde(skip)]
    changed: Vec<EntityId>,
}

impl Haunts {
    /// No real yet. Distances out of range become the nearest ones in it.
    #[must_use]
    pub fn new(me: Node, range: GhostRange) -> Self {
        let within = |mm: i32| mm.clamp(0, COORDINATE_MAX);
        let (distance, margin) = (within(range.distance), within(range.margin));
        let range = GhostRange { distance, margin, ..range };
        Self {
            me,
            range,
            reach: Reach::default(),
            haunts: IndexMap::default(),
            links: BTreeMap::new(),
            round: 1,
            unsettled: BTreeSet::new(),
            expiries: BTreeSet::new(),
            wholes: BTreeSet::new(),
            changed: Vec::new(),
        }
    }

    /// Takes a new geometry: a layout or the membership changed. All hosts are found again.
    pub fn set_reach(&mut self, reach: Reach) {
        if self.reach != reach {
            self.reach = reach;
            self.unsettled.extend(self.haunts.keys().copied());
        }
    }

    /// A real begins here: it is shown, and the hosts of its ghosts are told who owns it now.
    ///
    /// Call it in ingress, after [`super::Mirrors::take_over`], before the real is simulated: the
    /// state must still be the one that was offloaded.
    pub fn begin(
        &mut self,
        real: &NewReal<'_>,
        from: Beginning<'_>,
        now: Tick,
        looks: &mut Looks,
        out: &mut GhostOut,
    ) {
        let NewReal { entity, epoch, kind, place, props } = *real;
        let (seq, since) = match from {
            Beginning::Birth | Beginning::Restore => {
                (looks.get(entity).map_or(Seq(1), |look| look.seq().next()), epoch)
            }
            Beginning::Handoff { ghost_seq, ghost_since, .. } => (ghost_seq, ghost_since),
        };
        looks.show(
            entity,
            Shown {
                kind: kind.id,
                space: place.space,
                pose: pose_of(&place),
                epoch,
                seq,
                since,
                props: ghosted_props(kind, props),
                is_real: true,
            },
        );
        let haunt = Haunt {
            epoch,
            space: place.space,
            pos: inside(place.pos),
            checked: inside(place.pos),
            slack: 0,
            is_frozen: false,
            round: 0,
            hosts: Vec::new(),
        };
        let old = self.haunts.insert(entity, haunt);
        assert!(old.is_none(), "a real ends before it begins again");
        self.unsettled.insert(entity);
        if let Beginning::Handoff { from, hosts, .. } = from {
            self.adopt(entity, from, hosts, now, looks, out);
        }
    }

    fn adopt(
        &mut self,
        entity: EntityId,
        from: Node,
        hosts: &[Node],
        now: Tick,
        looks: &Looks,
        out: &mut GhostOut,
    ) {
        let Some(look) = looks.get(entity) else { return };
        let (epoch, seq, digest) = (look.epoch(), look.seq(), look.digest());
        let hosts: BTreeSet<Node> =
            hosts.iter().copied().chain([from]).filter(|node| *node != self.me).collect();
        for node in &hosts {
            let index = self.links.entry(*node).or_default().indexes.give(entity);
            self.haunts[&entity].hosts.push(Host {
                node: *node,
                index,
                since: now,
                whole_due: false,
            });
            out.send(*node, CellToCell::GhostAdopt { entity, epoch, seq, digest, index });
        }
        if !hosts.is_empty() {
            out.events.push(Event::GhostFlushed { entity, epoch, seq, digest });
        }
    }

    /// Brings a real that changed up to date. `dirty` says which properties may have changed, by
    /// bit. Call it in SyncBuild, once for each real that changed: a second call in a tick costs a
    /// whole ghost. A frozen real stays as it was handed over.
    pub fn touch(
        &mut self,
        entity: EntityId,
        kind: &KindDef,
        place: &Place,
        (props, dirty): (&[Value], u32),
        looks: &mut Looks,
    ) {
        let haunt = self.haunts.get_mut(&entity).filter(|haunt| !haunt.is_frozen);
        let Some(haunt) = haunt else { return };
        let is_second = std::mem::replace(&mut haunt.round, self.round) == self.round;
        let told = dirty_props(kind, props, dirty);
        let change = looks.advance(entity, place.space, pose_of(place), told, false);
        (haunt.space, haunt.pos) = (place.space, inside(place.pos));
        let moved_sq = haunt.checked.distance_sq(haunt.pos);
        if change.jumped || moved_sq >= haunt.slack * haunt.slack {
            self.unsettled.insert(entity);
        }
        if change.fields == 0 {
            return;
        }
        let mut told = false;
        for host in &mut haunt.hosts {
            let link = self.links.entry(host.node).or_default();
            if change.jumped || is_second {
                link.due.retain(|due| due.entity != entity);
                host.whole_due = true;
                self.wholes.insert(entity);
            } else if !host.whole_due {
                let (index, Advanced { pose, fields, .. }) = (host.index, change);
                link.due.push(Due { index, entity, pose, fields });
                told = true;
            }
        }
        if told {
            self.changed.push(entity);
        }
    }

    /// Freezes a real for its handoff and returns what travels. Call it after the flush of its last
    /// tick here. None if the real is not known.
    pub fn freeze(&mut self, entity: EntityId, looks: &Looks) -> Option<Handed> {
        let haunt = self.haunts.get_mut(&entity)?;
        haunt.is_frozen = true;
        let look = looks.get(entity)?;
        let hosts = haunt.hosts.iter().map(|host| host.node).collect();
        Some(Handed { ghost_seq: look.seq(), ghost_since: look.since(), hosts })
    }

    /// The handoff was called off: the real goes on.
    pub fn thaw(&mut self, entity: EntityId) {
        if let Some(haunt) = self.haunts.get_mut(&entity) {
            haunt.is_frozen = false;
            self.unsettled.insert(entity);
        }
    }

    /// The entity ended with this owner: every ghost goes, and so does its look.
    pub fn destroy(&mut self, entity: EntityId, looks: &mut Looks, out: &mut GhostOut) {
        let gone = |_, epoch| CellToCell::GhostRemove { entity, epoch, destroyed: true };
        if self.drop_haunt(entity, out, gone) {
            looks.remove(entity);
        }
    }

    /// The real ended here, but the entity goes on elsewhere: released, fenced or replaced. Hosts
    /// keep their ghosts for the next owner. What becomes of the look is the caller's choice.
    pub fn disown(&mut self, entity: EntityId, out: &mut GhostOut) {
        let gone = |index, epoch| CellToCell::GhostDisown { entity, epoch, index };
        self.drop_haunt(entity, out, gone);
    }

    fn drop_haunt(
        &mut self,
        entity: EntityId,
        out: &mut GhostOut,
        gone: impl Fn(u32, Epoch) -> CellToCell,
    ) -> bool {
        let Some(haunt) = self.haunts.swap_remove(&entity) else { return false };
        for host in &haunt.hosts {
            self.give_back(host);
            out.send(host.node, gone(host.index, haunt.epoch));
        }
        self.unsettled.remove(&entity);
        self.wholes.remove(&entity);
        true
    }

    fn give_back(&mut self, host: &Host) {
        if let Some(link) = self.links.get_mut(&host.node) {
            link.indexes.take_back(host.index);
            if link.indexes.is_empty() && link.due.is_empty() {
                self.links.remove(&host.node);
            }
        }
    }

    /// A host asks for a whole ghost. It gets one at the next flush, if it has a ghost of a real
    /// that is owned here under that epoch.
    pub fn need_snapshot(
        &mut self,
        from: Node,
        entity: EntityId,
        epoch: Epoch,
        out: &mut GhostOut,
    ) {
        let haunt = self.haunts.get_mut(&entity).filter(|haunt| haunt.epoch == epoch);
        match haunt.and_then(|haunt| haunt.hosts.iter_mut().find(|host| host.node == from)) {
            Some(host) => {
                host.whole_due = true;
                self.wholes.insert(entity);
            }
            None => out.refuse(Refused::GhostStale, Some(from), Some(entity), 1),
        }
    }

    /// A life is gone for ever: it holds no ghosts any more.
    pub fn forget_host(&mut self, node: Node) {
        let Some(link) = self.links.remove(&node) else { return };
        for entity in link.indexes.entities() {
            if let Some(haunt) = self.haunts.get_mut(&entity) {
                haunt.hosts.retain(|host| host.node != node);
                self.unsettled.insert(entity);
            }
        }
    }

    /// Messages to a life that goes on were lost: it gets all its ghosts anew.
    pub fn restart_host(&mut self, node: Node) {
        let Some(link) = self.links.get(&node) else { return };
        for entity in link.indexes.entities() {
            let hosts = self.haunts.get_mut(&entity).map(|haunt| haunt.hosts.iter_mut());
            for host in hosts.into_iter().flatten().filter(|host| host.node == node) {
                host.whole_due = true;
                self.wholes.insert(entity);
            }
        }
    }

    /// How many reals there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.haunts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.haunts.is_empty()
    }

    /// Whether there is no real and nothing is kept of earlier ones.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let nothing_due = self.unsettled.is_empty() && self.expiries.is_empty();
        self.is_empty() && self.links.is_empty() && nothing_due && self.wholes.is_empty()
    }

    /// Who holds ghosts of a real, by name and life.
    #[must_use]
    pub fn hosts(&self, entity: EntityId) -> Vec<Node> {
        let hosts = self.haunts.get(&entity).map(|haunt| haunt.hosts.iter());
        hosts.into_iter().flatten().map(|host| host.node).collect()
    }
}

/// The new values of the ghosted properties that may have changed.
fn dirty_props<'a>(
    kind: &'a KindDef,
    props: &'a [Value],
    dirty: u32,
) -> impl Iterator<Item = (u8, Value)> + 'a {
    let count = if dirty == 0 { 0 } else { props.len() };
    (0_u8..)
        .zip(kind.props.iter().zip(props))
        .take(count)
        .filter(move |(index, (def, _))| dirty >> index & 1 == 1 && def.scope.is_ghosted())
        .map(|(index, (_, value))| (index, value.clone()))
}
