//! What an operator may order: handoffs that stay, refusals by name, draining, ends.
#![allow(clippy::unwrap_used)]

mod support;

use marchland_cellapp_core::cell::Role;
use marchland_cellapp_core::io::CellOrder;
use marchland_common::cluster::{MapChange, Member, MemberState};
use marchland_common::journal::{EndWhy, Event};
use marchland_common::msg::{BaseToCell, CellToBase, HandoffOrder, HandoffRefusal};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Tick};
use support::*;

fn refusals(cluster: &Cluster) -> Vec<(u64, HandoffRefusal)> {
    let refused = cluster.base.refused.iter().filter_map(|m| match m {
        CellToBase::OrderRefused { order, reason, .. } => Some((*order, *reason)),
        _ => None,
    });
    refused.collect()
}

fn entity_at(cluster: &mut Cluster, x: i32) -> EntityId {
    let id = cluster.base.create(1, 1, at(x, 50_000));
    cluster.run(2);
    id
}

#[test]
fn an_ordered_entity_stays_with_its_new_owner_for_the_hold_and_comes_back_by_the_border_rule() {
    let mut cluster = Cluster::new(2);
    let id = entity_at(&mut cluster, 20_000);
    cluster.handoff(7, id, cell(2), 200);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    let since = cluster.tick;
    cluster.run(2);
    assert!(cluster.cells[&cell(2)].brief(id).unwrap().pinned.is_some());
    cluster.until("the way back", |c| c.handoffs(id) == 2);
    let stayed = cluster.tick.0 - since.0;
    assert!((198..=202).contains(&stayed), "stayed for {stayed} ticks");
    cluster.run(3);
    assert_eq!(cluster.base.records[&id].owner, cell(1));
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
}

#[test]
fn an_order_without_hold_leaves_no_pin() {
    let mut cluster = Cluster::new(2);
    let id = entity_at(&mut cluster, 20_000);
    cluster.handoff(7, id, cell(2), 0);
    cluster.until("the handoff", |c| c.handoffs(id) == 1);
    cluster.until("the way back", |c| c.handoffs(id) == 2);
}

#[test]
fn of_ten_orders_at_once_one_is_carried_out_and_nine_are_refused_as_in_progress() {
    let mut cluster = Cluster::new(3);
    let id = entity_at(&mut cluster, 20_000);
    for order in 0..10 {
        cluster.handoff(order, id, cell(2 + (order % 2) as u16), 200);
    }
    cluster.run(5);
    assert_eq!(cluster.handoffs(id), 1);
    let refused = refusals(&cluster);
    assert_eq!(refused.len(), 9);
    assert!(refused.iter().all(|(_, why)| *why == HandoffRefusal::InProgress), "{refused:?}");
    assert_eq!(cluster.base.records[&id].owner, cell(2));
}

#[test]
fn an_order_that_cannot_be_is_refused_by_name() {
    let mut cluster = Cluster::new(3);
    let id = entity_at(&mut cluster, 20_000);
    let unknown = Node::new(NodeKind::Cell, 9, 90);
    let dead = Node::new(NodeKind::Cell, 8, 80);
    cluster.tell_all(MapChange::Dead(vec![dead.incarnation]));
    cluster.handoff(1, id, cell(1), 0);
    cluster.handoff(2, id, unknown, 0);
    cluster.handoff(3, id, dead, 0);
    let order = |order, entity, deadline| {
        BaseToCell::Order(HandoffOrder { order, entity, to: cell(2), hold: 0, deadline })
    };
    cluster.base.say(cell(1), order(4, id, Tick(1)));
    cluster.base.say(cell(1), order(5, entity(99), Tick(9_999)));
    cluster.run(3);
    let want = [
        (1, HandoffRefusal::AlreadyThere),
        (2, HandoffRefusal::NotInSpace),
        (3, HandoffRefusal::TargetDead),
        (4, HandoffRefusal::Deadline),
        (5, HandoffRefusal::NotOwned),
    ];
    assert_eq!(refusals(&cluster), want);
    assert_eq!(cluster.handoffs(id), 0);
}

#[test]
fn an_order_for_an_entity_that_stands_still_waits_for_its_deadline_and_is_refused() {
    let mut cluster = Cluster::new(2);
    let id = entity_at(&mut cluster, 20_000);
    let deadline = Tick(cluster.tick.0 + 10);
    let order = HandoffOrder { order: 3, entity: id, to: cell(2), hold: 0, deadline };
    cluster.order(cell(1), CellOrder::Freeze);
    cluster.base.say(cell(1), BaseToCell::Order(order));
    cluster.run(5);
    assert_eq!(refusals(&cluster), []);
    cluster.run(10);
    assert_eq!(refusals(&cluster), [(3, HandoffRefusal::Deadline)]);
    cluster.order(cell(1), CellOrder::Thaw);
    cluster.run(3);
    assert_eq!(cluster.handoffs(id), 0);
}

#[test]
fn an_aborted_order_takes_its_pin_back() {
    let mut cluster = Cluster::new(2);
    let id = entity_at(&mut cluster, 20_000);
    cluster.base.refuses = Some(HandoffRefusal::TargetSilent);
    cluster.handoff(7, id, cell(2), 200);
    cluster.run(5);
    assert_eq!(cluster.handoffs(id), 0);
    assert_eq!(cluster.cells[&cell(1)].brief(id).unwrap().role, Role::Real);
    assert_eq!(cluster.base.records[&id].image.pin, None);
}

