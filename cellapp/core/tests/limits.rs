//! Everything that is bounded: bundles, queues, how many reals are taken; and what has no cost.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use marchland_cellapp_core::io::CellOrder;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Bundle, Frame, Header, InboxMessage, Moment, Origin};
use marchland_common::order::{Epoch, NodeKind, Seq, Tick};
use marchland_common::world::Value;
use std::collections::BTreeMap;
use support::*;

fn refused(cluster: &Cluster, wanted: Refused) -> u32 {
    let counts = cluster.all_events().map(|(_, _, e)| match e {
        Event::Refusal { reason, count, .. } if *reason == wanted => *count,
        _ => 0,
    });
    counts.sum()
}

#[test]
fn every_peer_gets_exactly_one_bundle_a_tick_numbered_without_a_gap() {
    let mut cluster = Cluster::new(3);
    cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(50);
    let mut last: BTreeMap<_, u64> = BTreeMap::new();
    for (from, _, output) in &cluster.outputs {
        let to: Vec<_> = output.bundles.iter().map(|out| out.to).collect();
        let peers: Vec<_> =
            [cell(1), cell(2), cell(3), base()].into_iter().filter(|node| node != from).collect();
        assert_eq!(to, peers);
        for out in &output.bundles {
            let n = last.entry((*from, out.to)).or_default();
            *n += 1;
            assert_eq!(out.bundle.n, *n);
        }
    }
}

#[test]
fn what_does_not_fit_a_bundle_goes_on_in_order_in_the_next_ones() {
    const MAX: usize = 4_000;
    let mut cluster = Cluster::with(1, |config| config.bundle_bytes_max = MAX);
    let ids: Vec<_> = (1..=60).map(|n| cluster.base.create(n, 1, at(50_000, 50_000))).collect();
    cluster.run(40);
    for id in &ids {
        cluster.attach(*id, id.counter());
        for part in 0..3 {
            cluster.command(*id, id.counter(), ADD, &[part; 50]);
        }
    }
    cluster.until("all outcomes are in", |c| c.base.open.is_empty());
    let mut held_back = 0;
    for (_, _, output) in &cluster.outputs {
        held_back = held_back.max(output.stats.held_back);
        for out in &output.bundles {
            let size = postcard::to_stdvec(&out.bundle.msgs).unwrap().len();
            assert!(size <= MAX + 3, "a bundle of {size} bytes");
        }
    }
    assert!(held_back > 0, "nothing had to wait");
    assert_eq!(cluster.outputs.last().unwrap().2.stats.held_back, 0);
}

#[test]
fn a_message_larger_than_a_bundle_leaves_alone() {
    let mut cluster = Cluster::with(1, |config| config.bundle_bytes_max = 100);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(5);
    cluster.attach(id, 1);
    cluster.command(id, 1, SHOUT, &5_000_u16.to_le_bytes());
    cluster.run(20);
    assert!(cluster.base.refused.iter().any(|m| matches!(
        m,
        marchland_common::msg::CellToBase::Notice { payload, .. } if payload.len() == 5_000
    )));
}

#[test]
fn a_bundle_out_of_order_is_said_and_one_that_comes_twice_has_no_effect() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(3);
    let told = refused(&cluster, Refused::BundleGap);
    assert_eq!(told, 0);
    let frame = |n, msgs| Frame {
        from: base(),
        bundle: Bundle {
            n,
            src_tick: Tick(1),
            moment: Moment::Flush,
            phase_us: 0,
            header: Header::BaseToCell { durable_tick: None },
            msgs,
        },
    };
    let destroy = marchland_common::msg::Msg::BaseToCell(BaseToCell::Destroy { entity: id });
    cluster.inject(cell(1), frame(1, vec![destroy]));
    cluster.run(2);
    assert_eq!(refused(&cluster, Refused::BundleGap), 1);
    assert_eq!(cluster.cells[&cell(1)].reals(), [id], "the repeated one was not read");
    cluster.inject(cell(1), frame(1_000, Vec::new()));
    cluster.run(1);
    assert_eq!(refused(&cluster, Refused::BundleGap), 2);
}

