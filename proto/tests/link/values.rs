//! Arbitrary identities and states.

use bytes::Bytes;
use marchland_common::msg::{CellToBase, HandoffRefusal, HandoffWhy, Origin, Step, StepBody};
use marchland_common::order::{
    EntityId, Epoch, KindId, Node, NodeKind, Seq, SessionId, SpaceId, Tick,
};
use marchland_common::rng::Rng;
use marchland_common::time::{EntityTime, Timers};
use marchland_common::world::{
    Address, Change, CommandOutcome, EntityState, MessageOutcome, OutMessage, Pin, Place, Pos,
    Rejection, Value,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

pub fn draw(step: &impl Strategy<Value = Step>, runner: &mut TestRunner) -> CellToBase {
    CellToBase::Step(step.new_tree(runner).unwrap().current())
}

pub fn entity() -> impl Strategy<Value = EntityId> {
    any::<u64>().prop_map(EntityId)
}

pub fn epoch() -> impl Strategy<Value = Epoch> {
    any::<u64>().prop_map(Epoch)
}

pub fn seq() -> impl Strategy<Value = Seq> {
    any::<u64>().prop_map(Seq)
}

pub fn tick() -> impl Strategy<Value = Tick> {
    any::<u64>().prop_map(Tick)
}

pub fn session() -> impl Strategy<Value = SessionId> {
    any::<u64>().prop_map(SessionId)
}

pub fn node() -> impl Strategy<Value = Node> {
    let kind = prop_oneof![
        Just(NodeKind::Cell),
        Just(NodeKind::Base),
        Just(NodeKind::Manager),
        Just(NodeKind::Client),
    ];
    (kind, any::<u16>(), any::<u64>())
        .prop_map(|(kind, number, life)| Node::new(kind, number, life))
}

pub fn raw() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..24)
}

pub fn bytes() -> impl Strategy<Value = Bytes> {
    raw().prop_map(Bytes::from)
}

pub fn place() -> impl Strategy<Value = Place> {
    (any::<u32>(), any::<i32>(), any::<i32>(), any::<u16>()).prop_map(|(space, x, y, heading)| {
        Place { space: SpaceId(space), pos: Pos::new(x, y), heading }
    })
}

pub fn value() -> impl Strategy<Value = Value> {
    prop_oneof![any::<i64>().prop_map(Value::Int), raw().prop_map(Value::Bytes)]
}

pub fn refusal() -> impl Strategy<Value = HandoffRefusal> {
    use HandoffRefusal as R;
    proptest::sample::select(vec![
        R::TargetSilent,
        R::TargetNotAccepting,
        R::TargetTooOld,
        R::TargetDead,
        R::NotInSpace,
        R::InProgress,
        R::NotOwned,
        R::AlreadyThere,
        R::NoSuchEntity,
        R::Deadline,
    ])
}

pub fn why() -> impl Strategy<Value = HandoffWhy> {
    prop_oneof![
        Just(HandoffWhy::Border),
        any::<u64>().prop_map(HandoffWhy::Order),
        Just(HandoffWhy::Teleport),
        Just(HandoffWhy::Drain),
    ]
}

pub fn rejection() -> impl Strategy<Value = Rejection> {
    prop_oneof![
        Just(Rejection::NotExposed),
        Just(Rejection::Busy),
        (any::<u32>(), any::<u32>()).prop_map(|(limit, size)| Rejection::TooLarge { limit, size }),
        ".{0,12}".prop_map(Rejection::Rule),
    ]
}

pub fn command_outcome() -> impl Strategy<Value = CommandOutcome> {
    prop_oneof![
        raw().prop_map(CommandOutcome::Applied),
        rejection().prop_map(CommandOutcome::Rejected),
        Just(CommandOutcome::Expired),
    ]
}

pub fn message_outcome() -> impl Strategy<Value = MessageOutcome> {
    prop_oneof![
        raw().prop_map(MessageOutcome::Applied),
        entity().prop_map(MessageOutcome::Spawned),
        rejection().prop_map(MessageOutcome::Rejected),
        Just(MessageOutcome::Undeliverable),
    ]
}

pub fn origin() -> impl Strategy<Value = Origin> {
    (node(), epoch(), seq(), tick()).prop_map(|(authority, epoch, seq, tick)| Origin {
        authority,
        epoch,
        seq,
        tick,
    })
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        entity().prop_map(Address::Entity),
        (any::<u16>(), place())
            .prop_map(|(kind, place)| Address::Spawn { kind: KindId(kind), place }),
    ]
}

fn out_message() -> impl Strategy<Value = OutMessage> {
    (any::<u64>(), address(), raw(), any::<i64>(), tick()).prop_map(
        |(out_seq, to, payload, value, sent)| OutMessage { out_seq, to, payload, value, sent },
    )
}

fn pin() -> impl Strategy<Value = Option<Pin>> {
    proptest::option::of((node(), tick()).prop_map(|(node, until)| Pin { node, until }))
}

pub fn state() -> impl Strategy<Value = EntityState> {
    let rest = (pin(), any::<bool>(), proptest::collection::vec(out_message(), 0..3));
    let props = proptest::collection::vec(value(), 0..6);
    (any::<u16>(), place(), props, any::<u64>(), any::<u64>(), rest).prop_map(
        |(kind, place, props, time, rng, (pin, destroyed, sent))| EntityState {
            kind: KindId(kind),
            place,
            props,
            time: EntityTime(time),
            rng: Rng(rng),
            timers: Timers::default(),
            commands: Default::default(),
            inbox: Default::default(),
            outbox: marchland_common::world::Outbox {
                last: sent.len() as u64,
                open: sent.into_iter().map(|m| (m.out_seq, m)).collect(),
            },
            pin,
            destroyed,
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (place(), any::<u64>()).prop_map(|(place, rng)| Change::Moved(place, Rng(rng))),
        (any::<u8>(), value()).prop_map(|(index, value)| Change::Prop(index, value)),
        Just(Change::Timers(Timers::default())),
        session().prop_map(Change::Attach),
        session().prop_map(Change::Detach),
        (session(), any::<u64>(), command_outcome()).prop_map(|(s, n, o)| Change::Command(s, n, o)),
        (session(), any::<u64>()).prop_map(|(s, n)| Change::Acknowledged(s, n)),
        (entity(), any::<u64>(), message_outcome()).prop_map(|(e, n, o)| Change::Received(e, n, o)),
        (entity(), any::<u64>(), any::<bool>()).prop_map(|(e, n, all)| Change::Settled(e, n, all)),
        out_message().prop_map(Change::Sent),
        any::<u64>().prop_map(Change::Answered),
        pin().prop_map(Change::Pinned),
        any::<i64>().prop_map(Change::Minted),
        Just(Change::Destroyed),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    let body = prop_oneof![
        3 => proptest::collection::vec(change(), 0..5).prop_map(StepBody::Delta),
        1 => state().prop_map(|s| StepBody::Snapshot(Box::new(s))),
    ];
    let digests = (any::<u64>(), any::<u64>());
    let first = proptest::option::of(tick());
    (entity(), epoch(), seq(), digests, any::<u64>(), first, body).prop_map(
        |(entity, epoch, seq, (prev_digest, digest), time, first_tick, body)| Step {
            entity,
            epoch,
            seq,
            prev_digest,
            digest,
            time: EntityTime(time),
            first_tick,
            body,
        },
    )
}
