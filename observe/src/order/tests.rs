//! Order is what bundles and journals say it is, and nothing else.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::causal::{Catalog, EventId, Graph, Relation, Span};
use crate::journals::Journals;
use crate::testing::{CORRUPTIONS, Plan, entity_id, history};
use marchland_common::journal::{BundleRef, Event, Record, TickRecord};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, Seq, Tick};
use marchland_common::rng::Rng;
use proptest::prelude::*;
use std::collections::BTreeMap;

const A: Node = Node::new(NodeKind::Cell, 1, 5);
const B: Node = Node::new(NodeKind::Cell, 2, 6);
const C: Node = Node::new(NodeKind::Base, 1, 7);

/// `received` says who sent which bundle in which tick of its own.
fn moment(tick: u64, received: &[(Node, u64, u64)], sent: &[(Node, u64)], events: u64) -> Record {
    let bundle = |peer, n, src_tick| BundleRef { peer, n, src_tick: Tick(src_tick) };
    let fact = |n| Event::Durable { lsn: Lsn(n) };
    Record::Tick(TickRecord {
        received: received.iter().map(|(peer, n, at)| bundle(*peer, *n, *at)).collect(),
        sent: sent.iter().map(|(peer, n)| bundle(*peer, *n, tick)).collect(),
        ..TickRecord::without_core(Tick(tick), (0..events).map(fact).collect())
    })
}

/// A tells B, B tells C; C is told nothing by A.
fn chain() -> Journals {
    Journals::from_records(vec![
        (A, vec![moment(9, &[], &[(B, 1)], 2), moment(10, &[], &[], 1)]),
        (B, vec![moment(1, &[], &[], 1), moment(2, &[(A, 1, 9)], &[(C, 1)], 1)]),
        (C, vec![moment(1, &[], &[], 1), moment(1, &[(B, 1, 2)], &[], 1)]),
    ])
}

#[test]
fn no_line_stands_before_its_cause() {
    let lines: Vec<Line> = order(&chain(), &OrderFilter::default()).collect();
    let place = |proc: &str, n| lines.iter().position(|l| l.proc == proc && l.n == n).unwrap();
    assert_eq!(lines.len(), 7);
    assert!(place("cell-1", 1) < place("cell-2", 2) && place("cell-2", 2) < place("base-1", 2));
    let all = OrderFilter { bundles: true, ..OrderFilter::default() };
    let journals = chain();
    let lines: Vec<Line> = order(&journals, &all).collect();
    let received = lines.iter().filter(|line| line.kind == "received");
    let causes: Vec<String> = received.flat_map(|line| line.cause.clone()).collect();
    assert_eq!(causes, ["cell-1@5 b1", "cell-2@6 b1"]);
    let numbers = |proc: &str| -> Vec<u64> {
        lines.iter().filter(|line| line.proc == proc).map(|line| line.n).collect()
    };
    assert_eq!(numbers("cell-1"), [0, 1, 2, 3], "bundles have numbers of their own");
    assert_eq!(numbers("cell-2"), [0, 1, 2, 3]);
}

#[test]
fn records_that_wait_for_each_other_are_told_and_read_all_the_same() {
    let journals = Journals::from_records(vec![
        (A, vec![moment(1, &[(B, 1, 1)], &[(B, 1)], 1)]),
        (B, vec![moment(1, &[(A, 1, 1)], &[(A, 1)], 1)]),
    ]);
    assert_eq!(order(&journals, &OrderFilter::default()).count(), 2);
    let verdict = crate::audit(&journals, &crate::AuditOptions::default());
    let told = verdict.incomplete.iter().any(|r| r.contains("waits for what it caused itself"));
    assert!(told, "{:?}", verdict.incomplete);
}

#[test]
fn a_filter_shows_what_concerns_one_entity_in_some_ticks() {
    let history = history(Plan::new(4));
    let journals = Journals::from_records(history.journals);
    let entity = entity_id(0, 2);
    let (from, to) = (Some(Tick(10)), Some(Tick(30)));
    let filter = OrderFilter { entity: Some(entity), from, to, bundles: true };
    let lines: Vec<Line> = order(&journals, &filter).collect();
    assert!(lines.len() > 20);
    let concerns = |line: &Line| {
        let in_msg = line.msg.as_ref().is_some_and(|msg| msg.starts_with(&format!("{entity}:")));
        let sees = ["entered", "left", "message_run", "message_taken", "message_released"];
        line.entity == Some(entity.0) || in_msg || sees.contains(&line.kind.as_str())
    };
    assert!(lines.iter().all(|line| (10..=30).contains(&line.tick) && concerns(line)));
}

