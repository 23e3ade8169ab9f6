//! Handoffs: one commit point, a grant that is repeated, a release that waits, and an end in every
//! case.

use crate::support::*;
use marchland_common::cluster::{MapChange, MemberState};
use marchland_common::journal::{Event, OwnerWhy, Refused};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

fn border(cluster: &mut Cluster, entity: EntityId) -> Prepare {
    let tick = cluster.tick + 1;
    cluster.owner(1).prepare(entity, cell(2), tick, HandoffWhy::Border)
}

fn aborts(owner: &Owner) -> Vec<HandoffRefusal> {
    owner.told(|msg| match msg {
        BaseToCell::Abort { reason, .. } => Some(*reason),
        _ => None,
    })
}

fn releases(owner: &Owner) -> usize {
    owner.told(|msg| matches!(msg, BaseToCell::Release { .. }).then_some(())).len()
}

fn fences(owner: &Owner) -> Vec<Epoch> {
    owner.told(|msg| match msg {
        BaseToCell::Fenced { epoch, .. } => Some(*epoch),
        _ => None,
    })
}

#[test]
fn an_entity_is_granted_reports_and_moves_to_its_next_owner() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let copy = cluster.owner(1).copies[&entity].clone();
    assert_eq!((copy.epoch, copy.why), (Epoch::of_grant(1), GrantWhy::Birth));
    assert_eq!(copy.argument, b"hello");
    border(&mut cluster, entity);
    cluster.ticks(2);
    let copy = cluster.owner(2).copies[&entity].clone();
    assert_eq!((copy.epoch, copy.why), (Epoch::of_grant(2), GrantWhy::Handoff));
    assert!(copy.argument.is_empty());
    assert!(!cluster.owner(1).holds(entity), "the old owner was released");
    let brief = cluster.bases[0].core.brief(entity).unwrap();
    assert_eq!((brief.owner, brief.epoch), (cell(2), Epoch::of_grant(2)));
    assert_eq!(cluster.bases[0].stats.in_handoff, 0);
}

#[test]
fn the_facts_of_a_handoff_let_an_audit_count_missed_and_doubled_ticks() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let last = cluster.tick + 1;
    border(&mut cluster, entity);
    cluster.ticks(2);
    let events = &cluster.bases[0].events;
    let changed = events.iter().rev().find_map(|e| match e {
        Event::OwnerChanged { last_tick, why, from, to, .. } => {
            Some((*last_tick, *why, *from, *to))
        }
        _ => None,
    });
    let why = OwnerWhy::Handoff(HandoffWhy::Border);
    assert_eq!(changed, Some((Some(Tick(last)), why, Some(cell(1)), cell(2))));
    let first = events.iter().rev().find_map(|e| match e {
        Event::FirstStep { first_tick, owner, .. } => Some((*first_tick, *owner)),
        _ => None,
    });
    assert_eq!(first, Some((Tick(last + 1), cell(2))), "no tick was missed and none doubled");
}

#[test]
fn nothing_of_a_handoff_leaves_before_its_record_is_durable() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    border(&mut cluster, entity);
    let mark = cluster.mark();
    for _ in 0..10 {
        cluster.flush();
    }
    assert!(cluster.said(mark, grant_of).is_empty());
    assert!(cluster.said(mark, to_cell).is_empty(), "not even an acknowledgement");
    cluster.sync();
    assert_eq!(cluster.said(mark, grant_of).len(), 1);
}

#[test]
fn the_source_is_released_only_after_the_first_step_of_the_target_is_durable() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    border(&mut cluster, entity);
    cluster.tick();
    assert!(cluster.owner(2).holds(entity));
    assert_eq!(releases(cluster.owner(1)), 0);
    cluster.flush();
    assert_eq!(releases(cluster.owner(1)), 0, "accepted, but not durable");
    cluster.sync();
    assert_eq!(releases(cluster.owner(1)), 1);
}

