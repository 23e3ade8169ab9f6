//! Whatever a peer says, the core neither panics nor forgets its own rules.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellConfig, CellInput, CellOrder, Completion};
use marchland_codec_core::{Pose, Prop, ghost_digest};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::journal::Event;
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::time::EntityTime;
use marchland_common::world::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;
use support::*;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![30 => 0..4_u64, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 2), 1 => any::<u64>()]
}

fn an_entity() -> impl Strategy<Value = EntityId> {
    prop_oneof![20 => (1..4_u64).prop_map(entity), 1 => any::<u64>().prop_map(EntityId)]
}

fn a_node() -> impl Strategy<Value = Node> {
    let known = vec![cell(1), cell(2), cell(3), base(), Node::new(NodeKind::Base, 2, 5)];
    let strange = (0..4_usize, any::<u16>(), number()).prop_map(|(kind, number, life)| {
        let kinds = [NodeKind::Cell, NodeKind::Base, NodeKind::Manager, NodeKind::Client];
        Node::new(kinds[kind], number, life)
    });
    prop_oneof![8 => proptest::sample::select(known), 1 => strange]
}

fn an_epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![20 => (1..5_u64).prop_map(Epoch::of_grant), 1 => number().prop_map(Epoch)]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn a_place() -> impl Strategy<Value = Place> {
    let space = prop_oneof![4 => Just(PLAIN), 1 => Just(CAVE), 1 => Just(SpaceId(77))];
    let coordinate = || prop_oneof![6 => -1_000..300_000_i32, 1 => any::<i32>()];
    (space, coordinate(), coordinate(), any::<u16>()).prop_map(|(space, x, y, heading)| Place {
        space,
        pos: Pos::new(x, y),
        heading,
    })
}

fn a_message_outcome() -> impl Strategy<Value = MessageOutcome> {
    prop_oneof![
        vec(any::<u8>(), 0..9).prop_map(MessageOutcome::Applied),
        an_entity().prop_map(MessageOutcome::Spawned),
        Just(MessageOutcome::Rejected(Rejection::Busy)),
        Just(MessageOutcome::Undeliverable),
    ]
}

/// Mostly a state that its kind allows; sometimes one that it does not.
fn a_state() -> impl Strategy<Value = EntityState> {
    let kind = prop_oneof![8 => 1..3_u16, 1 => any::<u16>()];
    let fields = (a_place(), number(), any::<i64>(), 0..30_u8, kind);
    (fields, vec(number(), 0..3), vec((an_entity(), number()), 0..3)).prop_map(
        |((place, time, gold, twist, kind), sessions, sources)| {
            let declared = small();
            let def = declared.0.get(KindId(kind)).or(declared.0.get(THING)).unwrap();
            let mut state = EntityState::new(def, place, time);
            state.kind = KindId(kind);
            state.time = EntityTime(time);
            for session in sessions {
                state.commands.attach(SessionId(session));
            }
            for (source, n) in sources {
                let _ = state.inbox.record(source, n, MessageOutcome::Undeliverable);
            }
            match twist {
                0 => drop(state.props.pop()),
                1 => state.props[0] = Value::Bytes(vec![1]),
                2 => state.props[usize::from(GOLD)] = Value::Int(gold),
                3 => state.outbox.last = time,
                4 => {
                    let to = Address::Entity(entity(1));
                    let (payload, sent) = (Vec::new(), Tick(time));
                    let open = OutMessage { out_seq: 1, to, payload, value: gold, sent };
                    state.outbox.open.insert(1, open);
                    state.outbox.last = 1;
                }
                5 => state.destroyed = true,
                6 => state.pin = Some(Pin { node: cell(1), until: Tick(time) }),
                _ => {}
            }
            state
        },
    )
}

fn digest_of(state: &EntityState) -> u64 {
    small().0.get(state.kind).map_or(0, |kind| state.durable_digest(kind))
}

