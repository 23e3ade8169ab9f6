//! Who may connect to whom, and what happens to links when a peer lives again.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::order::{Incarnation, Node, NodeKind, Seq};
use std::collections::BTreeMap;

const CELL: Node = Node::new(NodeKind::Cell, 1, 10);
const BASE: Node = Node::new(NodeKind::Base, 1, 20);

fn identity(node: Node) -> LocalIdentity {
    LocalIdentity { cluster: 7, proto_min: 2, proto_max: 4, schema_hash: 99, node }
}

fn links(node: Node) -> Links<Vec<u8>> {
    let channels = BTreeMap::from([(ChannelId::ORDERED, LinkLimits::ORDERED)]);
    Links::new(identity(node), channels)
}

fn hello() -> Hello {
    links(CELL).hello(BASE, ChannelId::ORDERED).unwrap()
}

fn refusal(change: impl FnOnce(&mut Hello)) -> HelloRefusal {
    let mut hello = hello();
    change(&mut hello);
    let mut base = links(BASE);
    let _ = base.saw(CELL);
    let refusal = base.on_hello(&hello).unwrap_err();
    assert_eq!(base.refusals(), &BTreeMap::from([(refusal.code().to_owned(), 1)]));
    assert_eq!(base.iter_mut().count(), 0, "a refused hello leaves nothing behind");
    refusal
}

#[test]
fn both_agree_on_the_newest_protocol_that_both_speak() {
    let agree = |min, max| {
        let hello = Hello { proto_min: min, proto_max: max, ..hello() };
        links(BASE).on_hello(&hello).map(|accepted| accepted.agreed.proto)
    };
    assert_eq!(agree(1, 2), Ok(2));
    assert_eq!(agree(3, 9), Ok(4));
    let text = agree(5, 9).unwrap_err().to_string();
    assert!(text.contains("5..=9") && text.contains("2..=4"), "{text}");
    assert_eq!(agree(0, 1).unwrap_err().code(), "no-common-protocol");
    assert_eq!(agree(4, 3).unwrap_err().code(), "no-common-protocol", "an empty range");
}

#[test]
fn each_wrong_peer_is_refused_with_its_own_code() {
    assert_eq!(refusal(|h| h.cluster = 8), HelloRefusal::OtherCluster { ours: 7, theirs: 8 });
    let other = Node::new(NodeKind::Base, 2, 20);
    let wrong = HelloRefusal::WrongDestination { wanted: other, here: BASE };
    assert_eq!(refusal(|h| h.to = other), wrong);
    let older = Node::new(NodeKind::Base, 1, 19);
    let wrong = HelloRefusal::WrongDestination { wanted: older, here: BASE };
    assert_eq!(refusal(|h| h.to = older), wrong);
    assert_eq!(refusal(|h| h.from = older), HelloRefusal::OwnName(BASE.name));
    let from = Node::new(NodeKind::Cell, 1, 9);
    let old = HelloRefusal::OldIncarnation { from, oldest_valid: Incarnation(10) };
    assert_eq!(refusal(|h| h.from = from), old);
    let unknown = HelloRefusal::UnknownChannel(ChannelId(9));
    assert_eq!(refusal(|h| h.channel = ChannelId(9)), unknown);
    let odd = Resume { receiving: Generation(3), ..Resume::default() };
    assert_eq!(refusal(|h| h.resume = odd).code(), "cannot-resume");
}

#[test]
fn another_schema_is_told_and_not_refused() {
    let mut base = links(BASE);
    let accepted = base.on_hello(&Hello { schema_hash: 1, ..hello() }).unwrap();
    assert!(!accepted.agreed.same_schema);
    assert_eq!(accepted.welcome.schema_hash, 99);
    assert!(base.on_hello(&hello()).unwrap().agreed.same_schema);
}

#[test]
fn a_newer_life_starts_anew_and_what_the_old_one_left_is_handed_back() {
    let mut base = links(BASE);
    let accepted = base.on_hello(&hello()).unwrap();
    let incoming = base.get(CELL, ChannelId::ORDERED, Direction::Incoming).unwrap();
    let frame = Frame { generation: Generation(0), seq: Seq(1), payload: vec![3] };
    incoming.on_frame(accepted.connection, frame.clone()).unwrap();
    incoming.on_frame(accepted.connection, Frame { seq: Seq(3), ..frame }).unwrap();
    let outgoing = base.open(CELL, ChannelId::ORDERED).unwrap();
    outgoing.send(vec![1], Class::Ordered).unwrap();
    outgoing.on_connected(Resume::default()).unwrap();
    outgoing.poll_frame().unwrap();
    outgoing.send(vec![2], Class::Ordered).unwrap();

    let newer = Node::new(NodeKind::Cell, 1, 11);
    let hello_again = Hello { from: newer, ..hello() };
    let retired = base.on_hello(&hello_again).unwrap().retired;
    let [sent, received] = &retired[..] else { panic!("both directions are over") };
    assert_eq!((sent.peer, sent.direction), (CELL, Direction::Outgoing));
    assert_eq!(sent.abandoned.reason, ResetReason::PeerGone);
    assert_eq!(sent.abandoned.perhaps_received, vec![(Seq(1), vec![1])]);
    assert_eq!(sent.abandoned.never_sent, vec![(Seq(2), vec![2])]);
    assert_eq!((received.peer, received.direction), (CELL, Direction::Incoming));
    assert_eq!((received.untaken.len(), received.held), (1, 1));
    assert_eq!(base.open(newer, ChannelId::ORDERED).unwrap().newest_sent(), Seq(0));
    assert!(base.get(CELL, ChannelId::ORDERED, Direction::Incoming).is_none());
    assert_eq!(base.on_hello(&hello()).unwrap_err().code(), "old-incarnation");
    assert_eq!(base.open(CELL, ChannelId::ORDERED).unwrap_err(), OpenRefusal::Over(CELL));
}

