//! What neighbours and clients see of an entity that walks from owner to owner.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::cell::Role;
use marchland_cellapp_core::io::CellOrder;
use marchland_common::cluster::MapChange;
use marchland_common::journal::{Event, GhostEnd, Refused};
use marchland_common::order::{EntityId, Node, SessionId};
use marchland_common::world::Value;
use support::*;

fn role(cluster: &Cluster, n: u16, id: EntityId) -> Option<Role> {
    cluster.cells[&cell(n)].brief(id).map(|brief| brief.role)
}

/// The newest digest of the ghost state that anybody flushed and that anybody showed must agree.
fn assert_ghosts_follow(cluster: &Cluster) {
    let mut flushed = std::collections::BTreeMap::new();
    for (_, _, event) in cluster.all_events() {
        match event {
            Event::GhostFlushed { entity, epoch, seq, digest } => {
                flushed.insert((*entity, *epoch, *seq), *digest);
            }
            Event::GhostApplied { entity, epoch, seq, digest, .. } => {
                assert_eq!(flushed.get(&(*entity, *epoch, *seq)), Some(digest), "{event:?}");
            }
            _ => {}
        }
    }
}

fn entered_and_left(cluster: &Cluster, witness: EntityId, whom: EntityId) -> (usize, usize) {
    let mut counts = (0, 0);
    for (_, _, event) in cluster.all_events() {
        match event {
            Event::Entered { witness: by, entity, .. } if (*by, *entity) == (witness, whom) => {
                counts.0 += 1;
            }
            Event::Left { witness: by, entity, .. } if (*by, *entity) == (witness, whom) => {
                counts.1 += 1;
            }
            _ => {}
        }
    }
    counts
}

#[test]
fn a_neighbour_has_a_ghost_from_afar_and_keeps_it_through_the_handoff_without_a_break() {
    let mut cluster = Cluster::new(2);
    let speed = [(SPEED, Value::Int(500))];
    let id = cluster.base.create_as(1, 1, at(40_000, 50_000), THING, &speed);
    cluster.run(5);
    assert_eq!(role(&cluster, 2, id), None, "60 m away is too far");
    cluster.until("the ghost", |c| role(c, 2, id) == Some(Role::Ghost));
    let x = cluster.cells[&cell(1)].brief(id).unwrap().place.pos.x;
    assert!((50_000..52_000).contains(&x), "made at {x}");
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.run(3);
    assert_eq!(role(&cluster, 2, id), Some(Role::Real));
    assert_eq!(role(&cluster, 1, id), Some(Role::Ghost));
    let owner = cluster.cells[&cell(1)].brief(id).unwrap().owner;
    assert_eq!(owner, Some(cell(2)));
    let ended = cluster
        .all_events()
        .filter(|(_, _, e)| matches!(e, Event::GhostEnded { why: GhostEnd::BecameReal, .. }));
    assert_eq!(ended.count(), 1);
    cluster.until("the ghost behind it goes", |c| role(c, 1, id).is_none());
    let x = cluster.cells[&cell(2)].brief(id).unwrap().place.pos.x;
    assert!(x > 155_000, "it stayed up to the margin, and went at {x}");
    assert_ghosts_follow(&cluster);
}

#[test]
fn a_ghost_converges_to_its_real_and_shows_only_what_is_ghosted() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(95_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.command(id, 1, ADD, b"secret");
    cluster.command(id, 1, WALK, &(-30_i32).to_le_bytes());
    cluster.run(20);
    cluster.command(id, 1, WALK, &0_i32.to_le_bytes());
    cluster.run(4);
    let real = cluster.cells[&cell(1)].brief(id).unwrap();
    let ghost = cluster.cells[&cell(2)].brief(id).unwrap();
    assert_eq!(ghost.role, Role::Ghost);
    assert!((ghost.place.pos.x - real.place.pos.x).abs() <= 25);
    let shown: Vec<u8> = ghost.props.iter().map(|(index, _)| *index).collect();
    assert_eq!(shown, [HEALTH, MOOD]);
    assert_ghosts_follow(&cluster);
}

