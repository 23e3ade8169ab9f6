//! Entities that entities create: exactly once.

use crate::support::*;
use marchland_baseapp_core::log::LogRecord;
use marchland_common::journal::Event;
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::world::*;

#[test]
fn an_entity_is_created_by_a_message_exactly_once_with_the_value_of_the_message() {
    let mut cluster = Cluster::new();
    let a = cluster.born();
    post(&mut cluster, 1, a, Address::Spawn { kind: HERO, place: east() }, 40);
    cluster.ticks(2);
    let answers = cluster.owner(1).answers();
    let (1, MessageOutcome::Spawned(child)) = answers[0].clone() else { panic!("{answers:?}") };
    assert_eq!((gold(&cluster, a), gold(&cluster, child)), (60, 40));
    let copy = cluster.owner(2).copies[&child].clone();
    assert_eq!((copy.why, copy.argument), (GrantWhy::Birth, b"gold".to_vec()));
    let created = cluster.bases[0].events.iter().find_map(|event| match event {
        Event::Created { entity, source, value, .. } if *entity == child => Some((*source, *value)),
        _ => None,
    });
    assert_eq!(created, Some((Some((a, 1)), 40)));
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, a), 60);
    assert_balanced(&cluster);
}

#[test]
fn a_restart_between_the_wish_and_the_birth_creates_one_and_a_restart_after_it_none() {
    let mut cluster = Cluster::new();
    let a = cluster.born();
    post(&mut cluster, 1, a, Address::Spawn { kind: HERO, place: east() }, 40);
    cluster.flush();
    let records = cluster.bases[0].records();
    let is_birth = |r: &LogRecord| matches!(r, LogRecord::Created(c) if c.source.is_some());
    let birth = records.iter().position(is_birth).unwrap();
    assert!(matches!(records[birth - 1], LogRecord::Step(_)), "right behind the step");
    for kept in [birth, birth + 1] {
        let mut again = Cluster::new();
        again.owners = cluster.owners.clone();
        again.bases[0].log = cluster.bases[0].log.clone();
        let kinds = again.kinds.clone();
        again.bases[0].restart(&kinds, kept);
        let node = again.bases[0].node;
        again.members.last_mut().unwrap().node = node;
        again.announce();
        again.ticks(3);
        let born = again.bases[0].records();
        assert_eq!(born.iter().filter(|r| is_birth(r)).count(), 1, "kept {kept}");
        assert_eq!(again.bases[0].stats.entities, 2);
        let mut answers = again.owner(1).answers();
        answers.dedup();
        assert_eq!(answers.len(), 1, "said again, never another");
    }
}

#[test]
fn a_birth_that_nobody_can_own_waits_and_is_refused_for_good_in_the_end() {
    let mut cluster = Cluster::new();
    let a = cluster.born();
    let nowhere = Place { space: SpaceId(9), ..east() };
    post(&mut cluster, 1, a, Address::Spawn { kind: HERO, place: nowhere }, 40);
    post(&mut cluster, 1, a, Address::Spawn { kind: KindId(9), place: east() }, 5);
    cluster.ticks(3);
    let (2, MessageOutcome::Rejected(Rejection::Rule(why))) = cluster.owner(1).answers()[0].clone()
    else {
        panic!("{:?}", cluster.owner(1).answers())
    };
    assert!(why.contains("kind 9"));
    cluster.ticks(110);
    assert_eq!(cluster.owner(1).answers().last().unwrap().0, 1);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!(gold(&cluster, a), 100);
    assert_balanced(&cluster);
}
