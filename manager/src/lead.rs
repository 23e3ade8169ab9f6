//! Leading: while the leader key is held, facts become plans and plans become guarded writes.

use crate::carrier::{Orders, Reported, carry};
use crate::fan_out::health;
use crate::operator::Door;
use crate::spaces::{value_of, wanted};
use crate::watch::Bench;
use bytes::Bytes;
use marchland_common::order::{Node, NodeKind, NodeName, SlotId};
use marchland_common::world::Layout;
use marchland_manager_core::{CellLoad, Facts, LogPlace, Lost, Plan, SpaceSpec, Write, plan};
use marchland_runtime::coord::{
    ClockValue, CoordClient, Guard, Key, Keys, LeaderError, Leadership, LogValue, MetaValue,
    NotLeader, Revision, SlotValue, SpaceValue, Txn,
};
use marchland_runtime::link::PROTO;
use marchland_runtime::process::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How long the planner waits at most before it looks again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Writes in one transaction; etcd takes 128 operations by default.
const WRITES_A_TXN: usize = 60;

/// How busy cellapps are, by life.
type Loads = BTreeMap<Node, CellLoad>;

/// What is learned by asking; a plan takes what is known.
struct Sources {
    loads: watch::Receiver<Loads>,
    reported: watch::Receiver<Reported>,
    overdue: watch::Receiver<BTreeSet<NodeName>>,
}

/// What the planner waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// In words.
    pub(crate) reasons: Vec<String>,
    /// Baseapps that are lost for good and keep slots.
    pub(crate) lost: Vec<Lost>,
}

/// What leading needs.
pub(crate) struct Leader<'a> {
    pub(crate) coord: &'a CoordClient,
    pub(crate) leadership: &'a Leadership,
    pub(crate) bench: Bench<'a>,
    /// The spaces that the world begins with.
    pub(crate) spaces: &'a [SpaceSpec],
    pub(crate) cells_awaited: usize,
    pub(crate) bases_awaited: usize,
    pub(crate) wait_max: Duration,
    pub(crate) step: Duration,
    pub(crate) waiting: &'a watch::Sender<Waiting>,
}