fn a_grant() -> impl Strategy<Value = Grant> {
    let why = prop_oneof![Just(GrantWhy::Birth), Just(GrantWhy::Handoff), Just(GrantWhy::Restore)];
    let sessions = vec((number().prop_map(SessionId), any::<i32>()), 0..4);
    let names = (an_entity(), an_epoch(), a_node(), number(), why);
    let last_tick = option::weighted(0.2, number().prop_map(Tick));
    (names, a_state(), proptest::bool::weighted(0.9), sessions, (bytes(), last_tick)).prop_map(
        |((entity, epoch, to, seq, why), state, is_honest, sessions, (argument, last_tick))| {
            Grant {
                entity,
                epoch,
                to: if is_honest { cell(1) } else { to },
                seq: Seq(seq),
                digest: digest_of(&state) ^ u64::from(!is_honest),
                why,
                state: Box::new(state),
                sessions,
                argument,
                last_tick,
            }
        },
    )
}

fn from_base() -> impl Strategy<Value = BaseToCell> {
    let at = || (an_entity(), an_epoch(), number().prop_map(Seq));
    let session = || number().prop_map(SessionId);
    prop_oneof![
        6 => a_grant().prop_map(BaseToCell::Grant),
        1 => at().prop_map(|(entity, epoch, seq)| BaseToCell::Ack { entity, epoch, seq }),
        4 => at().prop_map(|(entity, epoch, seq)| {
            BaseToCell::Abort { entity, epoch, seq, reason: HandoffRefusal::TargetSilent }
        }),
        1 => at().prop_map(|(entity, epoch, _)| BaseToCell::Release { entity, epoch }),
        1 => (at(), an_epoch()).prop_map(|((entity, epoch, _), current)| {
            BaseToCell::Fenced { entity, epoch, current }
        }),
        1 => at().prop_map(|(entity, epoch, seq)| BaseToCell::NeedSnapshot { entity, epoch, seq }),
        4 => (an_entity(), session(), number(), any::<u8>(), bytes(), number(), number()).prop_map(
            |(entity, session, n, method, args, deadline, acknowledged)| {
                let (method, deadline) = (method % 14, Tick(deadline));
                let n = n.min(8);
                BaseToCell::Command(Command {
                    entity, session, n, method, args, deadline, acknowledged,
                })
            }
        ),
        1 => (an_entity(), session(), bytes()).prop_map(|(entity, session, payload)| {
            BaseToCell::Input { entity, session, payload }
        }),
        3 => (an_entity(), an_entity(), number(), bytes(), any::<i64>(), number(), at()).prop_map(
            |(entity, source, out_seq, payload, value, settled, (_, epoch, seq))| {
                let origin = Origin { authority: cell(2), epoch, seq, tick: Tick(settled) };
                BaseToCell::Inbox(InboxMessage {
                    entity, source, out_seq, payload, value, origin, settled,
                })
            }
        ),
        1 => (an_entity(), number(), a_message_outcome()).prop_map(|(entity, out_seq, outcome)| {
            BaseToCell::Answer { entity, out_seq, outcome }
        }),
        1 => (an_entity(), an_entity(), number()).prop_map(|(entity, source, through)| {
            BaseToCell::Settled { entity, source, through }
        }),
        4 => (an_entity(), session(), any::<i32>()).prop_map(|(entity, session, radius)| {
            BaseToCell::Attach { entity, session, radius }
        }),
        1 => (an_entity(), session())
            .prop_map(|(entity, session)| BaseToCell::Detach { entity, session }),
        3 => (number(), an_entity(), a_node(), any::<u32>(), number()).prop_map(
            |(order, entity, to, hold, deadline)| {
                BaseToCell::Order(HandoffOrder { order, entity, to, hold, deadline: Tick(deadline) })
            }
        ),
        1 => number().prop_map(|question| BaseToCell::Resync { question }),
        1 => an_entity().prop_map(|entity| BaseToCell::Destroy { entity }),
    ]
}

fn an_offload() -> impl Strategy<Value = Offload> {
    let names = (an_entity(), an_epoch(), number(), number());
    (names, a_state(), vec(a_node(), 0..4), vec(number(), 0..3)).prop_map(
        |((entity, epoch, seq, ghost_seq), state, hosts, seen)| Offload {
            entity,
            epoch,
            seq: Seq(seq),
            digest: digest_of(&state),
            state,
            ghost_seq: Seq(ghost_seq),
            ghost_since: epoch,
            hosts,
            witnesses: seen
                .iter()
                .map(|n| WitnessState {
                    session: SessionId(*n),
                    radius: *n as i32,
                    seen: vec![Seen { entity, epoch, seq: Seq(*n), owed: *n as u32 }],
                })
                .collect(),
            signals: SignalWindow::default(),
            scratch: Vec::new(),
        },
    )
}