#[test]
fn a_request_that_comes_again_and_again_commits_once() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let prepare = border(&mut cluster, entity);
    for _ in 0..3 {
        cluster.owner(1).say(entity, CellToBase::Prepare(prepare.clone()));
    }
    cluster.owner(2).takes = false;
    cluster.tick();
    for _ in 0..6 {
        cluster.owner(1).say(entity, CellToBase::Prepare(prepare.clone()));
        cluster.tick();
    }
    let changes = cluster.bases[0].events.iter();
    let changes = changes.filter(|e| matches!(e, Event::OwnerChanged { .. })).count();
    assert_eq!(changes, 2, "the birth and one handoff");
    assert!(fences(cluster.owner(1)).is_empty(), "the holder of the fallback is never fenced");
}

#[test]
fn a_grant_is_repeated_until_the_first_step() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(2).takes = false;
    border(&mut cluster, entity);
    let mark = cluster.mark();
    cluster.ticks(10);
    let grants = cluster.said(mark, grant_of);
    assert_eq!(grants.len(), 3, "at once and every four ticks");
    assert!(grants.iter().all(|(to, g)| *to == cell(2) && g.epoch == Epoch::of_grant(2)));
    cluster.owner(2).takes = true;
    cluster.ticks(8);
    assert!(cluster.owner(2).holds(entity) && !cluster.owner(1).holds(entity));
    let mark = cluster.mark();
    cluster.ticks(10);
    assert!(cluster.said(mark, grant_of).is_empty());
}

#[test]
fn a_target_that_cannot_take_the_entity_aborts_the_handoff_with_the_reason() {
    type Spoil = fn(&mut Cluster);
    let cases: [(Spoil, HandoffRefusal); 5] = [
        (|c| c.owner(2).accepting = false, HandoffRefusal::TargetNotAccepting),
        (|c| c.owner(2).schema = SCHEMA - 1, HandoffRefusal::TargetTooOld),
        (|c| c.owner(2).talks = false, HandoffRefusal::TargetSilent),
        (|c| c.declare_dead(cell(2)), HandoffRefusal::TargetDead),
        (
            |c| {
                c.members[1].state = MemberState::Draining;
                c.announce();
            },
            HandoffRefusal::TargetNotAccepting,
        ),
    ];
    for (spoil, reason) in cases {
        let mut cluster = Cluster::new();
        let entity = cluster.born();
        spoil(&mut cluster);
        cluster.ticks(6);
        border(&mut cluster, entity);
        cluster.tick();
        assert_eq!(aborts(cluster.owner(1)), [reason]);
        let brief = cluster.bases[0].core.brief(entity).unwrap();
        assert_eq!((brief.owner, brief.epoch), (cell(1), Epoch::of_grant(1)));
        cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![1]))]);
        cluster.tick();
        let brief = cluster.bases[0].core.brief(entity).unwrap();
        assert_eq!(brief.durable[1].1, Value::Bytes(vec![1]), "it runs on under its epoch");
    }
}

#[test]
fn a_refused_request_stays_refused_and_a_later_one_is_another_request() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(2).accepting = false;
    cluster.tick();
    let prepare = border(&mut cluster, entity);
    cluster.tick();
    cluster.owner(2).accepting = true;
    cluster.ticks(2);
    cluster.owner(1).say(entity, CellToBase::Prepare(prepare));
    cluster.tick();
    let refused = HandoffRefusal::TargetNotAccepting;
    assert_eq!(aborts(cluster.owner(1)), [refused, refused]);
    border(&mut cluster, entity);
    cluster.ticks(2);
    assert!(cluster.owner(2).holds(entity));
}

#[test]
fn a_pause_of_the_base_makes_no_target_silent() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.tick += 40;
    border(&mut cluster, entity);
    cluster.ticks(2);
    assert!(cluster.owner(2).holds(entity));
}

