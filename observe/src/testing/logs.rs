//! The logs of a history's bases, as their journals tell of them.

use crate::journals::BaseLog;
use marchland_common::journal::{
    Event, Kept, KeptSlot, LogAccount, Logged, OwnerWhy, Record, TickRecord,
};
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, NodeName, Seq, SlotId};
use std::collections::BTreeMap;

/// One log for each base. Bases run one after the other in each tick, and so are their records
/// read: what one freezes the other takes.
pub fn logs_of(journals: &[(Node, Vec<Record>)]) -> Vec<BaseLog> {
    let bases = journals.iter().filter(|(node, _)| node.name.kind == NodeKind::Base);
    let records =
        bases.flat_map(|(node, records)| records.iter().map(move |record| (*node, record)));
    let mut moments: Vec<(Node, &TickRecord)> = records
        .filter_map(|(node, record)| match record {
            Record::Tick(tick) => Some((node, tick)),
            _ => None,
        })
        .collect();
    moments.sort_by_key(|(node, tick)| (tick.tick, tick.moment != Moment::Flush, *node));
    let mut logs: BTreeMap<NodeName, LogBook> = BTreeMap::new();
    let mut parts = BTreeMap::new();
    for (node, tick) in moments {
        for event in &tick.events {
            if let Event::SlotAdopted { slot, from, .. } = *event {
                let lost = logs.entry(from.name).or_default();
                lost.end_at_sync();
                let all = lost.account.end.iter().filter(|(entity, _)| entity.slot() == slot);
                parts.insert(slot, all.map(|(entity, kept)| (*entity, *kept)).collect());
            }
            logs.entry(node.name).or_default().take(event, &mut parts);
        }
    }
    let log =
        |(base, book): (NodeName, LogBook)| BaseLog { base, account: book.account, faults: vec![] };
    logs.into_iter().map(log).collect()
}

/// What is frozen, by slot.
type Parts = BTreeMap<SlotId, BTreeMap<EntityId, Kept>>;

#[derive(Clone, Default)]
struct LogBook {
    account: LogAccount,
    /// How it was when the log reported last.
    synced: Option<Box<Self>>,
    /// Where what is taken next comes from, if that is a log.
    adopts: Option<(Node, Lsn)>,
}

impl LogBook {
    /// What was not synced is not there.
    fn end_at_sync(&mut self) {
        *self = self.synced.take().map(|synced| *synced).unwrap_or_default();
        self.synced = Some(Box::new(self.clone()));
    }

    fn take(&mut self, event: &Event, parts: &mut Parts) {
        match *event {
            Event::Durable { .. } => {
                self.synced = None;
                self.synced = Some(Box::new(self.clone()));
            }
            Event::Recovered { lsn } => {
                self.end_at_sync();
                assert!(self.account.last <= lsn, "the model syncs all of a tick at once");
                self.account.last = lsn;
            }
            Event::Destroyed { entity, lsn, .. } => {
                self.account.last = self.account.last.max(lsn);
                if let Some(kept) = self.account.end.get_mut(&entity) {
                    kept.ended = true;
                }
            }
            Event::Burned { lsn, .. } => self.account.last = self.account.last.max(lsn),
            Event::SlotAdopted { from, through, .. } => self.adopts = Some((from, through)),
            _ => self.take_slot(event, parts),
        }
    }

    fn take_slot(&mut self, event: &Event, parts: &mut Parts) {
        let account = &mut self.account;
        match *event {
            Event::SlotTaken { slot, term, lsn } => {
                account.end.append(&mut parts.remove(&slot).unwrap_or_default());
                let adopted = self.adopts.take();
                account.slots.insert(slot, KeptSlot { term, frozen_for: None, adopted });
                self.write(lsn, Logged::Taken { slot, term });
            }
            Event::SlotFrozen { slot, term, to, lsn } => {
                let all = account.end.iter().filter(|(entity, _)| entity.slot() == slot);
                parts.insert(slot, all.map(|(entity, kept)| (*entity, *kept)).collect());
                let adopted = account.slots.get(&slot).and_then(|kept| kept.adopted);
                account.slots.insert(slot, KeptSlot { term, frozen_for: Some(to), adopted });
                self.write(lsn, Logged::Frozen { slot, term, to });
            }
            Event::SlotGiven { slot, term, lsn } => {
                account.end.retain(|entity, _| entity.slot() != slot);
                account.slots.remove(&slot);
                self.write(lsn, Logged::Given { slot, term });
            }
            _ => self.take_step(event),
        }
    }

    fn take_step(&mut self, event: &Event) {
        match *event {
            Event::Created { entity, source, lsn, .. } => {
                let owner = Node::new(NodeKind::Cell, 0, 0);
                self.write(lsn, Logged::Born { entity, owner, source });
            }
            Event::OwnerChanged { entity, epoch, to, why: OwnerWhy::Birth, .. } => {
                assert_eq!(epoch, Epoch::of_grant(1));
                if let Some((_, Logged::Born { owner, .. })) = self.account.records.last_mut() {
                    *owner = to;
                }
                if let Some(kept) = self.account.end.get_mut(&entity) {
                    kept.owner = to;
                }
            }
            Event::OwnerChanged { entity, epoch, to: owner, why, last_tick, lsn, .. } => {
                self.write(lsn, Logged::Owner { entity, epoch, owner, why, last_tick });
            }
            Event::Accepted { entity, epoch, seq, owner, digest, lsn, .. } => {
                self.write(lsn, Logged::Step { entity, epoch, seq, owner, digest });
            }
            _ => {}
        }
    }

    fn write(&mut self, lsn: Lsn, said: Logged) {
        self.account.records.push((lsn, said));
        self.account.last = self.account.last.max(lsn);
        add(&mut self.account.end, &said);
    }
}

/// What the records of a log lead to, but for what came with slots.
pub fn image(account: &mut LogAccount) {
    account.end = account.begin.clone();
    account.records.iter().for_each(|(_, said)| add(&mut account.end, said));
}

fn add(end: &mut BTreeMap<EntityId, Kept>, said: &Logged) {
    match *said {
        Logged::Born { entity, owner, .. } => {
            let epoch = Epoch::of_grant(1);
            end.insert(entity, Kept { epoch, owner, seq: Seq(0), digest: 0, ended: false });
        }
        Logged::Owner { entity, epoch, owner, .. } => {
            if let Some(kept) = end.get_mut(&entity) {
                (kept.epoch, kept.owner) = (epoch, owner);
            }
        }
        Logged::Step { entity, seq, digest, .. } => {
            if let Some(kept) = end.get_mut(&entity) {
                (kept.seq, kept.digest) = (seq, digest);
            }
        }
        Logged::Taken { .. } | Logged::Frozen { .. } | Logged::Given { .. } => {}
    }
}