#[test]
fn a_line_names_its_cause() {
    // Where owners are replaced, one runs what another had run.
    let history = history(Plan { verdicts: false, ..Plan::new(4) });
    let journals = Journals::from_records(history.journals);
    let lines: Vec<Line> = order(&journals, &OrderFilter::default()).collect();
    let by_id: BTreeMap<String, &Line> =
        lines.iter().map(|l| (format!("{}@{}:{}", l.proc, l.inc, l.n), l)).collect();
    let cause_of = |kind: &str, cause: &str| {
        let all: Vec<&Line> = lines.iter().filter(|line| line.kind == kind).collect();
        let named = all.iter().filter(|line| {
            line.cause.iter().any(|id| {
                by_id[id].kind == cause && (by_id[id].msg.is_none() || by_id[id].msg == line.msg)
            })
        });
        (named.count(), all.len())
    };
    let (named, all) = cause_of("message_run", "message_released");
    assert!(named == all && all > 0, "{named} of {all}");
    let (named, all) = cause_of("command_confirmed", "command_run");
    assert!(named == all && all > 0, "{named} of {all}");
}

#[test]
fn equal_journals_give_equal_lines() {
    let lines = || {
        let journals = Journals::from_records(history(Plan::new(8)).journals);
        order(&journals, &OrderFilter::default()).collect::<Vec<_>>()
    };
    assert_eq!(lines(), lines());
}

#[test]
fn the_columns_show_an_arrow_from_each_cause() {
    let step = |entity: u64| Event::Stepped {
        entity: EntityId(entity),
        epoch: Epoch::of_grant(1),
        seq: Seq(4),
        prev_digest: 0,
        digest: 1,
    };
    let accepted = Event::Accepted {
        entity: EntityId(258),
        epoch: Epoch::of_grant(1),
        seq: Seq(4),
        owner: A,
        src_tick: Tick(3),
        prev_digest: 0,
        digest: 1,
        flow: None,
        lsn: Lsn(1),
    };
    let with = |record: Record, event: Event| match record {
        Record::Tick(tick) => Record::Tick(TickRecord { events: vec![event], ..tick }),
        other => other,
    };
    let journals = Journals::from_records(vec![
        (A, vec![with(moment(3, &[], &[(C, 1)], 0), step(258))]),
        (C, vec![with(moment(3, &[(A, 1, 3)], &[], 0), accepted)]),
    ]);
    let lines: Vec<Line> = order(&journals, &OrderFilter::default()).collect();
    let text = columns(&lines);
    assert!(text[0].starts_with("tick    base-1 "));
    assert!(text[1].contains(":0 stepped 258 e1 s4"));
    assert!(text[2].contains(":1 accepted 258 e1 s4 (cell-1@5)"));
    assert!(text[2].trim_end().ends_with("<-:0"), "{}", text[2]);
    assert!(text.iter().all(|line| line.len() <= 8 + 2 * 46));
}

proptest! {
    #![proptest_config(crate::testing::cases(16))]

    #[test]
    fn the_order_of_lines_never_contradicts_the_relation(
        seed in any::<u64>(),
        spoilt in 0_usize..40,
    ) {
        let mut history = history(Plan { entities: 4, ticks: 60, ..Plan::new(seed) });
        // The order is told of whatever journals there are, right or wrong.
        let fault = &CORRUPTIONS[spoilt % CORRUPTIONS.len()];
        (fault.apply)(&mut history, &mut Rng(seed));
        // Lines are merged by bundles, and clients have none.
        history.journals.retain(|(node, _)| node.name.kind != NodeKind::Client);
        let journals = Journals::from_records(history.journals);
        let catalog = Catalog::of(&journals);
        let span = Span { from: Tick(0), to: Tick(u64::MAX) };
        let graph = Graph::of(&journals, &catalog, span);
        let ids: Vec<EventId> = order(&journals, &OrderFilter::default())
            .map(|line| catalog.named(&format!("{}@{}:{}", line.proc, line.inc, line.n)).unwrap())
            .collect();
        let mut rng = Rng(seed);
        for _ in 0..500 {
            let a = rng.below(ids.len() as u64) as usize;
            let b = rng.below(ids.len() as u64) as usize;
            let relation = graph.relation(ids[a], ids[b]).unwrap();
            prop_assert!(a <= b || relation != Relation::Before);
        }
    }
}
