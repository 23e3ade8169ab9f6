//! The end of a tick for the ghosts of this process's reals: hosts come and go, whole ghosts are
//! sent where one is due, and everything else of a host goes into one packed block.

use super::types::{Due, Host, Link};
use super::{GhostOut, Haunts};
use crate::interest::{HEADING, Look, Looks, POSITION, as_prop};
use marchland_codec_core::{DeltaFields, DeltaWriter, Prop, PushError};
use marchland_common::journal::Event;
use marchland_common::msg::{CellToCell, GhostCreate};
use marchland_common::order::{EntityId, Node, Tick};
use marchland_common::world::Place;
use std::collections::BTreeSet;

impl Haunts {
    /// Sends what this tick changed. Call it once a tick in SyncBuild, after every
    /// [`touch`](Self::touch).
    pub fn flush(&mut self, now: Tick, looks: &Looks, out: &mut GhostOut) {
        while let Some((when, entity)) = self.expiries.first().copied() {
            if when > now {
                break;
            }
            self.expiries.pop_first();
            self.unsettled.insert(entity);
        }
        for entity in std::mem::take(&mut self.unsettled) {
            self.settle_hosts(entity, now, out);
        }
        let mut told = std::mem::take(&mut self.changed);
        self.send_wholes(looks, out, &mut told);
        self.send_deltas(now, looks, out);
        told.sort_unstable();
        told.dedup();
        out.events.reserve(told.len());
        for look in told.iter().filter_map(|entity| looks.get(*entity)) {
            let (entity, epoch, seq) = (look.id(), look.epoch(), look.seq());
            out.events.push(Event::GhostFlushed { entity, epoch, seq, digest: look.digest() });
        }
        told.clear();
        self.changed = told;
        self.round += 1;
    }

    /// Finds the hosts of one real, and how far it can go before they change.
    fn settle_hosts(&mut self, entity: EntityId, now: Tick, out: &mut GhostOut) {
        let Some(haunt) = self.haunts.get_mut(&entity).filter(|haunt| !haunt.is_frozen) else {
            return;
        };
        let enter = i64::from(self.range.distance);
        let leave = enter + i64::from(self.range.margin);
        // Looking as far again ahead bounds how often a real deep inside is looked at.
        let ahead = i32::try_from(leave + enter.max(1)).unwrap_or(i32::MAX);
        let near = self.reach.near(haunt.space, haunt.pos, ahead);
        let mut slack = i64::from(ahead) - leave;
        let (mut come, mut gone) = (Vec::new(), Vec::new());
        let mut expiry: Option<Tick> = None;
        for host in &haunt.hosts {
            let until = Tick(host.since.0.saturating_add(self.range.min_life));
            let at = near.binary_search_by_key(&host.node, |n| n.node);
            if at.is_ok_and(|at| near[at].distance_sq <= leave * leave) {
                continue;
            }
            if until <= now {
                gone.push(*host);
            } else {
                expiry = Some(expiry.map_or(until, |first| first.min(until)));
            }
        }
        for near in &near {
            let distance = root(near.distance_sq);
            let is_within = near.distance_sq <= enter * enter;
            let was_host = haunt.hosts.iter().any(|host| host.node == near.node);
            let is_gone = gone.iter().any(|host| host.node == near.node);
            if is_within && !was_host {
                come.push(near.node);
            }
            slack = match is_within || (was_host && !is_gone) {
                // Beyond the margin already: the end of its life brings the next look.
                true if near.distance_sq > leave * leave => slack,
                true => slack.min(leave - distance - 1),
                false => slack.min(distance - enter),
            };
        }
        (haunt.checked, haunt.slack) = (haunt.pos, slack.max(0));
        self.expiries.extend(expiry.map(|until| (until, entity)));
        gone.iter().for_each(|host| self.end_host(entity, host, out));
        come.into_iter().for_each(|node| self.begin_host(entity, node, now));
    }

    fn end_host(&mut self, entity: EntityId, host: &Host, out: &mut GhostOut) {
        let haunt = &mut self.haunts[&entity];
        haunt.hosts.retain(|other| other.node != host.node);
        let epoch = haunt.epoch;
        self.give_back(host);
        out.send(host.node, CellToCell::GhostRemove { entity, epoch, destroyed: false });
    }