impl Leader<'_> {
    /// Leads until the key is lost or a write is refused because of it.
    pub(crate) async fn lead(&self, door: &Door) -> LeaderError {
        // Whoever does not answer makes nobody wait.
        let (loads, known) = watch::channel(Loads::new());
        let (reports, reported) = watch::channel(Reported::default());
        let (orders, wanted) = watch::channel(Orders::default());
        let overdue = self.bench.overdue.subscribe();
        let sources = Sources { loads: known, reported, overdue };
        tokio::select! {
            error = self.plan(door, sources, &orders) => error,
            never = carry(door, wanted, &reports) => match never {},
            error = self.bench.run() => error,
            never = weigh(door, &loads) => match never {},
            () = self.leadership.lost() => NotLeader::Deposed(self.leadership.term()).into(),
        }
    }

    async fn plan(
        &self,
        door: &Door,
        mut sources: Sources,
        orders: &watch::Sender<Orders>,
    ) -> LeaderError {
        let began = Instant::now();
        let mut changes = door.feed.subscribe();
        loop {
            let seen = changes.borrow_and_update().clone();
            let facts = self.facts(&seen, &mut sources, began);
            let plan = plan(&facts);
            let (reasons, lost) = (plan.waiting.clone(), plan.lost.clone());
            self.waiting.send_replace(Waiting { reasons, lost });
            orders.send_if_modified(|wanted| {
                let (gives, takes) = (plan.gives.clone(), plan.takes.clone());
                let before = std::mem::replace(wanted, Orders { gives, takes });
                before != *wanted
            });
            let written = match self.found(&seen).await {
                Ok(()) => self.carry_out(&plan, &seen, &facts).await,
                Err(error) => Err(error),
            };
            match written {
                Ok(()) => {}
                Err(error @ LeaderError::NotLeader(_)) => return error,
                Err(error) => tracing::warn!(%error, "a plan was not written; it is made anew"),
            }
            tokio::select! {
                _ = changes.changed() => {}
                _ = sources.reported.changed() => {}
                Ok(()) = sources.overdue.changed() => {}
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Writes the cluster's identity, and the origin of its clock with the spaces that the world
    /// begins with, once for all.
    async fn found(&self, seen: &Seen) -> Result<(), LeaderError> {
        if seen.clock.is_some() {
            return self.say_protocol(seen).await;
        }
        let keys = self.coord.keys();
        let wall_ms = marchland_runtime::tick::calendar_ms();
        let meta = MetaValue {
            cluster_id: wall_ms ^ (self.leadership.term().0 << 48),
            proto_min: PROTO,
            proto_max: PROTO,
            origin_wall_ms: None,
        };
        let once = |key: Key, value: Bytes| {
            let key = keys.key(key);
            Txn::new().when(Guard::Absent(key.clone())).put(key, value)
        };
        // Losing a race means that it stands already.
        self.leadership.guarded_txn(once(Key::Meta, json(&meta))).await?;
        let clock = ClockValue {
            origin_wall_ms: self.origin().await?.unwrap_or(wall_ms),
            step_us: u64::try_from(self.step.as_micros()).unwrap_or(u64::MAX),
        };
        let world = self.spaces.iter().fold(once(Key::Clock, json(&clock)), |txn, spec| {
            txn.put(keys.key(Key::Wanted(spec.id)), value_of(spec))
        });
        self.leadership.guarded_txn(world).await?;
        Ok(())
    }

    /// Says which protocol the cluster speaks, where another build led before.
    async fn say_protocol(&self, seen: &Seen) -> Result<(), LeaderError> {
        let is_said = |meta: &MetaValue| (meta.proto_min, meta.proto_max) == (PROTO, PROTO);
        if seen.meta.is_none_or(|meta| is_said(&meta)) {
            return Ok(());
        }
        let key = self.coord.keys().key(Key::Meta);
        let Some(kv) = self.coord.get(&key).await? else { return Ok(()) };
        let known: MetaValue = kv.json(&key)?;
        if is_said(&known) {
            return Ok(());
        }
        let meta = MetaValue { proto_min: PROTO, proto_max: PROTO, ..known };
        let unchanged = Guard::UnchangedSince(key.clone(), kv.mod_revision);
        self.leadership.guarded_txn(Txn::new().when(unchanged).put(key, json(&meta))).await?;
        let (oldest, newest) = (known.proto_min, known.proto_max);
        tracing::info!(PROTO, oldest, newest, "the cluster speaks another protocol from now on");
        Ok(())
    }

    /// Where the ticks of this cluster begin, if it had some before. What is seen may be older
    /// than what stands.
    async fn origin(&self) -> Result<Option<u64>, LeaderError> {
        let key = self.coord.keys().key(Key::Meta);
        let Some(kv) = self.coord.get(&key).await? else { return Ok(None) };
        Ok(kv.json::<MetaValue>(&key)?.origin_wall_ms)
    }

    fn facts(&self, seen: &Seen, sources: &mut Sources, began: Instant) -> Facts {
        let Reported { moves, takes, unwilling, slow } =
            sources.reported.borrow_and_update().clone();
        Facts {
            members: seen.core_members(),
            dead: seen.dead.clone(),
            slots: seen.slots.clone(),
            layouts: seen.spaces.iter().map(|(id, v)| (*id, v.layout.clone())).collect(),
            specs: wanted(seen),
            moves,
            takes,
            unwilling,
            slow,
            logs: logs(seen),
            overdue: sources.overdue.borrow_and_update().clone(),
            loads: sources.loads.borrow().clone(),
            cells_awaited: self.cells_awaited,
            bases_awaited: self.bases_awaited,
            waited_enough: began.elapsed() >= self.wait_max,
        }
    }

    async fn carry_out(&self, plan: &Plan, seen: &Seen, facts: &Facts) -> Result<(), LeaderError> {
        for writes in plan.writes.chunks(WRITES_A_TXN) {
            let mut txn = Txn::new();
            for write in writes {
                txn = self.write(txn, write, seen, facts);
            }
            let outcome = self.leadership.guarded_txn(txn).await?;
            if !outcome.succeeded {
                tracing::info!("the store changed under a plan; it is made anew");
                return Ok(());
            }
        }
        if !plan.writes.is_empty() {
            tracing::info!(writes = plan.writes.len(), "the plan is written");
        }
        Ok(())
    }

    /// Adds one write, guarded by what the plan took for granted.
    fn write(&self, txn: Txn, write: &Write, seen: &Seen, facts: &Facts) -> Txn {
        let keys = self.coord.keys();
        match write {
            Write::Slot(slot, base) => self.write_slot(txn, *slot, *base, seen),
            Write::TakeOver { slot, from, to } => {
                let txn = guards_of_takeover(keys, *from, *to, seen).into_iter().fold(
                    txn,
                    |txn, guard| if txn.guards.contains(&guard) { txn } else { txn.when(guard) },
                );
                self.write_slot(txn, *slot, to.name, seen)
            }
            Write::Layout(layout) => {
                let key = keys.key(Key::Space(layout.space));
                let value = space_value(layout, facts);
                match seen.space_revisions.get(&layout.space) {
                    Some(revision) => {
                        let unchanged = Guard::UnchangedSince(key.clone(), *revision);
                        txn.when(unchanged).put(key, value)
                    }
                    None => txn.when(Guard::Absent(key.clone())).put(key, value),
                }
            }
            Write::RemoveSpace(space) => txn.delete(keys.key(Key::Space(*space))),
        }
    }

    fn write_slot(&self, txn: Txn, slot: SlotId, base: NodeName, seen: &Seen) -> Txn {
        let key = self.coord.keys().key(Key::Slot(slot));
        let value = json(&SlotValue { base });
        match seen.slots.iter().find(|s| s.slot == slot) {
            Some(old) => {
                let revision = i64::try_from(old.term.0).unwrap_or(i64::MAX);
                txn.when(Guard::UnchangedSince(key.clone(), revision)).put(key, value)
            }
            None => txn.when(Guard::Absent(key.clone())).put(key, value),
        }
    }
}

/// What a takeover rests on beside the slot's key: nobody of the lost one's name is registered or
/// wrote to its log since, and the one that holds what the log said is there.
fn guards_of_takeover(keys: &Keys, from: Node, to: Node, seen: &Seen) -> [Guard; 3] {
    let (member, log) = (keys.member(to.name), keys.key(Key::Log(from.name)));
    let there = seen.members.iter().find(|m| m.node() == to).map(|m| m.mod_revision);
    let wrote = seen.logs.get(&from.name).filter(|(log, _)| log.incarnation == from.incarnation);
    // A key that was never written has no revision 1: what is not seen is not so.
    [
        Guard::Absent(keys.member(from.name)),
        Guard::UnchangedSince(log, wrote.map_or(1, |(_, revision)| *revision)),
        Guard::UnchangedSince(member, there.unwrap_or(1)),
    ]
}

/// Where logs are, as a planner sees it.
pub(crate) fn logs(seen: &Seen) -> BTreeMap<NodeName, LogPlace> {
    let place = |(name, (log, _)): (&NodeName, &(LogValue, Revision))| {
        (*name, LogPlace { life: log.incarnation, folder: log.folder.clone() })
    };
    seen.logs.iter().map(place).collect()
}

/// Asks cellapps now and then how busy they are.
async fn weigh(door: &Door, loads: &watch::Sender<Loads>) -> Infallible {
    loop {
        let health = health(&door.book, &door.feed.seen()).await;
        let cells = health.into_iter().filter(|(node, _)| node.name.kind == NodeKind::Cell);
        loads.send_replace(cells.map(|(node, h)| (node, CellLoad { reals: h.reals })).collect());
        sleep(LOOK_EVERY).await;
    }
}

fn space_value(layout: &Layout, facts: &Facts) -> Bytes {
    let cells = facts.specs.get(&layout.space).map_or(0, |s| s.cells);
    json(&SpaceValue { cells, layout: layout.clone() })
}

fn json<T: serde::Serialize>(value: &T) -> Bytes {
    serde_json::to_vec(value).expect("strings and numbers always encode").into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::order::Incarnation;
    use marchland_runtime::coord::{Member, MemberInfo, MemberState};

    const FROM: Node = Node::new(NodeKind::Base, 1, 3);
    const TO: Node = Node::new(NodeKind::Base, 2, 5);

    fn seen() -> Seen {
        let info = MemberInfo {
            name: TO.name,
            incarnation: Some(TO.incarnation),
            link_addr: String::new(),
            operator_addr: String::new(),
            pid: 1,
            host: String::new(),
            version: String::new(),
            proto: PROTO,
            state: MemberState::Ready,
            extra: BTreeMap::new(),
        };
        let member = Member { info, incarnation: TO.incarnation, mod_revision: 9, lease: 1 };
        let log = LogValue { incarnation: FROM.incarnation, folder: "/logs/base-1".to_owned() };
        let logs = BTreeMap::from([(FROM.name, (log, 7))]);
        Seen { members: vec![member], logs, ..Seen::default() }
    }

    #[test]
    fn a_takeover_rests_on_the_log_that_was_read_on_who_holds_it_and_on_nobody_being_back() {
        let (keys, seen) = (Keys::new("c").unwrap(), seen());
        let unchanged = |key: &str, at| Guard::UnchangedSince(format!("/marchland/c/{key}"), at);
        let back = Guard::Absent("/marchland/c/member/base/base-1".to_owned());
        let guards = |from, to| guards_of_takeover(&keys, from, to, &seen);
        let [log, member] = [unchanged("log/base-1", 7), unchanged("member/base/base-2", 9)];
        assert_eq!(guards(FROM, TO), [back.clone(), log.clone(), member.clone()]);
        // Of another life than the one that is seen nothing is taken for granted.
        let never = |key: &str| unchanged(key, 1);
        let other = |node: Node| Node { incarnation: Incarnation(4), ..node };
        assert_eq!(guards(other(FROM), TO), [back.clone(), never("log/base-1"), member]);
        assert_eq!(guards(FROM, other(TO)), [back, log, never("member/base/base-2")]);
    }
}