#[test]
fn a_request_whose_last_step_is_missing_asks_for_the_state_and_then_commits() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let prepare = border(&mut cluster, entity);
    let at = cluster.owner(1).out.iter().position(|(_, m)| matches!(m, CellToBase::Step(_)));
    let CellToBase::Step(mut step) = cluster.owner(1).out.remove(at.unwrap()).1 else { panic!() };
    cluster.tick();
    let asked =
        cluster.owner(1).told(|m| matches!(m, BaseToCell::NeedSnapshot { .. }).then_some(()));
    assert_eq!(asked.len(), 1);
    assert!(aborts(cluster.owner(1)).is_empty());
    let state = cluster.owner(1).copies[&entity].state.clone();
    step.body = StepBody::Snapshot(Box::new(state));
    cluster.owner(1).say(entity, CellToBase::Step(step));
    cluster.owner(1).say(entity, CellToBase::Prepare(prepare));
    cluster.ticks(2);
    assert!(cluster.owner(2).holds(entity));
}

#[test]
fn the_sources_late_duplicates_are_not_fenced_while_its_copy_is_the_fallback() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let step = cluster.owner(1).step(entity, Vec::new());
    cluster.owner(2).takes = false;
    border(&mut cluster, entity);
    cluster.tick();
    cluster.owner(1).say(entity, CellToBase::Step(step.clone()));
    cluster.tick();
    assert!(fences(cluster.owner(1)).is_empty());
    cluster.owner(2).takes = true;
    cluster.ticks(8);
    cluster.owner(1).say(entity, CellToBase::Step(step));
    cluster.tick();
    assert_eq!(fences(cluster.owner(1)), [Epoch::of_grant(1)], "after the release it is");
}

#[test]
fn a_grant_that_nobody_takes_goes_back_to_the_source_and_the_silent_target_is_fenced_by_name() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(2).takes = false;
    border(&mut cluster, entity);
    cluster.ticks(25);
    let copy = cluster.owner(1).copies[&entity].clone();
    assert_eq!((copy.epoch, copy.why), (Epoch::of_grant(3), GrantWhy::Restore));
    assert!(!fences(cluster.owner(2)).is_empty(), "told unasked");
    assert!(fences(cluster.owner(1)).is_empty());
    let durable = cluster.owners[&cell(2)].durable[&base(1)];
    assert_eq!(durable, Some(Tick(cluster.tick)), "the window of a healthy life stays open");
}

#[test]
fn a_target_that_was_alive_all_the_time_loses_its_late_steps_and_nothing_else() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    let other = cluster.born_at(0, east());
    border(&mut cluster, entity);
    cluster.tick();
    // The target took the grant, but what it says about the entity does not arrive.
    let late: Vec<_> = std::mem::take(&mut cluster.owner(2).out);
    cluster.ticks(22);
    assert!(cluster.owner(1).copies[&entity].epoch == Epoch::of_grant(3));
    assert!(!cluster.owner(2).holds(entity), "the fence has reached it, idle as it was");
    cluster.owner(2).out.extend(late);
    cluster.owner(2).step(other, vec![Change::Prop(NOTE, Value::Bytes(vec![7]))]);
    cluster.ticks(2);
    assert_eq!(cluster.bases[0].refusals(Refused::StaleEpoch), 1);
    let brief = cluster.bases[0].core.brief(other).unwrap();
    assert_eq!(brief.durable[1].1, Value::Bytes(vec![7]), "its other entity went on");
    assert_eq!(cluster.bases[0].core.brief(entity).unwrap().owner, cell(1));
}

#[test]
fn a_stale_grant_is_replaced_at_once_by_one_that_can_be_taken() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(2).takes = false;
    border(&mut cluster, entity);
    cluster.tick();
    let (epoch, known) = (Epoch::of_grant(2), Epoch::of_grant(9));
    cluster.owner(2).say(entity, CellToBase::GrantStale { entity, epoch, known });
    cluster.ticks(2);
    assert_eq!(cluster.bases[0].core.brief(entity).unwrap().owner, cell(1));
    assert!(cluster.owner(1).copies[&entity].epoch > epoch);
}

