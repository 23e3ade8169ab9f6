//! The link plane's messages on the wire: what goes in comes out, and no bytes of a peer can make
//! reading them panic.
#![allow(clippy::unwrap_used)]

mod msgs;
mod values;

use bytes::Bytes;
use marchland_common::msg::{Bundle, Header, Moment, Msg};
use marchland_common::order::Tick;
use marchland_proto::convert::{BadMessage, bundle_from_wire, bundle_to_wire, read_bundle};
use marchland_proto::link as wire;
use marchland_proto::link::item::What;
use proptest::prelude::*;
use prost::Message;

fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![Just(Moment::Flush), (1..=Moment::RELEASES_MAX).prop_map(Moment::Release)]
}

fn header() -> impl Strategy<Value = Header> {
    let from_cell = (any::<u64>(), any::<bool>(), any::<u32>());
    prop_oneof![
        from_cell.prop_map(|(steps, accepting, schema)| Header::CellToBase {
            steps,
            accepting,
            schema
        }),
        any::<Option<u64>>().prop_map(|t| Header::BaseToCell { durable_tick: t.map(Tick) }),
        Just(Header::Peer),
    ]
}

fn bundle() -> impl Strategy<Value = Bundle> {
    let msgs = proptest::collection::vec(msgs::msg(), 0..12);
    (any::<u64>(), any::<u64>(), moment(), any::<i32>(), header(), msgs).prop_map(
        |(n, src_tick, moment, phase_us, header, msgs)| Bundle {
            n,
            src_tick: Tick(src_tick),
            moment,
            phase_us,
            header,
            msgs,
        },
    )
}

fn read(bytes: &[u8]) -> Option<Result<Bundle, BadMessage>> {
    Some(bundle_from_wire(wire::Bundle::decode(bytes).ok()?))
}

proptest! {
    #[test]
    fn every_bundle_comes_back_equal(bundle in bundle()) {
        let bytes = bundle_to_wire(bundle.clone()).encode_to_vec();
        prop_assert_eq!(read(&bytes), Some(Ok(bundle)));
    }

    #[test]
    fn a_bundle_with_flipped_bytes_is_read_or_refused_but_never_panics(
        bundle in bundle(),
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), 1u8..), 1..4),
    ) {
        let mut bytes = bundle_to_wire(bundle).encode_to_vec();
        prop_assume!(!bytes.is_empty());
        for (at, with) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        let _ = read(&bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let packed = Bytes::from(bytes);
        for what in [What::Steps(packed.clone()), What::Acks(packed.clone())] {
            let _ = bundle_from_wire(with_item(what));
        }
        let outcome = packed.clone();
        let answer = wire::Answer { outcome, ..Default::default() };
        let _ = bundle_from_wire(with_item(What::Answer(answer)));
        let grant = wire::Grant { state: packed, ..grant() };
        let _ = bundle_from_wire(with_item(What::Grant(grant)));
    }
}

fn with_item(what: What) -> wire::Bundle {
    wire::Bundle {
        header: Some(wire::bundle::Header::Peer(wire::PeerHeader {})),
        items: vec![wire::Item { what: Some(what) }],
        ..Default::default()
    }
}

fn node() -> wire::Node {
    wire::Node { kind: wire::Kind::Cell.into(), number: 1, incarnation: 9 }
}

fn grant() -> wire::Grant {
    wire::Grant { to: Some(node()), why: wire::GrantWhy::Birth.into(), ..Default::default() }
}

#[test]
fn a_bundle_that_says_nothing_of_its_direction_is_refused() {
    let empty = wire::Bundle::default();
    assert_eq!(bundle_from_wire(empty), Err(BadMessage::Missing("header")));
}

#[test]
fn what_this_version_does_not_know_is_refused_by_the_name_of_its_field() {
    let check = |what, error| assert_eq!(bundle_from_wire(with_item(what)), Err(error));
    let grant = |g| What::Grant(g);
    check(grant(wire::Grant { to: None, ..self::grant() }), BadMessage::Missing("node"));
    check(grant(wire::Grant { why: 77, ..self::grant() }), BadMessage::Unknown("grant.why"));
    let far = wire::Node { number: 70_000, ..node() };
    check(grant(wire::Grant { to: Some(far), ..self::grant() }), BadMessage::Range("node.number"));
    let signal = wire::Signal { hops: 256, ..Default::default() };
    check(What::Signal(signal), BadMessage::Range("signal.hops"));
    let abort = wire::Abort { reason: 0, ..Default::default() };
    check(What::Abort(abort), BadMessage::Unknown("reason"));
    let mut late = with_item(What::Resync(wire::Resync::default()));
    late.moment = 4;
    assert_eq!(bundle_from_wire(late), Err(BadMessage::Range("moment")));
    let nothing = wire::Bundle { items: vec![wire::Item { what: None }], ..with_no_items() };
    assert_eq!(bundle_from_wire(nothing), Err(BadMessage::Missing("item")));
}

fn with_no_items() -> wire::Bundle {
    wire::Bundle { items: Vec::new(), ..with_item(What::Resync(wire::Resync::default())) }
}

#[test]
fn a_bundle_of_a_million_empty_items_is_refused_before_room_is_made_for_them() {
    let empty_items = [&[0x3a, 0][..], &[0x42, 0].repeat(1_000_000)].concat();
    let refused = Err(BadMessage::Missing("item"));
    assert_eq!(read_bundle(Bytes::from(empty_items)), refused);
    assert!(read_bundle(Bytes::from_static(&[0x3a, 0])).is_ok());
}

#[test]
fn packed_bytes_with_something_behind_them_are_refused() {
    let check = |n: usize, error: Option<BadMessage>| {
        let bytes = Bytes::from(vec![0; n]);
        assert_eq!(bundle_from_wire(with_item(What::Acks(bytes))).err(), error);
    };
    check(1, None);
    check(2, Some(BadMessage::Packed("acks")));
}

#[test]
fn steps_that_follow_each_other_share_one_item_and_keep_their_place() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let step = values::step();
    let mut steps = || Msg::CellToBase(values::draw(&step, &mut runner));
    let order = marchland_common::msg::CellToBase::Notice {
        entity: marchland_common::order::EntityId(257),
        payload: Bytes::new(),
    };
    let msgs = vec![steps(), steps(), Msg::CellToBase(order), steps()];
    let bundle = Bundle {
        n: 1,
        src_tick: Tick(1),
        moment: Moment::Flush,
        phase_us: 0,
        header: Header::Peer,
        msgs,
    };
    let sent = bundle_to_wire(bundle.clone());
    assert_eq!(sent.items.len(), 3);
    assert_eq!(bundle_from_wire(sent), Ok(bundle));
}
