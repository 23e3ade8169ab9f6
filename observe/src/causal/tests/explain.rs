//! A command that came to the old owner of an entity and ran at the new one, explained.

#![allow(clippy::unwrap_used)]

use super::support::{A, ALL, B, C, id, moment};
use crate::causal::{
    Catalog, EventId, Explanation, Hop, PastEdge, Relation, Via, explain, ownership, past,
};
use crate::journals::Journals;
use marchland_common::journal::{EndWhy, Event, HeldWhy, OwnerWhy, Record, TickRecord};
use marchland_common::msg::{GrantWhy, HandoffWhy, Moment};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, Seq, SessionId, Tick};
use marchland_common::world::CommandOutcome;

const ENTITY: EntityId = EntityId(258);
const SESSION: SessionId = SessionId(9);
const OLD: Epoch = Epoch::of_grant(7);
const NEW: Epoch = Epoch::of_grant(8);

fn released(record: Record) -> Record {
    match record {
        Record::Tick(tick) => Record::Tick(TickRecord { moment: Moment::Release(1), ..tick }),
        other => other,
    }
}

fn step(epoch: Epoch, seq: u64) -> Event {
    Event::Stepped { entity: ENTITY, epoch, seq: Seq(seq), prev_digest: 1, digest: 2 }
}

fn accepted(epoch: Epoch, seq: u64, owner: Node, lsn: u64) -> Event {
    Event::Accepted {
        entity: ENTITY,
        epoch,
        seq: Seq(seq),
        owner,
        src_tick: Tick(1200),
        prev_digest: 1,
        digest: 2,
        flow: None,
        lsn: Lsn(lsn),
    }
}

fn sent(epoch: Epoch, to: Node) -> Event {
    Event::CommandSent { entity: ENTITY, epoch, session: SESSION, n: 3, to }
}

fn old_owner() -> Vec<Record> {
    let frozen = Event::Frozen {
        entity: ENTITY,
        epoch: OLD,
        seq: Seq(4),
        target: B,
        why: HandoffWhy::Order(1),
    };
    let held = Event::CommandHeld {
        entity: ENTITY,
        epoch: OLD,
        session: SESSION,
        n: 3,
        why: HeldWhy::Handoff,
    };
    let dropped = Event::CommandDropped { entity: ENTITY, session: SESSION, n: 3, base: Some(C) };
    let gone =
        Event::Deactivated { entity: ENTITY, epoch: OLD, seq: Seq(4), why: EndWhy::Released };
    vec![
        moment(1200, &[], &[(C, 10), (B, 20)], vec![step(OLD, 4), frozen]),
        moment(1201, &[(C, 30, 1200)], &[(C, 11), (B, 21)], vec![held]),
        moment(1203, &[(C, 32, 1202)], &[], vec![dropped, gone]),
    ]
}

fn new_owner() -> Vec<Record> {
    let activated = Event::Activated {
        entity: ENTITY,
        epoch: NEW,
        seq: Seq(4),
        digest: 2,
        base: C,
        why: GrantWhy::Handoff,
    };
    let ran = Event::CommandRun {
        entity: ENTITY,
        epoch: NEW,
        session: SESSION,
        n: 3,
        outcome: CommandOutcome::Applied(vec![1]),
    };
    let came = [(A, 20, 1200), (A, 21, 1201), (C, 40, 1200), (C, 41, 1201)];
    vec![moment(1202, &came, &[(C, 50)], vec![activated, ran, step(NEW, 5)])]
}

/// `late` is whether the base hears of the old owner's last tick only after it changed the owner.
fn base(late: bool) -> Vec<Record> {
    let queued = Event::CommandQueued { entity: ENTITY, session: SESSION, n: 3 };
    let changed = Event::OwnerChanged {
        entity: ENTITY,
        epoch: NEW,
        seq: Seq(4),
        from: Some(A),
        to: B,
        why: OwnerWhy::Handoff(HandoffWhy::Order(1)),
        last_tick: Some(Tick(1200)),
        lsn: Lsn(77),
    };
    let first = Event::FirstStep { entity: ENTITY, epoch: NEW, owner: B, first_tick: Tick(1202) };
    let confirmed = Event::CommandConfirmed {
        entity: ENTITY,
        session: SESSION,
        n: 3,
        outcome: CommandOutcome::Applied(vec![1]),
        epoch: NEW,
        seq: Seq(5),
    };
    let (early, then): (&[_], &[_]) = match late {
        true => (&[(A, 10, 1200)], &[(A, 11, 1201), (B, 50, 1202)]),
        false => (&[(A, 10, 1200), (A, 11, 1201)], &[(B, 50, 1202)]),
    };
    let durable = |lsn| Event::Durable { lsn: Lsn(lsn) };
    vec![
        moment(1200, &[], &[(A, 30), (B, 40)], vec![queued, sent(OLD, A)]),
        moment(1201, early, &[(A, 31)], vec![accepted(OLD, 4, A, 76), changed]),
        released(moment(1201, &[], &[(B, 41)], vec![durable(77), sent(NEW, B)])),
        moment(1202, then, &[], vec![accepted(NEW, 5, B, 78), first]),
        released(moment(1202, &[], &[(A, 32)], vec![durable(78), confirmed])),
    ]
}

pub fn handoff(late: bool) -> Journals {
    Journals::from_records(vec![(A, old_owner()), (B, new_owner()), (C, base(late))])
}

fn find(journals: &Journals, catalog: &Catalog, node: Node, kind: &str) -> EventId {
    let facts = (0..).map_while(|n| catalog.fact(journals, id(node, n)).ok());
    let mut found = facts.filter(|fact| fact.kind() == kind);
    found.next().unwrap_or_else(|| panic!("{node} has no {kind}")).id
}

