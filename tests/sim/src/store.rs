//! The coordination store: the stand-in's state machine, and the transactions that processes and
//! the manager make in it.

use crate::watch::everything;
use marchland_common::cluster::{Member, MemberState, SlotOwner};
use marchland_common::order::{Incarnation, Node, NodeName, SlotId, SpaceId, Term};
use marchland_common::world::Layout;
use marchland_frontier_core::spaces;
use marchland_manager_core::{Facts, SpaceSpec, Write};
use marchland_standin_core::{
    Compare, CompareResult, CompareTarget, Config, DeleteRangeRequest, Handled, KeyRange, KeyValue,
    OpRequest, PutRequest, RangeRequest, Request, Response, Revision, Standin, TxnRequest,
    WatchCursor, WatchPoll,
};
use std::collections::{BTreeMap, BTreeSet};

/// How long a lease lives without being renewed, in seconds.
pub(crate) const TTL_S: i64 = 5;

/// What the value of a member that drains ends with.
const DRAINING: &str = " drains";

pub(crate) struct Store {
    standin: Standin,
    leases: i64,
    /// How long the store's own clock stood still before the present absence.
    lag_us: u64,
    /// Since when and until when nobody is answered, and whether its clock stands still meanwhile.
    away: (u64, u64),
    clock_stops: bool,
    /// Lives that drain.
    draining: BTreeSet<Node>,
}

/// What became of an attempt to take a name.
pub(crate) enum Claim {
    Ours(Node, i64),
    /// The key changed meanwhile: look again.
    Again,
}

/// What a renewal found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    Renewed(i64),
    /// This life was declared dead, or its name is another's.
    Over,
}

impl Store {
    pub(crate) fn new() -> Self {
        let standin = Standin::new(Config::default());
        let draining = BTreeSet::new();
        Self { standin, leases: 0, lag_us: 0, away: (0, 0), clock_stops: false, draining }
    }

    /// Answers nobody for a while. Its clock may stand still meanwhile, as that of a stopped
    /// process whose leases are given their whole time again.
    pub(crate) fn go_away(&mut self, now: u64, for_us: u64, clock_stops: bool) {
        self.lag_us += self.stood_still(now);
        (self.away, self.clock_stops) = ((now, now + for_us), clock_stops);
    }

    pub(crate) fn come_back(&mut self, now: u64) {
        self.away.1 = self.away.1.min(now).max(self.away.0);
    }

    pub(crate) const fn is_away(&self, now: u64) -> bool {
        now < self.away.1
    }

    fn stood_still(&self, now: u64) -> u64 {
        if self.clock_stops { now.min(self.away.1) - self.away.0 } else { 0 }
    }

    fn clock_ms(&self, now: u64) -> u64 {
        now.saturating_sub(self.lag_us + self.stood_still(now)) / 1_000
    }

