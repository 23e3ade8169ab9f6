//! What a log says, in the words of journals.

use crate::restart::busy;
use marchland_baseapp_core::log::account;
use marchland_common::journal::{Event, KeptSlot, LogAccount, Logged, OwnerWhy};
use marchland_common::order::*;

#[test]
fn a_log_tells_what_the_journal_tells() {
    let (cluster, _) = busy();
    let base = &cluster.bases[0];
    let (told, wrong) = account(&cluster.kinds, base.log.iter());
    assert_eq!(wrong, None);
    assert_eq!((told.through, told.last), (Lsn(0), base.core.last_lsn()));
    let written: Vec<(Lsn, EntityId, u64)> = base
        .events
        .iter()
        .filter_map(|event| match *event {
            Event::Created { entity, lsn, .. } => Some((lsn, entity, 0)),
            Event::OwnerChanged { why: OwnerWhy::Birth, .. } => None,
            Event::OwnerChanged { entity, epoch, lsn, .. } => Some((lsn, entity, epoch.0)),
            Event::Accepted { entity, digest, lsn, .. } => Some((lsn, entity, digest)),
            Event::SlotTaken { slot, term, lsn } => Some((lsn, EntityId::new(slot, 1), term.0)),
            _ => None,
        })
        .collect();
    let logged = told.records.iter().map(|(lsn, said)| match *said {
        Logged::Born { entity, .. } => (*lsn, entity, 0),
        Logged::Owner { entity, epoch, .. } => (*lsn, entity, epoch.0),
        Logged::Step { entity, digest, .. } => (*lsn, entity, digest),
        Logged::Taken { slot, term } => (*lsn, EntityId::new(slot, 1), term.0),
        Logged::Frozen { .. } | Logged::Given { .. } => panic!("no slot moved"),
    });
    assert_eq!(logged.collect::<Vec<_>>(), written);
    // Read from the middle on, behind a checkpoint, it ends the same.
    let (image, _) = account(&cluster.kinds, base.core.checkpoint());
    assert_eq!((image.through, &image.begin, &image.end), (told.last, &told.end, &told.end));
    assert!(image.records.is_empty());
    let kept = |term| KeptSlot { term, frozen_for: None, adopted: None };
    assert!(!told.slots.is_empty() && told.slots.values().all(|slot| *slot == kept(slot.term)));
    assert_eq!((&image.slots, &image.coming), (&told.slots, &told.coming));
}

#[test]
fn an_account_of_a_log_that_does_not_fit_ends_before_the_misfit() {
    let (cluster, _) = busy();
    let log = &cluster.bases[0].log;
    let mut other = log.clone();
    let at = other.len() / 2;
    other[at] = vec![9];
    let (told, wrong) = account(&cluster.kinds, other.iter());
    assert_eq!((told, None), account(&cluster.kinds, log[..at].iter()));
    assert_eq!(wrong.map(|wrong| wrong.lsn), Some(Lsn(at as u64 + 1)));
    let image: Vec<Vec<u8>> = cluster.bases[0].core.checkpoint().collect();
    let (half, torn) = account(&cluster.kinds, image[..image.len() / 2].iter());
    assert_eq!(half, LogAccount::default());
    assert!(torn.is_some(), "half a checkpoint says nothing");
}
