//! What a log says, in the words in which journals tell the same.

use super::replay::Reader;
use super::{LogRecord, ReplayError, SlotRow, Store};
use crate::lineage::Lineage;
use marchland_common::journal::{Kept, KeptSlot, LogAccount, Logged};
use marchland_common::order::{EntityId, SlotId};
use marchland_common::world::Kinds;
use std::collections::BTreeMap;

/// Reads the records of a log, oldest first, as [`replay`](super::replay) does, and tells what they
/// say of entities and slots. The error is what does not fit; the account is of everything before it.
pub fn account<B: AsRef<[u8]>>(
    kinds: &Kinds,
    records: impl IntoIterator<Item = B>,
) -> (LogAccount, Option<ReplayError>) {
    let mut reader = Reader::default();
    let mut account = LogAccount::default();
    let mut wrong = None;
    for bytes in records {
        match reader.take(kinds, bytes.as_ref()) {
            Ok((through, LogRecord::ImageEnd(_))) => {
                let begin = kept(&reader.so_far.store);
                account = LogAccount { through, begin, ..LogAccount::default() };
            }
            Ok((lsn, record)) => account.records.extend(logged(&record).map(|said| (lsn, said))),
            Err(error) => {
                wrong = Some(error);
                break;
            }
        }
    }
    if let Err(torn) = reader.end() {
        // Half a checkpoint says nothing.
        return (LogAccount::default(), wrong.or(Some(torn)));
    }
    account.last = reader.so_far.last;
    let store = &reader.so_far.store;
    account.end = kept(store);
    account.slots = kept_slots(store);
    let whole = store.imports.iter().filter(|(_, import)| import.is_whole());
    account.coming = whole.map(|(slot, import)| (*slot, import.term)).collect();
    (account, wrong)
}

fn kept_slots(store: &Store) -> BTreeMap<SlotId, KeptSlot> {
    let row = |(slot, row): (&SlotId, &SlotRow)| {
        let frozen_for = store.leaving.get(slot).map(|leave| leave.to);
        let adopted = store.adopted.get(slot).copied();
        (*slot, KeptSlot { term: row.term, frozen_for, adopted })
    };
    store.slots.iter().map(row).collect()
}

fn kept(store: &Store) -> BTreeMap<EntityId, Kept> {
    let row = |lineage: &Lineage| Kept {
        epoch: lineage.epoch,
        owner: lineage.owner,
        seq: lineage.seq,
        digest: lineage.digest,
        ended: lineage.state.destroyed,
    };
    store.entities.iter().map(|(entity, lineage)| (*entity, row(lineage))).collect()
}

fn logged(record: &LogRecord) -> Option<Logged> {
    Some(match record {
        LogRecord::Created(created) => {
            Logged::Born { entity: created.entity, owner: created.owner, source: created.source }
        }
        LogRecord::Step(step) => Logged::Step {
            entity: step.entity,
            epoch: step.epoch,
            seq: step.seq,
            owner: step.owner,
            digest: step.digest,
        },
        LogRecord::Owner(record) => Logged::Owner {
            entity: record.entity,
            epoch: record.epoch,
            owner: record.owner,
            why: record.why,
            last_tick: record.last_tick,
        },
        LogRecord::SlotTaken { slot, term } => Logged::Taken { slot: *slot, term: *term },
        LogRecord::SlotFrozen { slot, term, to } => {
            Logged::Frozen { slot: *slot, term: *term, to: *to }
        }
        LogRecord::SlotGiven { slot, term } => Logged::Given { slot: *slot, term: *term },
        _ => return None,
    })
}