fn explained(late: bool) -> Explanation {
    let journals = handoff(late);
    let catalog = Catalog::of(&journals);
    let queued = find(&journals, &catalog, C, "command_queued");
    let ran = find(&journals, &catalog, B, "command_run");
    explain(&journals, &catalog, queued, ran).unwrap()
}

fn told(explained: &Explanation) -> Vec<String> {
    let hop = |hop: &Hop| format!("{} {} {:?}", hop.fact.id.node.name, hop.fact.kind(), hop.via);
    explained.hops.iter().map(hop).collect()
}

#[test]
fn a_command_that_came_to_the_old_owner_is_followed_to_the_new_one() {
    let explained = explained(false);
    assert_eq!(explained.relation, Relation::Before);
    assert_eq!(explained.ticks, 2);
    let expected = [
        "base-1 command_queued Start",
        "base-1 command_sent Program",
        "cell-1 command_held Message",
        "base-1 owner_changed Message",
        "base-1 durable Program",
        "base-1 command_sent Program",
        "cell-2 activated Message",
        "cell-2 command_run Program",
    ];
    assert_eq!(told(&explained), expected, "{explained:#?}");
    let rule = |at: usize| explained.hops[at].rule.as_str();
    assert!(rule(2).contains("bundle 30 from base-1 to cell-1"), "{}", rule(2));
    assert!(rule(2).contains("frozen for a handoff to cell-2 since cell-1:1"), "{}", rule(2));
    assert!(rule(4).contains("record 77 to be durable"), "{}", rule(4));
    assert!(rule(6).contains("bundle 41 from base-1 to cell-2"), "{}", rule(6));
    assert!(explained.left_out.is_empty(), "{:?}", explained.left_out);
    assert!(explained.hops.iter().all(|hop| hop.on_path));
    // The other way round it is the same chain.
    let journals = handoff(false);
    let catalog = Catalog::of(&journals);
    let [a, b] = ["base-1:0", "cell-2:5"].map(|name| catalog.named(name).unwrap());
    let back = explain(&journals, &catalog, b, a).unwrap();
    assert_eq!(back.relation, Relation::After);
    assert_eq!(back.hops, explained.hops);
}

#[test]
fn what_held_a_command_beside_the_path_is_told_as_such() {
    let explained = explained(true);
    let told = told(&explained);
    assert_eq!(told[2], "cell-1 command_held Hold", "{told:?}");
    assert!(!explained.hops[2].on_path);
    assert!(explained.hops[2].rule.contains("frozen for a handoff to cell-2"));
    assert_eq!(told[3], "base-1 owner_changed Program");
}

#[test]
fn concurrent_events_are_told_with_what_each_side_had_heard() {
    let journals = handoff(false);
    let catalog = Catalog::of(&journals);
    let held = find(&journals, &catalog, A, "command_dropped");
    let ran = find(&journals, &catalog, B, "command_run");
    let explained = explain(&journals, &catalog, held, ran).unwrap();
    assert_eq!(explained.relation, Relation::After, "the drop follows from the release");
    let held = find(&journals, &catalog, A, "command_held");
    let changed = find(&handoff(true), &catalog, C, "owner_changed");
    let journals = handoff(true);
    let explained = explain(&journals, &Catalog::of(&journals), held, changed).unwrap();
    assert_eq!(explained.relation, Relation::Concurrent);
    assert!(explained.hops.is_empty());
    let rule = &explained.rule;
    assert!(rule.starts_with("concurrent: no path; they may appear in either order"), "{rule}");
    assert!(
        rule.contains("the newest that base-1 knew of cell-1 at base-1:6 was cell-1:2"),
        "{rule}"
    );
}

#[test]
fn an_entity_is_owned_from_its_activation_until_it_is_frozen() {
    let journals = handoff(false);
    let catalog = Catalog::of(&journals);
    let spans = ownership(&journals, &catalog, ENTITY, ALL);
    let told: Vec<_> = spans
        .iter()
        .map(|span| (span.node, span.epoch, span.from.0, span.to.map(|to| to.0), span.why))
        .collect();
    let expected = [(A, OLD, 1200, Some(1200), Some("frozen")), (B, NEW, 1202, None, None)];
    assert_eq!(told, expected, "{spans:#?}");
    assert_eq!(spans[0].ended, Some(id(A, 1)));
    assert_eq!(spans[1].began, Some(id(B, 4)));
    assert!(ownership(&journals, &catalog, EntityId(1), ALL).is_empty());
}

#[test]
fn the_past_and_the_future_of_an_event_are_cuts_and_lists_with_edges_between_them() {
    let journals = handoff(false);
    let catalog = Catalog::of(&journals);
    let ran = catalog.named("cell-2:5").unwrap();
    let told = past(&journals, &catalog, ran, 40, 500).unwrap();
    assert_eq!(told.past_through[&A], 7, "up to what it sent last to cell-2");
    assert_eq!(told.past_through[&C], 11);
    assert_eq!(told.future_from[&A], 8, "from the bundle that told of the release");
    assert!(told.past.contains(&id(A, 1)) && !told.truncated, "{told:#?}");
    assert!(told.future.contains(&id(A, 10)), "{told:#?}");
    let bundle = PastEdge { from: id(C, 11), to: id(B, 3), via: Some(Via::Bundle(41)) };
    assert!(told.edges.contains(&bundle), "{told:#?}");
    let few = past(&journals, &catalog, ran, 40, 2).unwrap();
    assert!(few.truncated);
    assert_eq!(few.past.len(), 2);
    assert!(few.past.contains(&id(B, 4)), "the nearest ones: {few:?}");
}