#[test]
fn a_buried_life_is_refused_before_any_newer_one_was_seen() {
    let mut base = links(BASE);
    base.open(CELL, ChannelId::ORDERED).unwrap().send(vec![1], Class::Ordered).unwrap();
    assert_eq!(base.bury(CELL).pop().unwrap().abandoned.len(), 1);
    assert_eq!(base.on_hello(&hello()).unwrap_err().code(), "old-incarnation");
    let newer = Node::new(NodeKind::Cell, 1, 11);
    assert!(base.on_hello(&Hello { from: newer, ..hello() }).is_ok());
}

#[test]
fn failing_hellos_of_ever_newer_lives_leave_nothing_behind() {
    let mut base = links(BASE);
    let resume = Resume { receiving: Generation(3), ..Resume::default() };
    for life in 100..200 {
        let from = Node::new(NodeKind::Cell, 1, life);
        base.on_hello(&Hello { from, resume, ..hello() }).unwrap_err();
    }
    assert_eq!(base.iter_mut().count(), 0);
}

#[test]
fn whoever_greets_under_ever_new_names_fills_no_memory_and_shuts_out_nobody_who_is_registered() {
    let mut base = links(BASE);
    let named = |number: u16| {
        let mut other = links(Node::new(NodeKind::Cell, number, 10));
        other.hello(BASE, ChannelId::ORDERED).unwrap()
    };
    let greeted = (1..3_000).filter(|number| base.on_hello(&named(*number)).is_ok()).count();
    assert_eq!(greeted, NAMES_MAX);
    assert_eq!(base.iter_mut().count(), NAMES_MAX);
    assert_eq!(base.refusals(), &BTreeMap::from([("too-many-peers".to_owned(), 2_999 - 1_024)]));
    assert!(base.on_hello(&named(7)).is_ok(), "who is known comes back");
    let registered = Node::new(NodeKind::Cell, 2_500, 10);
    assert!(base.saw(registered).is_empty());
    assert!(base.on_hello(&named(2_500)).is_ok());
    let refused = base.on_hello(&named(2_501)).unwrap_err();
    assert!(refused.may_retry(), "it may be registered later");
}

#[test]
fn two_that_dial_each_other_at_once_have_one_stream_in_each_direction() {
    let (mut cell, mut base) = (links(CELL), links(BASE));
    let channel = ChannelId::ORDERED;
    cell.open(BASE, channel).unwrap().send(vec![5], Class::Ordered).unwrap();
    base.open(CELL, channel).unwrap().send(vec![6], Class::Ordered).unwrap();
    let (to_base, to_cell) =
        (cell.hello(BASE, channel).unwrap(), base.hello(CELL, channel).unwrap());
    let (at_base, at_cell) = (base.on_hello(&to_base).unwrap(), cell.on_hello(&to_cell).unwrap());
    cell.on_welcome(BASE, channel, &at_base.welcome).unwrap();
    base.on_welcome(CELL, channel, &at_cell.welcome).unwrap();
    let from_cell = cell.open(BASE, channel).unwrap().poll_frame().unwrap();
    let from_base = base.open(CELL, channel).unwrap().poll_frame().unwrap();
    for (links, peer, connection, frame) in [
        (&mut base, CELL, at_base.connection, from_cell),
        (&mut cell, BASE, at_cell.connection, from_base),
    ] {
        let link = links.get(peer, channel, Direction::Incoming).unwrap();
        assert_eq!(link.on_frame(connection, frame), Ok(Arrival::Ready));
    }
    let stranger = Node::new(NodeKind::Base, 3, 1);
    let refused = cell.on_welcome(stranger, channel, &at_base.welcome);
    assert_eq!(refused, Err(WelcomeRefusal::Over(stranger)));
}

#[test]
fn the_given_limits_do_not_contradict_themselves() {
    assert_eq!(LinkLimits::ORDERED.check(), Ok(()));
    assert_eq!(LinkLimits::BULK.check(), Ok(()));
    let wrong = LinkLimits { frame_bytes: 64 << 20, ..LinkLimits::ORDERED };
    assert_eq!(wrong.check().unwrap_err().smaller, "soft_bytes");
}