fn from_cell() -> impl Strategy<Value = CellToCell> {
    let at = || (an_entity(), an_epoch(), number().prop_map(Seq));
    let props = vec((any::<u8>(), any::<i64>().prop_map(Value::Int)), 0..5);
    prop_oneof![
        3 => an_offload().prop_map(|offload| CellToCell::Offload(Box::new(offload))),
        4 => (at(), 0..5_u32, a_place(), props, proptest::bool::weighted(0.8)).prop_map(
            |((entity, epoch, seq), index, place, strange, is_honest)| {
                let (kind, since) = (THING, epoch);
                let props = match is_honest {
                    true => vec![(HEALTH, Value::Int(seq.0 as i64)), (MOOD, Value::Int(1))],
                    false => strange,
                };
                let shown = props.iter().filter_map(|(slot, value)| match value {
                    Value::Int(number) => Some(Prop::int(*slot, *number)),
                    Value::Bytes(_) => None,
                });
                let pose = Pose::of_world(place.pos.x, place.pos.y, place.heading);
                let digest = ghost_digest(pose, shown);
                CellToCell::GhostCreate(GhostCreate {
                    entity, epoch, seq, index, kind, place, props, digest, since,
                })
            }
        ),
        2 => bytes().prop_map(CellToCell::GhostDeltas),
        1 => (at(), any::<u64>(), 0..5_u32).prop_map(|((entity, epoch, seq), digest, index)| {
            CellToCell::GhostAdopt { entity, epoch, seq, digest, index }
        }),
        1 => (at(), any::<bool>()).prop_map(|((entity, epoch, _), destroyed)| {
            CellToCell::GhostRemove { entity, epoch, destroyed }
        }),
        1 => (at(), 0..5_u32).prop_map(|((entity, epoch, _), index)| {
            CellToCell::GhostDisown { entity, epoch, index }
        }),
        1 => at().prop_map(|(entity, epoch, _)| CellToCell::GhostNeedSnapshot { entity, epoch }),
        2 => (at(), an_entity(), any::<u32>(), number(), any::<u8>(), bytes()).prop_map(
            |((source, epoch, _), to, run, n, hops, payload)| {
                CellToCell::Signal(Signal { to, source, epoch, run: run % 3, n, hops, payload })
            }
        ),
    ]
}

fn a_msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        12 => from_base().prop_map(Msg::BaseToCell),
        4 => from_cell().prop_map(Msg::CellToCell),
        1 => an_entity().prop_map(|entity| {
            Msg::CellToBase(CellToBase::Notice { entity, payload: Bytes::new() })
        }),
    ]
}

fn a_header() -> impl Strategy<Value = Header> {
    prop_oneof![
        6 => option::of(Just(())).prop_map(|some| Header::BaseToCell {
            durable_tick: some.map(|()| Tick(u64::MAX)),
        }),
        2 => Just(Header::Peer),
        1 => Just(Header::CellToBase { steps: 1, accepting: true, schema: 1 }),
    ]
}

fn a_frame() -> impl Strategy<Value = (Node, Option<u64>, Header, Vec<Msg>)> {
    let from = prop_oneof![6 => Just(base()), 3 => Just(cell(2)), 1 => a_node()];
    (from, option::weighted(0.02, number()), a_header(), vec(a_msg(), 0..8))
}

fn orders() -> impl Strategy<Value = Vec<CellOrder>> {
    let order = prop_oneof![
        Just(CellOrder::Drain),
        Just(CellOrder::Freeze),
        Just(CellOrder::Thaw),
        any::<bool>().prop_map(CellOrder::Accept),
    ];
    prop_oneof![40 => Just(Vec::new()), 1 => vec(order, 1..3)]
}

fn core() -> CellCore {
    let mut core = CellCore::new(CellConfig::new(cell(1), 7, STEP_US), world());
    let nodes = [cell(1), cell(2), cell(3), base()];
    let members = nodes.map(|node| Member { node, state: MemberState::Serving });
    let slot = SlotOwner { slot: SlotId(0), base: base().name, term: Term(1) };
    let mut input = CellInput::empty(Tick(1));
    input.map = vec![
        MapChange::Members(members.to_vec()),
        MapChange::Slots(vec![slot]),
        MapChange::Layout(cluster::layout(PLAIN, 1, &[Some(cell(1)), Some(cell(2)), None])),
        MapChange::Layout(cluster::layout(CAVE, 1, &[Some(cell(2))])),
    ];
    core.tick(input);
    core
}