#[test]
fn a_drain_hands_everything_to_those_who_take_it_and_nothing_comes_back() {
    let mut cluster = Cluster::new(3);
    for n in 1..=300 {
        cluster.base.create(n, 1, at(1_000 + (n as i32) * 250, 50_000));
    }
    cluster.run(2);
    let members = [(cell(1), MemberState::Draining), (cell(2), MemberState::Serving)]
        .into_iter()
        .chain([(cell(3), MemberState::Serving), (base(), MemberState::Serving)])
        .map(|(node, state)| Member { node, state });
    cluster.tell_all(MapChange::Members(members.collect()));
    cluster.order(cell(1), CellOrder::Drain);
    cluster.until("the last release", |c| c.cells[&cell(1)].reals().is_empty());
    assert!(!cluster.base.accepting[&cell(1)]);
    let of = |cluster: &Cluster, n| cluster.cells[&cell(n)].reals().len();
    assert_eq!(of(&cluster, 2) + of(&cluster, 3), 300);
    assert!(of(&cluster, 2) > 100 && of(&cluster, 3) > 100, "spread over both");
    cluster.run(30);
    assert_eq!(of(&cluster, 1), 0);
}

#[test]
fn what_was_granted_before_a_drain_was_heard_of_is_taken_and_handed_on() {
    let mut cluster = Cluster::new(2);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(1);
    cluster.order(cell(1), CellOrder::Drain);
    cluster.run(1);
    assert_eq!(cluster.cells[&cell(1)].reals(), [id], "the grant was under way");
    assert!(!cluster.base.accepting[&cell(1)]);
    cluster.until("the handoff", |c| c.cells[&cell(2)].reals() == [id]);
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
}

#[test]
fn a_drain_waits_while_nobody_takes_anything() {
    let mut cluster = Cluster::new(1);
    entity_at(&mut cluster, 20_000);
    cluster.order(cell(1), CellOrder::Drain);
    cluster.run(20);
    assert_eq!(cluster.cells[&cell(1)].reals().len(), 1);
}

#[test]
fn a_destroyed_entity_ends_with_one_last_step_and_is_gone_when_that_is_durable() {
    let mut cluster = Cluster::new(2);
    let id = entity_at(&mut cluster, 20_000);
    cluster.base.stalled = true;
    cluster.base.deliver(BaseToCell::Destroy { entity: id });
    cluster.base.stalled = false;
    cluster.run(1);
    cluster.base.stalled = true;
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].brief(id).unwrap().role, Role::Ended);
    cluster.base.stalled = false;
    cluster.run(3);
    assert!(cluster.base.records[&id].destroyed);
    assert_eq!(cluster.cells[&cell(1)].brief(id), None);
    let ends = cluster.events(cell(1)).filter(|(_, e)| {
        matches!(e, Event::Deactivated { why: EndWhy::Destroyed, epoch, .. }
            if *epoch == Epoch::of_grant(1))
    });
    assert_eq!(ends.count(), 1);
    let steps = cluster.base.steps.len();
    cluster.run(20);
    assert_eq!(cluster.base.steps.len(), steps, "nothing more is heard of it");
}

#[test]
fn no_grant_is_taken_while_the_own_registration_is_unproven() {
    let mut cluster = Cluster::new(2);
    cluster.order(cell(1), CellOrder::Accept(false));
    cluster.run(2);
    assert!(!cluster.base.accepting[&cell(1)]);
    let id = cluster.base.create(1, 1, at(20_000, 50_000));
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].reals(), []);
    cluster.order(cell(1), CellOrder::Accept(true));
    let grant = cluster.base.records[&id].granted.clone();
    cluster.base.say(cell(1), BaseToCell::Grant(grant));
    cluster.run(2);
    assert_eq!(cluster.cells[&cell(1)].reals(), [id]);
}

#[test]
fn a_jump_goes_to_the_owner_of_the_new_place_and_a_jump_at_home_stays() {
    let mut cluster = Cluster::new(2);
    let id = entity_at(&mut cluster, 20_000);
    cluster.attach(id, 1);
    let jump = |space: u8, x: i16, y: i16| {
        let ([x0, x1], [y0, y1]) = (x.to_le_bytes(), y.to_le_bytes());
        [space, x0, x1, y0, y1]
    };
    cluster.command(id, 1, JUMP, &jump(1, 90, 90));
    cluster.run(4);
    assert_eq!(cluster.handoffs(id), 0);
    cluster.command(id, 1, JUMP, &jump(2, 10, 10));
    cluster.run(4);
    assert_eq!(cluster.handoffs(id), 1);
    let brief = cluster.cells[&cell(2)].brief(id).unwrap();
    assert_eq!((brief.role, brief.place.space), (Role::Real, CAVE));
    assert_eq!(cluster.missed_and_doubled(id), (0, 0));
    assert_eq!(cluster.base.records[&id].image.place.space, CAVE);
    cluster.command(id, 1, JUMP, &jump(77, 10, 10));
    cluster.run(4);
    assert_eq!(cluster.cells[&cell(2)].brief(id).unwrap().place.space, CAVE);
}