    fn handle(&mut self, now: u64, request: Request) -> Response {
        match self.standin.handle(self.clock_ms(now), request).handled {
            Handled::Answered(Ok(reply)) => reply.body,
            other => unreachable!("a plain request succeeds: {other:?}"),
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.standin.revision()
    }

    /// Takes leases away that ran out by now.
    pub(crate) fn expire(&mut self, now: u64) {
        drop(self.standin.expire(self.clock_ms(now)));
    }

    /// The oldest revision that a watch may ask for.
    pub(crate) fn oldest(&self) -> Revision {
        self.standin.compacted().max(1)
    }

    pub(crate) fn compact(&mut self, now: u64) {
        let revision = self.revision();
        if revision > self.standin.compacted() {
            self.handle(now, Request::Compact { revision });
        }
    }

    pub(crate) fn watch_from(&self, revision: Revision) -> WatchCursor {
        self.standin.watch(everything(), revision)
    }

    pub(crate) fn poll(&self, cursor: &mut WatchCursor) -> WatchPoll {
        self.standin.poll_watch(cursor, self.revision())
    }

    pub(crate) fn list(&mut self, now: u64, prefix: &str) -> (Revision, Vec<KeyValue>) {
        let range = RangeRequest { range: KeyRange::prefix(prefix), ..RangeRequest::default() };
        match self.handle(now, Request::Range(range)) {
            Response::Range(range) => (self.revision(), range.kvs),
            other => unreachable!("a range answers with a range, not {other:?}"),
        }
    }

    fn get(&mut self, now: u64, key: &str) -> Option<KeyValue> {
        let (_, kvs) = self.list(now, key);
        kvs.into_iter().find(|kv| kv.key == key.as_bytes())
    }

    fn txn(&mut self, now: u64, compare: Vec<Compare>, success: Vec<OpRequest>) -> bool {
        let txn = TxnRequest { compare, success, failure: Vec::new() };
        match self.handle(now, Request::Txn(txn)) {
            Response::Txn(txn) => txn.succeeded,
            other => unreachable!("a transaction answers as one, not {other:?}"),
        }
    }

    fn grant(&mut self, now: u64) -> i64 {
        self.leases += 1;
        let id = self.leases;
        self.handle(now, Request::LeaseGrant { id, ttl_s: TTL_S });
        id
    }

    /// Takes a name whose last holder, if its key is there, nobody answers for: one transaction
    /// writes the tombstone of that life and registers this one.
    pub(crate) fn claim(&mut self, now: u64, name: NodeName) -> Claim {
        let key = member_key(name);
        let lease = self.grant(now);
        let holder = self.get(now, &key);
        let mut success = Vec::new();
        let guard = match &holder {
            None => absent(&key),
            Some(kv) => {
                let old = member_of(kv).map_or(Incarnation(0), |m| m.node.incarnation);
                success.push(put(&dead_key(old), b"replaced".to_vec(), 0));
                unchanged(&key, kv.mod_revision)
            }
        };
        success.push(put(&key, Vec::new(), lease));
        if !self.txn(now, vec![guard], success) {
            return Claim::Again;
        }
        let kv = self.get(now, &key);
        let member = kv.as_ref().and_then(member_of);
        match member {
            Some(member) => Claim::Ours(member.node, lease),
            None => Claim::Again,
        }
    }

    /// Renews a lease; where it is gone, registers the same life again, unless that is over.
    pub(crate) fn renew(&mut self, now: u64, node: Node, lease: i64) -> Renewal {
        let key = member_key(node.name);
        let renewed = match self.handle(now, Request::LeaseKeepAlive { id: lease }) {
            Response::LeaseKeepAlive { ttl_s, .. } => ttl_s > 0,
            other => unreachable!("a renewal answers as one, not {other:?}"),
        };
        let kv = self.get(now, &key);
        let holder = kv.as_ref().and_then(member_of);
        match holder {
            Some(member) if member.node == node && renewed => return Renewal::Renewed(lease),
            Some(member) if member.node != node => return Renewal::Over,
            _ => {}
        }
        let lease = self.grant(now);
        let guards = vec![absent(&dead_key(node.incarnation)), absent(&key)];
        let value = self.member_value(node);
        match self.txn(now, guards, vec![put(&key, value, lease)]) {
            true => Renewal::Renewed(lease),
            false => Renewal::Over,
        }
    }

    fn member_value(&self, node: Node) -> Vec<u8> {
        let state = if self.draining.contains(&node) { DRAINING } else { "" };
        format!("{}{state}", node.incarnation.0).into_bytes()
    }

    /// A life says that it drains, or that it serves.
    pub(crate) fn set_draining(&mut self, now: u64, node: Node, lease: i64, drains: bool) {
        match drains {
            true => self.draining.insert(node),
            false => self.draining.remove(&node),
        };
        let key = member_key(node.name);
        let Some(kv) = self.get(now, &key) else { return };
        if member_of(&kv).is_some_and(|member| member.node == node) && kv.lease == lease {
            let value = self.member_value(node);
            let guard = unchanged(&key, kv.mod_revision);
            self.txn(now, vec![guard], vec![put(&key, value, lease)]);
        }
    }

    /// Whatever earlier lives of a name said of draining is over.
    pub(crate) fn forget_drains(&mut self, name: NodeName) {
        self.draining.retain(|node| node.name != name);
    }

    /// The lives that drain.
    pub(crate) const fn draining(&self) -> &BTreeSet<Node> {
        &self.draining
    }

    /// Gives a life up: its tombstone, and the end of its registration.
    pub(crate) fn bury(&mut self, now: u64, node: Node) {
        let key = member_key(node.name);
        let stone = put(&dead_key(node.incarnation), b"verdict".to_vec(), 0);
        let kv = self.get(now, &key);
        let is_its = kv.as_ref().and_then(member_of).is_some_and(|member| member.node == node);
        let mut success = vec![stone];
        success.extend(is_its.then(|| delete(&key)));
        self.txn(now, Vec::new(), success);
    }

    /// Takes every lease away.
    pub(crate) fn kill_leases(&mut self, now: u64) {
        let Response::Leases(ids) = self.handle(now, Request::Leases) else { return };
        for id in ids {
            self.handle(now, Request::LeaseRevoke { id });
        }
    }

    pub(crate) fn members(&mut self, now: u64) -> Vec<Member> {
        self.list(now, "member/").1.iter().filter_map(member_of).collect()
    }

    pub(crate) fn layouts(&mut self, now: u64) -> BTreeMap<SpaceId, Layout> {
        let layouts = self.list(now, "space/").1;
        layouts.iter().filter_map(layout_of).map(|l| (l.space, l)).collect()
    }

    pub(crate) fn facts(&mut self, now: u64) -> Facts {
        let spec = |s: &marchland_frontier_core::SpaceSpec| {
            (s.id, SpaceSpec { id: s.id, bounds: s.bounds, cells: s.cells })
        };
        Facts {
            members: self.members(now),
            dead: self.list(now, "dead/").1.iter().filter_map(tombstone_of).collect(),
            slots: self.list(now, "slot/").1.iter().filter_map(slot_of).collect(),
            layouts: self.layouts(now),
            specs: spaces().iter().map(spec).collect(),
            waited_enough: true,
            ..Facts::default()
        }
    }

    /// Writes what a manager plans. Returns how many slots changed their keeper.
    pub(crate) fn carry_out_plan(&mut self, now: u64, facts: &Facts, writes: Vec<Write>) -> u64 {
        let mut moved = 0;
        for write in writes {
            match write {
                Write::Slot(slot, base) => {
                    let owner = facts.slots.iter().find(|owner| owner.slot == slot);
                    let done = self.put_slot(now, slot, base, owner.map(|owner| owner.term));
                    moved += u64::from(done && owner.is_some_and(|owner| owner.base != base));
                }
                Write::TakeOver { slot, .. } => unreachable!("nobody is asked to take {slot} over"),
                Write::Layout(layout) => self.put_layout(now, &layout),
                Write::RemoveSpace(space) => unreachable!("space {space} was just asked for"),
            }
        }
        moved
    }

    /// Writes a slot's key, if it is as it was when that was planned.
    fn put_slot(&mut self, now: u64, slot: SlotId, base: NodeName, known: Option<Term>) -> bool {
        let key = format!("slot/{slot}");
        let guard = match known {
            Some(term) => unchanged(&key, term.0 as Revision),
            None => absent(&key),
        };
        self.txn(now, vec![guard], vec![put(&key, base.to_string().into_bytes(), 0)])
    }

    pub(crate) fn put_layout(&mut self, now: u64, layout: &Layout) {
        let value = postcard::to_stdvec(layout).unwrap_or_default();
        let key = format!("space/{}", layout.space);
        self.txn(now, Vec::new(), vec![put(&key, value, 0)]);
    }
}

fn member_key(name: NodeName) -> String {
    format!("member/{name}")
}

fn dead_key(life: Incarnation) -> String {
    format!("dead/{}", life.0)
}

fn put(key: &str, value: Vec<u8>, lease: i64) -> OpRequest {
    OpRequest::Put(PutRequest {
        key: key.as_bytes().to_vec(),
        value,
        lease,
        ..PutRequest::default()
    })
}

fn delete(key: &str) -> OpRequest {
    OpRequest::DeleteRange(DeleteRangeRequest { range: KeyRange::one(key), prev_kv: false })
}

fn absent(key: &str) -> Compare {
    compare(key, CompareTarget::Create(0))
}

fn unchanged(key: &str, revision: Revision) -> Compare {
    compare(key, CompareTarget::Mod(revision))
}

fn compare(key: &str, target: CompareTarget) -> Compare {
    Compare { range: KeyRange::one(key), target, result: CompareResult::Equal }
}

fn key_after<'a>(kv: &'a KeyValue, prefix: &str) -> Option<&'a str> {
    std::str::from_utf8(&kv.key).ok()?.strip_prefix(prefix)
}

