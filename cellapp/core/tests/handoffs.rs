//! Handoffs, whole: from the border to the release, and every way in which one does not happen.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::cell::Role;
use marchland_common::journal::{EndWhy, Event};
use marchland_common::msg::HandoffWhy;
use marchland_common::order::{EntityId, Epoch, Tick};
use support::*;

fn walker(cluster: &mut Cluster, x: i32, speed: i32) -> EntityId {
    let id = cluster.base.create(1, 1, at(x, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.command(id, 1, WALK, &speed.to_le_bytes());
    id
}

#[test]
fn an_entity_that_walks_over_a_border_is_simulated_in_every_tick_by_exactly_one_owner() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.until("the release", |c| {
        let events = c.events(cell(1));
        events
            .into_iter()
            .any(|(_, e)| matches!(e, Event::Deactivated { why: EndWhy::Released, .. }))
    });
    assert_eq!(cluster.handoffs(id), 1);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
    let record = &cluster.base.records[&id];
    assert_eq!((record.owner, record.epoch), (cell(2), Epoch::of_grant(2)));
    assert!(cluster.cells[&cell(1)].brief(id).is_none_or(|brief| brief.role == Role::Ghost));
    let here = cluster.cells[&cell(2)].brief(id).unwrap();
    assert_eq!((here.role, here.owner), (Role::Real, cell(2)));

    // Entity time grew by one step in each tick since the birth, across both owners.
    let born = record.first_ticks[0];
    let lived = cluster.tick.0 - born.0 + 1;
    assert_eq!(cluster.cells[&cell(2)].state(id).unwrap().time.0, lived * STEP_US);
}

#[test]
fn a_handoff_is_prepare_grant_first_step_release_in_the_fewest_ticks_and_with_the_reason() {
    let mut cluster = Cluster::new(2);
    let id = walker(&mut cluster, 95_000, 500);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(3);
    let tick_of = |node, wanted: &dyn Fn(&Event) -> bool| -> Tick {
        cluster.events(node).find(|(_, e)| wanted(e)).map(|(tick, _)| tick).unwrap()
    };
    let frozen = tick_of(cell(1), &|e| matches!(e, Event::Frozen { why: HandoffWhy::Border, .. }));
    let active = tick_of(cell(2), &|e| matches!(e, Event::Activated { .. }));
    let gone = tick_of(cell(1), &|e| matches!(e, Event::Deactivated { .. }));
    assert_eq!((active.0 - frozen.0, gone.0 - active.0), (1, 1));
}
