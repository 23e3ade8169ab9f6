//! Leading: while the leader key is held, facts become plans and plans become guarded writes.

use crate::carrier::{Reported, carry};
use crate::fan_out::health;
use crate::operator::Door;
use crate::spaces::{value_of, wanted};
use crate::watch::Bench;
use bytes::Bytes;
use marchland_common::order::{Node, NodeKind};
use marchland_common::world::Layout;
use marchland_manager_core::{CellLoad, Facts, Give, Plan, SpaceSpec, Write, plan};
use marchland_runtime::coord::{
    ClockValue, CoordClient, Guard, Key, LeaderError, Leadership, MetaValue, NotLeader, SlotValue,
    SpaceValue, Txn,
};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
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
    pub(crate) waiting: &'a watch::Sender<Vec<String>>,
}

impl Leader<'_> {
    /// Leads until the key is lost or a write is refused because of it.
    pub(crate) async fn lead(&self, door: &Door) -> LeaderError {
        // Whoever does not answer makes nobody wait.
        let (loads, known) = watch::channel(Loads::new());
        let (reports, reported) = watch::channel(Reported::default());
        let (gives, wanted) = watch::channel(Vec::new());
        let sources = Sources { loads: known, reported };
        tokio::select! {
            error = self.plan(door, sources, &gives) => error,
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
        gives: &watch::Sender<Vec<Give>>,
    ) -> LeaderError {
        let began = Instant::now();
        let mut changes = door.feed.subscribe();
        loop {
            let seen = changes.borrow_and_update().clone();
            let facts = self.facts(&seen, &mut sources, began);
            let plan = plan(&facts);
            self.waiting.send_replace(plan.waiting.clone());
            gives.send_if_modified(|wanted| {
                let differs = *wanted != plan.gives;
                wanted.clone_from(&plan.gives);
                differs
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
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Writes the cluster's identity, and the origin of its clock with the spaces that the world
    /// begins with, once for all.
    async fn found(&self, seen: &Seen) -> Result<(), LeaderError> {
        if seen.clock.is_some() {
            return Ok(());
        }
        let keys = self.coord.keys();
        let wall_ms = marchland_runtime::tick::calendar_ms();
        let meta = MetaValue {
            cluster_id: wall_ms ^ (self.leadership.term().0 << 48),
            proto_min: marchland_runtime::link::PROTO,
            proto_max: marchland_runtime::link::PROTO,
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

    /// Where the ticks of this cluster begin, if it had some before. What is seen may be older
    /// than what stands.
    async fn origin(&self) -> Result<Option<u64>, LeaderError> {
        let key = self.coord.keys().key(Key::Meta);
        let Some(kv) = self.coord.get(&key).await? else { return Ok(None) };
        Ok(kv.json::<MetaValue>(&key)?.origin_wall_ms)
    }

    fn facts(&self, seen: &Seen, sources: &mut Sources, began: Instant) -> Facts {
        let Reported { moves, slow } = sources.reported.borrow_and_update().clone();
        Facts {
            members: seen.core_members(),
            dead: seen.dead.clone(),
            slots: seen.slots.clone(),
            layouts: seen.spaces.iter().map(|(id, v)| (*id, v.layout.clone())).collect(),
            specs: wanted(seen),
            moves,
            slow,
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
            Write::Slot(slot, base) => {
                let key = keys.key(Key::Slot(*slot));
                let value = json(&SlotValue { base: *base });
                match seen.slots.iter().find(|s| s.slot == *slot) {
                    Some(old) => {
                        let revision = i64::try_from(old.term.0).unwrap_or(i64::MAX);
                        txn.when(Guard::UnchangedSince(key.clone(), revision)).put(key, value)
                    }
                    None => txn.when(Guard::Absent(key.clone())).put(key, value),
                }
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
