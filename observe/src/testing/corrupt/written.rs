//! Faults of what is on the bases' disks; the journals are right.

use super::*;
use crate::journals::BaseLog;
use crate::testing::{entity_id, image};
use marchland_common::journal::{Kept, Logged};

/// One of the logs.
fn log<'a>(history: &'a mut History, rng: &mut Rng) -> &'a mut BaseLog {
    let at = rng.below(history.logs.len() as u64) as usize;
    &mut history.logs[at]
}

/// One of the places in a log that fit.
fn place(log: &BaseLog, rng: &mut Rng, fits: impl Fn(&Logged) -> bool) -> Option<usize> {
    let records = log.account.records.iter().enumerate();
    let all: Vec<usize> = records.filter(|(_, (_, said))| fits(said)).map(|(at, _)| at).collect();
    pick(&all, rng)
}

const fn is_step(said: &Logged) -> bool {
    matches!(said, Logged::Step { .. })
}

pub fn damage(history: &mut History, rng: &mut Rng) -> bool {
    log(history, rng).faults.push("a record is damaged".to_owned());
    true
}

pub fn lost_end(history: &mut History, rng: &mut Rng) -> bool {
    let account = &mut log(history, rng).account;
    account.last = Lsn(account.last.0 / 2);
    let last = account.last;
    account.records.retain(|(lsn, _)| *lsn <= last);
    image(account);
    true
}

pub fn lost_record(history: &mut History, rng: &mut Rng) -> bool {
    let log = log(history, rng);
    let Some(at) = place(log, rng, is_step) else { return false };
    log.account.records.remove(at);
    true
}

pub fn other_record(history: &mut History, rng: &mut Rng) -> bool {
    let log = log(history, rng);
    let Some(at) = place(log, rng, is_step) else { return false };
    if let Logged::Step { digest, .. } = &mut log.account.records[at].1 {
        *digest ^= 1;
    }
    true
}

pub fn record_of_nobody(history: &mut History, rng: &mut Rng) -> bool {
    let account = &mut log(history, rng).account;
    let Some((lsn, said)) = account.records.last().copied() else { return false };
    account.last = account.last.next();
    account.records.push((account.last.max(lsn.next()), said));
    true
}

pub fn kept_epoch(history: &mut History, rng: &mut Rng) -> bool {
    let log = log(history, rng);
    let Some(at) = place(log, rng, |said| matches!(said, Logged::Owner { .. })) else {
        return false;
    };
    if let Logged::Owner { epoch, .. } = &mut log.account.records[at].1 {
        *epoch = before(*epoch);
    }
    true
}

/// What a log holds of somebody who made steps and lives.
fn kept<'a>(history: &'a mut History, rng: &mut Rng) -> Option<(EntityId, &'a mut Kept)> {
    let end = &mut log(history, rng).account.end;
    let all: Vec<EntityId> = end
        .iter()
        .filter(|(_, kept)| kept.seq > Seq(1) && !kept.ended)
        .map(|(id, _)| *id)
        .collect();
    let entity = pick(&all, rng)?;
    end.get_mut(&entity).map(|kept| (entity, kept))
}

pub fn older_step(history: &mut History, rng: &mut Rng) -> bool {
    let Some((_, kept)) = kept(history, rng) else { return false };
    kept.seq.0 -= 1;
    true
}

pub fn other_state(history: &mut History, rng: &mut Rng) -> bool {
    let Some((_, kept)) = kept(history, rng) else { return false };
    kept.digest ^= 1;
    true
}

pub fn lost_entity(history: &mut History, rng: &mut Rng) -> bool {
    let Some((entity, _)) = kept(history, rng) else { return false };
    history.logs.iter_mut().for_each(|log| {
        log.account.end.remove(&entity);
    });
    true
}

pub fn stranger(history: &mut History, rng: &mut Rng) -> bool {
    let Some((_, kept)) = kept(history, rng) else { return false };
    let kept = *kept;
    log(history, rng).account.end.insert(entity_id(0, 1 << 40), kept);
    true
}
