//! Leading: while the leader key is held, facts become plans and plans become guarded writes.

use crate::fan_out::health;
use crate::operator::Door;
use crate::spaces::Wanted;
use bytes::Bytes;
use marchland_common::order::{Node, NodeKind};
use marchland_common::world::Layout;
use marchland_manager_core::{CellLoad, Facts, Plan, Write, plan};
use marchland_runtime::coord::{
    ClockValue, CoordClient, Guard, Key, LeaderError, Leadership, MetaValue, SlotValue, SpaceValue,
    Txn,
};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How long the planner waits at most before it looks again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Writes in one transaction; etcd takes 128 operations by default.
const WRITES_A_TXN: usize = 60;

/// What leading needs.
pub(crate) struct Leader {
    pub(crate) coord: CoordClient,
    pub(crate) leadership: Leadership,
    pub(crate) cells_awaited: usize,
    pub(crate) bases_awaited: usize,
    pub(crate) wait_max: Duration,
    pub(crate) step: Duration,
    pub(crate) waiting: watch::Sender<Vec<String>>,
}

impl Leader {
    /// Leads until the key is lost or a write is refused because of it.
    pub(crate) async fn lead(&self, door: &Door) -> LeaderError {
        let began = Instant::now();
        let mut changes = door.feed.subscribe();
        let mut wanted = door.wanted.subscribe();
        loop {
            let seen = door.feed.seen();
            if let Err(error) = self.found(&seen).await {
                return error;
            }
            door.wanted.adopt(&seen);
            let facts = self.facts(door, &seen, &door.wanted, began).await;
            let plan = plan(&facts);
            self.waiting.send_replace(plan.waiting.clone());
            match self.carry_out(&plan, &seen, &facts).await {
                Ok(()) => {}
                Err(error @ LeaderError::NotLeader(_)) => return error,
                Err(error) => tracing::warn!(%error, "a plan was not written; it is made anew"),
            }
            tokio::select! {
                _ = changes.changed() => {}
                _ = wanted.changed() => {}
                () = sleep(LOOK_EVERY) => {}
                () = self.leadership.lost() => {
                    return marchland_runtime::coord::NotLeader::Deposed(self.leadership.term())
                        .into();
                }
            }
        }
    }

    /// Writes the cluster's identity and the origin of its clock, once for all.
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
        };
        let clock = ClockValue {
            origin_wall_ms: wall_ms,
            step_us: u64::try_from(self.step.as_micros()).unwrap_or(u64::MAX),
        };
        for (key, value) in [(Key::Meta, json(&meta)), (Key::Clock, json(&clock))] {
            let key = keys.key(key);
            let txn = Txn::new().when(Guard::Absent(key.clone())).put(key, value);
            // Losing the race means that it stands already.
            self.leadership.guarded_txn(txn).await?;
        }
        Ok(())
    }

    async fn facts(&self, door: &Door, seen: &Seen, wanted: &Wanted, began: Instant) -> Facts {
        let health = health(&door.book, seen).await;
        let load = |(node, h): (Node, _)| {
            let h: marchland_proto::operator::HealthReply = h;
            (node.name.kind == NodeKind::Cell).then_some((node, CellLoad { reals: h.reals }))
        };
        Facts {
            members: seen.core_members(),
            dead: seen.dead.clone(),
            slots: seen.slots.clone(),
            layouts: seen.spaces.iter().map(|(id, v)| (*id, v.layout.clone())).collect(),
            specs: wanted.subscribe().borrow().clone(),
            loads: health.into_iter().filter_map(load).collect::<BTreeMap<_, _>>(),
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

fn space_value(layout: &Layout, facts: &Facts) -> Bytes {
    let cells = facts.specs.get(&layout.space).map_or(0, |s| s.cells);
    json(&SpaceValue { cells, layout: layout.clone() })
}

fn json<T: serde::Serialize>(value: &T) -> Bytes {
    serde_json::to_vec(value).expect("strings and numbers always encode").into()
}