#[test]
fn who_watches_a_crossing_sees_nobody_leave_or_enter_and_so_does_the_one_who_crosses() {
    let mut cluster = Cluster::new(2);
    let speed = [(SPEED, Value::Int(400))];
    let walker = cluster.base.create_as(1, 1, at(90_000, 50_000), THING, &speed);
    let west = cluster.base.create(2, 1, at(90_000, 52_000));
    let east = cluster.base.create(3, 2, at(110_000, 52_000));
    cluster.run(2);
    for (id, session) in [(walker, 1), (west, 2), (east, 3)] {
        cluster.attach_with_view(id, session, 40_000);
    }
    cluster.until("the handoff", |c| c.handoffs(walker) == 1);
    cluster.run(5);
    for (witness, whom) in [(walker, west), (walker, east), (west, walker), (east, walker)] {
        assert_eq!(entered_and_left(&cluster, witness, whom), (1, 0), "{witness:?} on {whom:?}");
    }
    let views = cluster.base.views.iter().filter(|view| view.entity == walker && view.fresh);
    assert_eq!(views.count(), 1, "its view goes on at the new owner");
    assert_ghosts_follow(&cluster);
}

#[test]
fn a_restored_entity_is_shown_anew_to_its_own_client_and_taken_back_for_the_others() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(95_000, 50_000));
    let other = cluster.base.create(2, 2, at(105_000, 50_000));
    cluster.run(2);
    cluster.attach_with_view(id, 1, 40_000);
    cluster.attach_with_view(other, 2, 40_000);
    cluster.run(5);
    cluster.base.re_own(id, cell(2));
    cluster.run(5);
    assert_eq!(role(&cluster, 2, id), Some(Role::Real));
    let fresh = cluster
        .all_events()
        .filter(|(_, _, e)| matches!(e, Event::ViewRestarted { witness, .. } if *witness == id));
    assert_eq!(fresh.count(), 2);
    assert_eq!(entered_and_left(&cluster, other, id), (1, 0));
    assert_ghosts_follow(&cluster);
}

#[test]
fn a_client_that_detaches_or_comes_back_begins_from_nothing() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    let other = cluster.base.create(2, 1, at(55_000, 50_000));
    cluster.run(2);
    cluster.attach_with_view(id, 1, 40_000);
    cluster.run(4);
    cluster.attach_with_view(id, 1, 40_000);
    cluster.run(4);
    assert_eq!(entered_and_left(&cluster, id, other), (2, 1));
    let detach = marchland_common::msg::BaseToCell::Detach { entity: id, session: SessionId(1) };
    cluster.base.say(cell(1), detach);
    cluster.run(4);
    assert_eq!(entered_and_left(&cluster, id, other), (2, 2));
    assert_eq!(cluster.outputs.last().unwrap().2.stats.witnesses, 0);
}

#[test]
fn a_destroyed_entity_leaves_every_view_and_every_host() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(95_000, 50_000));
    let other = cluster.base.create(2, 2, at(105_000, 50_000));
    cluster.run(2);
    cluster.attach_with_view(other, 2, 40_000);
    cluster.run(5);
    assert_eq!(role(&cluster, 2, id), Some(Role::Ghost));
    cluster.base.deliver(marchland_common::msg::BaseToCell::Destroy { entity: id });
    cluster.run(6);
    assert_eq!((role(&cluster, 1, id), role(&cluster, 2, id)), (None, None));
    assert_eq!(entered_and_left(&cluster, other, id), (1, 1));
}

#[test]
fn signals_arrive_once_and_in_order_while_both_ends_change_their_owner() {
    let mut cluster = Cluster::new(2);
    let source = cluster.base.create(1, 1, at(80_000, 50_000));
    let to = cluster.base.create(2, 1, at(90_000, 50_000));
    cluster.run(2);
    cluster.attach(source, 1);
    cluster.run(2);
    let mut sent = 0;
    for round in 0..120_u64 {
        if round % 15 == 5 {
            cluster.handoff(round, to, cell(2 - (round / 15 % 2) as u16), 200);
        }
        if round % 40 == 20 {
            cluster.handoff(round, source, cell(2 - (round / 40 % 2) as u16), 200);
        }
        cluster.command(source, 1, WAVE, &to.0.to_le_bytes());
        sent += 1;
        cluster.step();
    }
    cluster.run(20);
    assert!(cluster.handoffs(to) >= 6 && cluster.handoffs(source) >= 2);
    let heard: Vec<_> = cluster
        .all_events()
        .filter_map(|(_, _, e)| match e {
            Event::SignalRun { source: from, epoch, n, .. } if *from == source => {
                Some((*epoch, *n))
            }
            _ => None,
        })
        .collect();
    assert!(heard.windows(2).all(|two| two[0] < two[1]), "in order, none twice");
    let lost: u32 = cluster
        .all_events()
        .map(|(_, _, e)| match e {
            Event::Refusal { reason: Refused::SignalLost, count, .. } => *count,
            _ => 0,
        })
        .sum();
    assert_eq!(heard.len() + lost as usize, sent, "each is heard or counted");
    assert!(heard.len() > 100, "only {} of {sent} heard", heard.len());
}

