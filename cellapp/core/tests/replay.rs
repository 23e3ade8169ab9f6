//! Equal inputs give equal outputs, also to a core that was written down and read back in between.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::cell::RestoreError;
use marchland_common::order::EntityId;
use marchland_common::rng::Rng;
use marchland_common::world::Value;
use support::*;

/// One tick of a busy life: commands, jumps, orders, timers, a base that stalls now and then.
fn live(cluster: &mut Cluster, rng: &mut Rng, ids: &[EntityId]) {
    for _ in 0..3 {
        let id = ids[rng.below(ids.len() as u64) as usize];
        let session = id.counter();
        let amount = [rng.below(20) as u8 + 1];
        match rng.below(12) {
            0 => cluster.command(id, session, ALARM, &amount),
            1 => cluster.command(id, session, CLOCK, &amount),
            2 => cluster.command(id, session, AWAKE, &[rng.below(2) as u8]),
            3 => {
                let speed = rng.between(-900, 900) as i32;
                cluster.command(id, session, WALK, &speed.to_le_bytes())
            }
            4 => {
                let [x0, x1] = (rng.below(300) as i16).to_le_bytes();
                cluster.command(id, session, JUMP, &[1, x0, x1, 50, 0])
            }
            5 => {
                let to = ids[rng.below(ids.len() as u64) as usize];
                let args: Vec<u8> = [1].into_iter().chain(to.0.to_le_bytes()).collect();
                cluster.command(id, session, GIVE, &args)
            }
            6 => {
                let to = ids[rng.below(ids.len() as u64) as usize];
                cluster.command(id, session, WAVE, &to.0.to_le_bytes())
            }
            _ => cluster.command(id, session, HIDDEN, &[]),
        };
    }
    if rng.chance(1, 20) {
        let id = ids[rng.below(ids.len() as u64) as usize];
        cluster.handoff(rng.next_u64(), id, cell(rng.below(3) as u16 + 1), 30);
    }
    if rng.chance(1, 40) {
        cluster.base.stalled ^= true;
    }
    cluster.step();
}

fn populated(seed: u64) -> (Cluster, Rng, Vec<EntityId>) {
    let mut cluster = Cluster::new(3);
    let mut rng = Rng(seed);
    let ids: Vec<EntityId> = (1..=40)
        .map(|n| {
            let place = at(rng.below(300_000) as i32, rng.below(100_000) as i32);
            let props = [(GOLD, Value::Int(100)), (SPEED, Value::Int(rng.between(-500, 500)))];
            cluster.base.create_as(n, 1 + (n % 3) as u16, place, THING, &props)
        })
        .collect();
    cluster.run(2);
    for id in &ids {
        cluster.attach_with_view(*id, id.counter(), 20_000);
    }
    cluster.run(2);
    (cluster, rng, ids)
}

#[test]
fn a_core_that_was_written_down_and_read_back_goes_on_as_the_original_for_a_thousand_ticks() {
    let (mut cluster, mut rng, ids) = populated(11);
    for _ in 0..200 {
        live(&mut cluster, &mut rng, &ids);
    }
    cluster.shadow();
    for _ in 0..1_000 {
        live(&mut cluster, &mut rng, &ids);
    }
    let handoffs: usize = ids.iter().map(|id| cluster.handoffs(*id)).sum();
    assert!(handoffs > 40, "only {handoffs} handoffs happened");
}

#[test]
fn a_core_may_be_read_back_at_any_tick() {
    let (mut cluster, mut rng, ids) = populated(12);
    for _ in 0..150 {
        cluster.shadow();
        live(&mut cluster, &mut rng, &ids);
    }
}

#[test]
fn equal_cores_write_equal_snapshots_whatever_their_history() {
    let (mut cluster, mut rng, ids) = populated(13);
    for _ in 0..100 {
        live(&mut cluster, &mut rng, &ids);
    }
    for core in cluster.cells.values() {
        let first = core.snapshot();
        let second = CellCore::restore(&first, world()).unwrap().snapshot();
        assert_eq!(first, second);
    }
}

#[test]
fn bytes_that_are_no_snapshot_are_refused() {
    let (cluster, ..) = populated(14);
    let bytes = cluster.cells[&cell(1)].snapshot();
    let read = |bytes: &[u8]| CellCore::restore(bytes, world()).err();
    assert_eq!(read(&bytes[..bytes.len() / 2]), Some(RestoreError::NotASnapshot));
    assert_eq!(read(&[]), Some(RestoreError::NotASnapshot));
    let mut other = bytes.clone();
    other[0] ^= 1;
    assert!(matches!(
        read(&other),
        Some(RestoreError::OtherSchema { .. } | RestoreError::NotASnapshot)
    ));
}