#[test]
fn deadlines_alternate_until_somebody_reports() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    (1..=3).for_each(|n| cluster.owner(n).takes = false);
    border(&mut cluster, entity);
    cluster.ticks(150);
    let heirs: Vec<Node> = cluster.bases[0]
        .events
        .iter()
        .filter_map(|e| match e {
            Event::OwnerChanged { to, .. } => Some(*to),
            _ => None,
        })
        .collect();
    assert_eq!(heirs[..3], [cell(1), cell(2), cell(1)], "first back to the source");
    assert!(heirs.contains(&cell(3)), "then to whoever else there is: {heirs:?}");
    (1..=3).for_each(|n| cluster.owner(n).takes = true);
    cluster.ticks(8);
    assert_eq!(cluster.bases[0].stats.in_handoff, 0);
}

#[test]
fn a_verdict_restores_from_the_durable_image_and_nothing_of_the_dead_life_counts_any_more() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![1]))]);
    cluster.ticks(2);
    let before = cluster.owners[&cell(1)].durable[&base(1)];
    cluster.declare_dead(cell(1));
    // It was paused, and speaks on as if nothing had happened.
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![2]))]);
    cluster.ticks(3);
    let heir = cluster.bases[0].core.brief(entity).unwrap();
    assert_eq!(heir.epoch, Epoch::of_grant(2));
    assert_eq!(heir.durable[1].1, Value::Bytes(vec![1]));
    assert!(!cluster.owner(1).holds(entity), "it spoke and was told");
    assert!(cluster.bases[0].refusals(Refused::StaleIncarnation) >= 1);
    cluster.ticks(10);
    let after = cluster.owners[&cell(1)].durable[&base(1)];
    assert_eq!(before, after, "the window of a dead life shuts for ever, also without a word");
}

#[test]
fn a_restore_waits_until_somebody_can_take_the_entity() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    (2..=3).for_each(|n| cluster.owner(n).talks = false);
    cluster.ticks(6);
    cluster.owner(1).talks = false;
    cluster.declare_dead(cell(1));
    cluster.ticks(10);
    assert_eq!(cluster.bases[0].core.brief(entity).unwrap().owner, cell(1), "nobody can");
    cluster.owner(2).talks = true;
    cluster.ticks(3);
    assert!(cluster.owner(2).holds(entity));
}

#[test]
fn a_restored_entity_has_lived_through_every_tick_that_its_lost_owner_reported() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(1).step(entity, vec![Change::Prop(NOTE, Value::Bytes(vec![1]))]);
    cluster.tick();
    cluster.ticks(5);
    let lived = cluster.owner(1).copies[&entity].time;
    cluster.owner(1).talks = false;
    cluster.declare_dead(cell(1));
    cluster.ticks(1);
    let grants = cluster.said(0, grant_of);
    let (_, grant) = grants.last().unwrap();
    assert_eq!(grant.why, GrantWhy::Restore);
    assert_eq!(grant.state.time.0, lived);
}

#[test]
fn a_target_that_dies_before_it_reports_is_replaced_without_waiting_for_the_deadline() {
    let mut cluster = Cluster::new();
    let entity = cluster.born();
    cluster.owner(2).takes = false;
    border(&mut cluster, entity);
    cluster.tick();
    cluster.declare_dead(cell(2));
    cluster.ticks(2);
    assert_eq!(cluster.owner(1).copies[&entity].epoch, Epoch::of_grant(3));
}

#[test]
fn maps_that_are_older_than_known_are_refused() {
    let mut cluster = Cluster::new();
    let old = layout([cell(3), cell(3), cell(3)]);
    cluster.bases[0].map.push(MapChange::Layout(old));
    cluster.tick();
    assert_eq!(cluster.bases[0].refusals(Refused::StaleLayout), 1);
}