#[test]
fn a_neighbour_that_died_holds_no_ghosts_and_its_own_are_marked_and_dropped() {
    let mut cluster = Cluster::new(2);
    let west = cluster.base.create(1, 1, at(95_000, 50_000));
    let east = cluster.base.create(2, 2, at(105_000, 50_000));
    cluster.run(5);
    assert_eq!(role(&cluster, 1, east), Some(Role::Ghost));
    assert_eq!(role(&cluster, 2, west), Some(Role::Ghost));
    cluster.paused.push(cell(2));
    let dead = cell(2).incarnation;
    cluster.tell(cell(1), MapChange::Dead(vec![dead]));
    cluster.run(5);
    let to_dead = |c: &Cluster| {
        let (_, _, last) = c.outputs.iter().rev().find(|(n, _, _)| *n == cell(1)).unwrap();
        last.bundles.iter().any(|out| out.to == cell(2))
    };
    assert!(!to_dead(&cluster), "nobody writes to the dead");
    assert_eq!(role(&cluster, 1, east), Some(Role::Ghost), "somebody may restore it");
    cluster.run(450);
    assert_eq!(role(&cluster, 1, east), None);
}

#[test]
fn ghosts_come_back_after_a_broken_link() {
    let mut cluster = Cluster::new(2);
    let speed = [(SPEED, Value::Int(10))];
    let id = cluster.base.create_as(1, 1, at(95_000, 50_000), THING, &speed);
    cluster.run(5);
    cluster.lose_cell_mail = true;
    cluster.run(3);
    cluster.lose_cell_mail = false;
    for node in [cell(1), cell(2)] {
        let peer: Node = if node == cell(1) { cell(2) } else { cell(1) };
        cluster.order(node, CellOrder::LinkReset(peer));
    }
    cluster.run(4);
    let real = cluster.cells[&cell(1)].brief(id).unwrap().place.pos.x;
    let ghost = cluster.cells[&cell(2)].brief(id).unwrap();
    assert_eq!(ghost.role, Role::Ghost);
    assert!((ghost.place.pos.x - real).abs() <= 45, "{} and {real}", ghost.place.pos.x);
    assert_ghosts_follow(&cluster);
}

#[test]
fn a_cell_that_missed_bundles_shows_ghosts_again_once_their_sender_knows_of_the_loss() {
    let mut cluster = Cluster::new(2);
    let speed = [(SPEED, Value::Int(10))];
    let id = cluster.base.create_as(1, 1, at(95_000, 50_000), THING, &speed);
    cluster.run(5);
    cluster.lose_mail_to = Some(cell(2));
    cluster.run(3);
    cluster.lose_mail_to = None;
    cluster.run(20);
    let behind = |c: &Cluster| {
        let real = c.cells[&cell(1)].brief(id).unwrap().place.pos.x;
        real - c.cells[&cell(2)].brief(id).unwrap().place.pos.x
    };
    assert!(behind(&cluster) >= 150, "the ghost follows nobody, {} behind", behind(&cluster));
    cluster.order(cell(1), CellOrder::LinkReset(cell(2)));
    cluster.run(3);
    assert!(behind(&cluster).abs() <= 45, "{} behind", behind(&cluster));
    assert_ghosts_follow(&cluster);
}

#[test]
fn a_third_session_ends_the_view_of_the_first() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.base.create(2, 1, at(55_000, 50_000));
    cluster.run(2);
    for session in 1..=3 {
        cluster.attach_with_view(id, session, 40_000);
        cluster.run(3);
    }
    assert_eq!(cluster.outputs.last().unwrap().2.stats.witnesses, 2);
    let rows = cluster.base.records[&id].image.commands.rows().to_vec();
    assert_eq!(rows.iter().map(|row| row.session.0).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn an_entity_past_a_border_is_said_to_have_strayed_until_it_leaves_or_returns() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(98_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.command(id, 1, WALK, &800_i32.to_le_bytes());
    let said = |c: &Cluster| -> Vec<bool> {
        let events = c.events(cell(1)).filter_map(|(_, e)| match e {
            Event::Strayed { .. } => Some(true),
            Event::Returned { .. } => Some(false),
            _ => None,
        });
        events.collect()
    };
    cluster.until("it strayed", |c| said(c) == [true]);
    cluster.command(id, 1, WALK, &(-800_i32).to_le_bytes());
    cluster.until("it returned", |c| said(c) == [true, false]);
    cluster.command(id, 1, WALK, &800_i32.to_le_bytes());
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    assert_eq!(said(&cluster), [true, false, true]);
}