#[test]
fn a_message_in_the_wrong_direction_or_of_an_earlier_life_has_no_effect_and_is_counted() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(3);
    let bundle = |msg: BaseToCell| Bundle {
        n: 1,
        src_tick: Tick(1),
        moment: Moment::Flush,
        phase_us: 0,
        header: Header::BaseToCell { durable_tick: None },
        msgs: vec![marchland_common::msg::Msg::BaseToCell(msg)],
    };
    let destroy = || BaseToCell::Destroy { entity: id };
    let older = marchland_common::order::Node::new(NodeKind::Base, 1, 99);
    cluster.inject(cell(1), Frame { from: older, bundle: bundle(destroy()) });
    cluster.inject(cell(1), Frame { from: cell(7), bundle: bundle(destroy()) });
    let other = marchland_common::order::Node::new(NodeKind::Base, 2, 200);
    cluster.inject(cell(1), Frame { from: other, bundle: bundle(destroy()) });
    cluster.run(3);
    assert_eq!(refused(&cluster, Refused::StaleIncarnation), 1);
    assert!(refused(&cluster, Refused::WrongDirection) >= 1);
    assert_eq!(refused(&cluster, Refused::WrongBase), 1);
    assert_eq!(cluster.cells[&cell(1)].reals(), [id]);
}

#[test]
fn a_full_cellapp_says_that_it_takes_nothing_more() {
    let mut cluster = Cluster::with(1, |config| config.reals_max = 2);
    assert!(cluster.base.accepting[&cell(1)]);
    cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(3);
    assert!(cluster.base.accepting[&cell(1)]);
    cluster.base.create(2, 1, at(50_000, 50_000));
    cluster.run(3);
    assert!(!cluster.base.accepting[&cell(1)]);
}

#[test]
fn what_a_base_sends_again_and_again_waits_once() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(2);
    cluster.attach(id, 1);
    cluster.run(3);
    cluster.order(cell(1), CellOrder::Freeze);
    cluster.run(1);
    for n in 0..200 {
        cluster.command(id, 1, ADD, &[n]);
    }
    for _ in 0..20 {
        for open in cluster.base.open.clone() {
            cluster.base.say(cell(1), open);
        }
        cluster.run(1);
    }
    assert_eq!(refused(&cluster, Refused::QueueFull), 0);
    // What was sent last is still under way.
    assert_eq!(refused(&cluster, Refused::DuplicateCommand), 19 * 200);
    cluster.order(cell(1), CellOrder::Thaw);
    cluster.run(4);
    let log = cluster.base.records[&id].image.props[usize::from(LOG)].bytes().to_vec();
    // Only so many outcomes are kept for a client that acknowledges none of them.
    assert_eq!(log[1..], (0..64).collect::<Vec<u8>>());
}

#[test]
fn a_base_that_sends_too_much_is_refused_and_what_comes_later_does_not_hide_what_was_lost() {
    let mut cluster = Cluster::new(1);
    let id = cluster.base.create(1, 1, at(50_000, 50_000));
    cluster.run(3);
    cluster.order(cell(1), CellOrder::Freeze);
    cluster.run(1);
    let message = |source: u64, out_seq| {
        BaseToCell::Inbox(InboxMessage {
            entity: id,
            source: entity(source),
            out_seq,
            payload: Bytes::new(),
            value: 0,
            origin: Origin {
                authority: cell(9),
                epoch: Epoch::of_grant(1),
                seq: Seq(1),
                tick: Tick(100),
            },
            settled: 0,
        })
    };
    for n in 1..=1_100 {
        cluster.base.say(cell(1), message(9, n));
    }
    cluster.run(2);
    assert_eq!(refused(&cluster, Refused::QueueFull), 1_100 - 1_024);
    cluster.order(cell(1), CellOrder::Thaw);
    cluster.run(3);
    cluster.base.say(cell(1), message(9, 2_000));
    cluster.run(3);
    let high = cluster.base.records[&id].image.inbox.rows()[0].high;
    assert!(high <= 1_024, "message {high} passed one that was lost");
}

#[test]
fn idle_entities_are_not_visited() {
    let mut cluster = Cluster::with(1, |config| config.reals_max = 3_000);
    for n in 1..=2_000 {
        cluster.base.create(n, 1, at(50_000, 50_000));
    }
    cluster.run(3);
    for n in 1..=2_000 {
        cluster.attach(entity(n), n);
        cluster.command(entity(n), n, AWAKE, &[0]);
    }
    cluster.run(3);
    let speed = [(SPEED, Value::Int(10))];
    cluster.base.create_as(5_000, 1, at(50_000, 50_000), THING, &speed);
    cluster.run(15);
    let steps = cluster.base.steps.len();
    cluster.run(20);
    for (_, _, output) in &cluster.outputs[cluster.outputs.len() - 20..] {
        assert_eq!(output.stats.behaviours, 1);
        assert_eq!(output.stats.reals, 2_001);
    }
    assert_eq!(cluster.base.steps.len() - steps, 2);
}
