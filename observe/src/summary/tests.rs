//! The figures by hand-made histories in which each is known.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::testing::{Plan, history};
use marchland_common::journal::{EndWhy, Event, OwnerWhy, Record, TickRecord};
use marchland_common::msg::{GrantWhy, HandoffRefusal, HandoffWhy};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, Seq, SessionId, Tick};
use marchland_common::time::{Dropped, OverloadPolicy};
use marchland_common::world::{CommandOutcome, Rejection};

const CELL: [Node; 2] = [Node::new(NodeKind::Cell, 1, 5), Node::new(NodeKind::Cell, 2, 6)];
const BASE: Node = Node::new(NodeKind::Base, 1, 7);
const BOT: Node = Node::new(NodeKind::Client, 1, 8);
const E: EntityId = EntityId(257);

fn moment(tick: u64, events: Vec<Event>) -> Record {
    Record::Tick(TickRecord::without_core(Tick(tick), events))
}

fn activated(grant: u64) -> Event {
    let (epoch, why) = (Epoch::of_grant(grant), GrantWhy::Handoff);
    Event::Activated { entity: E, epoch, seq: Seq(0), digest: 0, base: BASE, why }
}

fn frozen(grant: u64) -> Event {
    let (epoch, why) = (Epoch::of_grant(grant), HandoffWhy::Border);
    Event::Frozen { entity: E, epoch, seq: Seq(0), target: CELL[1], why }
}

fn stepped(grant: u64, seq: u64) -> Event {
    let epoch = Epoch::of_grant(grant);
    Event::Stepped { entity: E, epoch, seq: Seq(seq), prev_digest: seq - 1, digest: seq }
}

fn accepted(grant: u64, seq: u64, owner: Node) -> Event {
    Event::Accepted {
        entity: E,
        epoch: Epoch::of_grant(grant),
        seq: Seq(seq),
        owner,
        src_tick: Tick(seq),
        prev_digest: seq - 1,
        digest: seq,
        flow: None,
        lsn: Lsn(seq),
    }
}

fn owner_changed(grant: u64, why: OwnerWhy, last_tick: Option<u64>) -> Event {
    Event::OwnerChanged {
        entity: E,
        epoch: Epoch::of_grant(grant),
        seq: Seq(0),
        from: None,
        to: CELL[0],
        why,
        last_tick: last_tick.map(Tick),
        lsn: Lsn(grant),
    }
}

fn first_step(grant: u64, tick: u64) -> Event {
    let (epoch, first_tick) = (Epoch::of_grant(grant), Tick(tick));
    Event::FirstStep { entity: E, epoch, owner: CELL[0], first_tick }
}

fn figures(journals: Vec<(Node, Vec<Record>)>) -> Summary {
    summary(&Journals::from_records(journals))
}

#[test]
fn gaps_are_counted_by_the_first_tick_after_and_the_last_before() {
    let border = OwnerWhy::Handoff(HandoffWhy::Border);
    let order = OwnerWhy::Handoff(HandoffWhy::Order(9));
    let events = vec![
        owner_changed(1, OwnerWhy::Birth, None),
        first_step(1, 2),
        owner_changed(2, border, Some(10)),
        first_step(2, 11),
        owner_changed(3, order, Some(20)),
        first_step(3, 24),
        owner_changed(4, border, Some(30)),
        first_step(4, 29),
        owner_changed(5, OwnerWhy::Verdict, Some(40)),
        first_step(5, 90),
        owner_changed(6, border, Some(95)),
    ];
    let summary = figures(vec![(BASE, vec![moment(1, events)])]);
    let HandoffFigures { committed, ordered, .. } = summary.handoffs;
    assert_eq!((committed, ordered), (4, 1));
    assert_eq!((summary.ticks_missed, summary.ticks_doubled), (3, 2));
    assert_eq!(summary.handoff_gaps, BTreeMap::from([(-1, 1), (1, 1), (4, 1)]));
}

#[test]
fn entities_stand_still_while_their_window_is_closed_and_their_owner_runs() {
    let opened = Event::WindowOpened { base: BASE };
    let closed = Event::WindowClosed { base: BASE, durable: None };
    let records = vec![
        moment(1, vec![activated(1)]),
        moment(2, vec![opened.clone()]),
        moment(3, vec![]),
        moment(4, vec![closed]),
        moment(5, vec![]),
        moment(6, vec![opened]),
        moment(7, vec![frozen(1)]),
        moment(8, vec![]),
    ];
    let summary = figures(vec![(CELL[0], records)]);
    assert_eq!(summary.ticks_frozen, 1 + 2, "before the window first opened, and while closed");
    assert_eq!(summary.ticks, 8);
}