type Said = (Vec<(Node, Option<u64>, Header, Vec<Msg>)>, Vec<CellOrder>, EntityId);

/// What a run of all cases came by: a hostile world that never gets anywhere proves nothing.
#[derive(Default)]
struct Reached {
    activated: usize,
    frozen: usize,
    unfrozen: usize,
    ended: usize,
    commands: usize,
    messages: usize,
    ghosts: usize,
    refused: usize,
}

impl Reached {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Activated { .. } => self.activated += 1,
            Event::Frozen { .. } => self.frozen += 1,
            Event::Unfrozen { .. } => self.unfrozen += 1,
            Event::Deactivated { .. } => self.ended += 1,
            Event::CommandRun { .. } => self.commands += 1,
            Event::MessageRun { .. } => self.messages += 1,
            Event::GhostApplied { .. } => self.ghosts += 1,
            Event::Refusal { .. } => self.refused += 1,
            _ => {}
        }
    }
}

fn answer(event: &Event) -> Option<Msg> {
    let Event::Frozen { entity, epoch, seq, .. } = *event else { return None };
    let reason = HandoffRefusal::TargetSilent;
    Some(Msg::BaseToCell(match seq.0 % 2 {
        0 => BaseToCell::Abort { entity, epoch, seq, reason },
        _ => BaseToCell::Release { entity, epoch },
    }))
}

fn listen(ticks: Vec<Said>, reached: &mut Reached) -> Result<(), TestCaseError> {
    let mut core = core();
    let mut next_n: BTreeMap<Node, u64> = BTreeMap::new();
    let mut epochs: BTreeMap<EntityId, Epoch> = BTreeMap::new();
    let mut last_n: BTreeMap<Node, u64> =
        [base(), cell(2), cell(3)].into_iter().map(|node| (node, 1)).collect();
    let mut answers: Vec<Msg> = Vec::new();
    for (at, (mut frames, orders, asker)) in ticks.into_iter().enumerate() {
        let tick = Tick(at as u64 + 2);
        let mut input = CellInput::empty(tick);
        input.orders = orders;
        input.completions = vec![Completion { entity: asker, token: 1, payload: vec![7] }];
        // A base that answers handoffs leads to states that chance alone does not.
        let header = Header::BaseToCell { durable_tick: Some(Tick(at as u64 + 1)) };
        frames.push((base(), None, header, std::mem::take(&mut answers)));
        for (from, odd, header, msgs) in frames {
            let n = next_n.entry(from).or_insert(0);
            *n = n.saturating_add(1);
            let (n, moment) = (odd.unwrap_or(*n), Moment::Flush);
            let bundle = Bundle { n, src_tick: tick, moment, phase_us: 0, header, msgs };
            input.frames.push(Frame { from, bundle });
        }
        let mut copy = CellCore::restore(&core.snapshot(), world()).unwrap();
        let output = core.tick(input.clone());
        prop_assert_eq!(&copy.tick(input), &output);
        prop_assert_eq!(copy.digest(), core.digest());
        for event in &output.events {
            reached.note(event);
            answers.extend(answer(event));
            if let Event::Activated { entity, epoch, .. } = event {
                let before = epochs.insert(*entity, *epoch);
                prop_assert!(before < Some(*epoch), "{entity:?} real again under {epoch:?}");
            }
        }
        for out in &output.bundles {
            let last = last_n.insert(out.to, out.bundle.n).unwrap_or(0);
            prop_assert_eq!(out.bundle.n, last + 1);
        }
    }
    Ok(())
}

#[test]
fn any_bundles_from_anybody_leave_the_core_alive_and_its_rules_kept() {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let reached = RefCell::new(Reached::default());
    let ticks = vec((vec(a_frame(), 0..4), orders(), an_entity()), 1..30);
    runner.run(&ticks, |ticks| listen(ticks, &mut reached.borrow_mut())).unwrap();
    let Reached { activated, frozen, unfrozen, ended, commands, messages, ghosts, refused } =
        reached.into_inner();
    let counts = [activated, frozen, unfrozen, ended, commands, messages, ghosts, refused];
    assert!(counts.iter().all(|count| *count > 0), "some things never happened: {counts:?}");
}