/// The member that a key tells of. Its incarnation is the revision of its first value; later ones
/// name it.
pub(crate) fn member_of(kv: &KeyValue) -> Option<Member> {
    let name: NodeName = key_after(kv, "member/")?.parse().ok()?;
    let said = std::str::from_utf8(&kv.value).ok()?;
    let drains = said.strip_suffix(DRAINING);
    let life = drains.unwrap_or(said).parse().ok().unwrap_or(kv.mod_revision as u64);
    let node = Node::new(name.kind, name.number, life);
    let state = if drains.is_some() { MemberState::Draining } else { MemberState::Serving };
    Some(Member { node, state })
}

pub(crate) fn slot_of(kv: &KeyValue) -> Option<SlotOwner> {
    let slot: SlotId = key_after(kv, "slot/")?.parse().ok()?;
    let base = std::str::from_utf8(&kv.value).ok()?.parse().ok()?;
    Some(SlotOwner { slot, base, term: Term(kv.mod_revision as u64) })
}

pub(crate) fn layout_of(kv: &KeyValue) -> Option<Layout> {
    key_after(kv, "space/")?;
    postcard::from_bytes(&kv.value).ok()
}

pub(crate) fn tombstone_of(kv: &KeyValue) -> Option<Incarnation> {
    key_after(kv, "dead/")?.parse().ok()
}