#[test]
fn ticks_that_two_lives_ran_are_counted_whatever_became_of_them() {
    let opened = || Event::WindowOpened { base: BASE };
    let unfrozen = Event::Unfrozen {
        entity: E,
        epoch: Epoch::of_grant(1),
        seq: Seq(0),
        reason: HandoffRefusal::TargetSilent,
    };
    let fenced = Event::Deactivated {
        entity: E,
        epoch: Epoch::of_grant(1),
        seq: Seq(0),
        why: EndWhy::Fenced,
    };
    let old = vec![
        moment(1, vec![opened(), activated(1)]),
        moment(4, vec![frozen(1)]),
        moment(6, vec![unfrozen]),
        moment(9, vec![]),
        moment(10, vec![fenced]),
    ];
    let new = vec![moment(1, vec![opened()]), moment(7, vec![activated(2)]), moment(20, vec![])];
    let summary = figures(vec![(CELL[0], old), (CELL[1], new)]);
    assert_eq!(summary.speculative_doubled, 3, "ticks 7, 8 and 9");
    assert_eq!(summary.handoffs.aborted, 1);
}

#[test]
fn steps_of_a_lost_epoch_are_rolled_back_and_those_on_their_way_are_not() {
    let old = vec![moment(1, vec![activated(1), stepped(1, 1), stepped(1, 2), stepped(1, 3)])];
    let new = vec![moment(5, vec![activated(2), stepped(2, 2), stepped(2, 3)])];
    let base = vec![
        moment(1, vec![owner_changed(1, OwnerWhy::Birth, None), accepted(1, 1, CELL[0])]),
        moment(5, vec![owner_changed(2, OwnerWhy::Verdict, None), accepted(2, 2, CELL[1])]),
    ];
    let summary = figures(vec![(CELL[0], old), (CELL[1], new), (BASE, base)]);
    assert_eq!(summary.ticks_rolled_back, 2);
}

#[test]
fn every_command_is_in_exactly_one_column() {
    let session = SessionId(3);
    let sent = |n| Event::ClientSent { session, entity: E, n };
    let got = |n, outcome| Event::ClientAnswered { session, entity: E, n, outcome };
    let events = vec![
        sent(1),
        sent(2),
        sent(3),
        sent(4),
        got(1, CommandOutcome::Applied(Vec::new())),
        got(2, CommandOutcome::Rejected(Rejection::Busy)),
        got(3, CommandOutcome::Expired),
        got(9, CommandOutcome::Expired),
    ];
    let figures = figures(vec![(BOT, vec![moment(1, events)])]).commands;
    let CommandFigures { sent, applied, rejected, expired, unanswered } = figures;
    assert_eq!((sent, applied, rejected, expired, unanswered), (4, 1, 1, 1, 1));
}

#[test]
fn dropped_ticks_are_counted_over_all_servers() {
    let dropped = |from, to| {
        Event::TicksDropped(Dropped {
            from: Tick(from),
            to: Tick(to),
            ns: 0,
            policy: OverloadPolicy::Drop,
            version: 1,
        })
    };
    let cell = vec![moment(1, vec![]), moment(4, vec![dropped(2, 4)])];
    let base = vec![moment(9, vec![dropped(1, 9)])];
    assert_eq!(figures(vec![(CELL[0], cell), (BASE, base)]).ticks_dropped, 2 + 8);
}

#[test]
fn the_figures_of_a_right_history_are_those_of_its_plan() {
    let plan = Plan { verdicts: false, moves: &[], ..Plan::new(6) };
    let summary = figures(history(plan).journals);
    assert_eq!(summary.ticks, plan.ticks);
    assert_eq!((summary.ticks_doubled, summary.speculative_doubled), (0, 0));
    assert_eq!((summary.ticks_rolled_back, summary.ticks_frozen), (0, 0));
    assert_eq!(summary.commands.unanswered, 0);
    assert_eq!(summary.commands.sent, summary.commands.applied);
    assert_eq!(summary.handoff_gaps.values().sum::<u64>(), summary.handoffs.committed);
    let json = serde_json::to_value(&summary).unwrap();
    for field in ["ticks", "entities", "handoffs", "ticks_missed", "commands", "handoff_gaps"] {
        assert!(json.get(field).is_some(), "{field}");
    }
}

#[test]
fn entities_of_a_slot_that_moves_stand_still_and_nobody_ticks_twice() {
    let plan = Plan { verdicts: false, drops: false, entities: 4, ..Plan::new(6) };
    let summary = figures(history(plan).journals);
    assert_eq!(summary.ticks_doubled, 0);
    // Each of the four moves stops the entities of one slot, two or more, for two ticks.
    assert!((16..40).contains(&summary.ticks_frozen), "{}", summary.ticks_frozen);
}
