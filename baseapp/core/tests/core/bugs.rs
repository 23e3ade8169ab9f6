//! The deliberate faults do what their names say, and the proof that stands behind every test
//! sees those that let something out too early.

use crate::support::*;
use marchland_baseapp_core::io::BaseBug;
use marchland_common::journal::Event;
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn with(bug: BaseBug, bases: u16) -> Cluster {
    Cluster::with(bases, |config| config.seeded_bug = Some(bug))
}

/// Whether the proof lets pass what the first base says in its next flush.
fn passes(cluster: &mut Cluster) -> bool {
    catch_unwind(AssertUnwindSafe(|| cluster.flush())).is_ok()
}

#[test]
fn without_the_epoch_check_a_zombie_writes_into_the_lineage() {
    for (bug, expected) in [(Some(BaseBug::NoEpochCheck), 9), (None, 0)] {
        let mut cluster = Cluster::with(1, |config| config.seeded_bug = bug);
        let entity = cluster.born();
        let mut zombie = cluster.owner(1).clone();
        let tick = cluster.tick + 1;
        cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border);
        zombie.prepare(entity, cell(2), tick, HandoffWhy::Border);
        cluster.ticks(3);
        let mut step = zombie.make(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![9]))]);
        step.seq = Seq(cluster.owner(2).copies[&entity].seq.0 + 1);
        step.prev_digest = cluster.owner(2).copies[&entity].digest;
        cluster.owner(1).say(entity, CellToBase::Step(step));
        cluster.ticks(2);
        let note = cluster.bases[0].core.brief(entity).unwrap().durable[1].1.clone();
        assert_eq!(note.bytes().first().copied().unwrap_or(0), expected);
    }
}

#[test]
fn results_that_leave_early_do_not_pass_the_proof() {
    let mut cluster = with(BaseBug::ReleaseEarly, 1);
    let client = login(&mut cluster, "ann");
    cluster.bases[0].clients_in.push(command(&client, 1, 0));
    cluster.tick();
    run_commands(cluster.owner(1), client.entity);
    assert!(!passes(&mut cluster));
}

#[test]
fn messages_that_leave_early_do_not_pass_the_proof() {
    let mut cluster = with(BaseBug::SendBeforeDurable, 2);
    let (a, b) = (cluster.born_at(0, west()), cluster.born_at(1, east()));
    send(&mut cluster, 1, a, b, 5);
    assert!(!passes(&mut cluster));
}

#[test]
fn answers_that_leave_early_do_not_pass_the_proof() {
    let mut cluster = with(BaseBug::AnswerEarly, 2);
    let (a, b) = (cluster.born_at(0, west()), cluster.born_at(1, east()));
    send(&mut cluster, 1, a, b, 5);
    cluster.ticks(2);
    run_inbox(cluster.owner(2), b, taken);
    assert!(!passes(&mut cluster));
}

#[test]
fn a_restore_that_keeps_the_epoch_grants_it_twice() {
    let mut cluster = with(BaseBug::KeepEpoch, 1);
    cluster.born();
    cluster.declare_dead(cell(1));
    cluster.ticks(3);
    let epochs: Vec<Epoch> = cluster.bases[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::OwnerChanged { epoch, .. } => Some(*epoch),
            _ => None,
        })
        .collect();
    assert_eq!(epochs, [Epoch::of_grant(1), Epoch::of_grant(1)]);
}

#[test]
fn an_id_that_is_handed_out_twice_is_on_the_record_twice() {
    let mut cluster = with(BaseBug::ReuseId, 1);
    cluster.slots.retain(|s| s.slot == SlotId(3));
    cluster.announce();
    (0..12).for_each(|_| {
        cluster.born();
    });
    let created = cluster.bases[0].events.iter().filter_map(|event| match event {
        Event::Created { entity, .. } => Some(*entity),
        _ => None,
    });
    let all: Vec<EntityId> = created.collect();
    let different: BTreeSet<EntityId> = all.iter().copied().collect();
    assert!(different.len() < all.len());
}