    fn begin_host(&mut self, entity: EntityId, node: Node, now: Tick) {
        let index = self.links.entry(node).or_default().indexes.give(entity);
        let hosts = &mut self.haunts[&entity].hosts;
        let at = hosts.partition_point(|host| host.node < node);
        hosts.insert(at, Host { node, index, since: now, whole_due: true });
        self.wholes.insert(entity);
    }

    fn send_wholes(&mut self, looks: &Looks, out: &mut GhostOut, told: &mut Vec<EntityId>) {
        let mut kept = BTreeSet::new();
        for entity in std::mem::take(&mut self.wholes) {
            let Some(haunt) = self.haunts.get_mut(&entity) else { continue };
            if haunt.is_frozen {
                kept.insert(entity);
                continue;
            }
            let Some(look) = looks.get(entity) else { continue };
            let digest = look.digest();
            for host in haunt.hosts.iter_mut().filter(|host| host.whole_due) {
                host.whole_due = false;
                told.push(entity);
                out.send(host.node, whole(look, host.index, digest));
            }
        }
        self.wholes = kept;
    }

    fn send_deltas(&mut self, now: Tick, looks: &Looks, out: &mut GhostOut) {
        let mut writer = DeltaWriter::new();
        let mut failed = Vec::new();
        for (node, link) in &mut self.links {
            if !link.due.is_empty() {
                pack(*node, link, now, looks, &mut writer, out, &mut failed);
            }
        }
        for (node, entity) in failed {
            let hosts = self.haunts.get_mut(&entity).map(|haunt| haunt.hosts.iter_mut());
            for host in hosts.into_iter().flatten().filter(|host| host.node == node) {
                host.whole_due = true;
                self.wholes.insert(entity);
            }
        }
        self.links.retain(|_, link| !link.indexes.is_empty());
    }
}

fn whole(look: &Look, index: u32, digest: u64) -> CellToCell {
    CellToCell::GhostCreate(GhostCreate {
        entity: look.id(),
        epoch: look.epoch(),
        seq: look.seq(),
        index,
        kind: look.kind(),
        place: Place { space: look.space(), pos: look.pos(), heading: look.heading() },
        props: look.props().to_vec(),
        digest,
        since: look.since(),
    })
}

/// Packs the deltas of one host, by number. What does not fit any block is told whole next time.
fn pack(
    node: Node,
    link: &mut Link,
    now: Tick,
    looks: &Looks,
    writer: &mut DeltaWriter,
    out: &mut GhostOut,
    failed: &mut Vec<(Node, EntityId)>,
) {
    let mut due = std::mem::take(&mut link.due);
    due.sort_unstable_by_key(|due| due.index);
    writer.begin(now);
    // A number that was given back in this tick may belong to another real already.
    for due in due.iter().filter(|due| link.indexes.entity(due.index) == Some(due.entity)) {
        let mut pushed = push(writer, due, looks);
        if pushed == Err(PushError::Full) {
            out.deltas += writer.count() as usize;
            out.send(node, CellToCell::GhostDeltas(writer.finish_bytes()));
            writer.begin(now);
            pushed = push(writer, due, looks);
        }
        if pushed.is_err() {
            failed.push((node, due.entity));
        }
    }
    if writer.count() > 0 {
        out.deltas += writer.count() as usize;
        out.send(node, CellToCell::GhostDeltas(writer.finish_bytes()));
    }
    due.clear();
    link.due = due;
}

fn push(writer: &mut DeltaWriter, due: &Due, looks: &Looks) -> Result<(), PushError> {
    if due.fields & !(POSITION | HEADING) == 0 {
        return writer.push(due.index, &DeltaFields { pose: due.pose, props: &[] });
    }
    let all = looks.get(due.entity).map_or(&[][..], Look::props);
    let told = all.iter().filter(|(index, _)| due.fields >> index & 1 == 1);
    let props: Vec<Prop<'_>> = told.map(as_prop).collect();
    writer.push(due.index, &DeltaFields { pose: due.pose, props: &props })
}

/// The distance of a squared one, rounded down.
const fn root(distance_sq: i64) -> i64 {
    distance_sq.unsigned_abs().isqrt() as i64
}
