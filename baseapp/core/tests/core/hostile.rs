//! Whatever comes in, nothing panics, and what is there already stays as it is.

use crate::support::*;
use bytes::Bytes;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::*;
use marchland_baseapp_core::log::LogRecord;
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::rng::Rng;
use marchland_common::time::EntityTime;
use marchland_common::world::*;
use proptest::prelude::*;

/// Values from the edges and from what the cluster really uses.
struct Any {
    rng: Rng,
    entities: Vec<EntityId>,
    sessions: Vec<SessionId>,
    state: EntityState,
    digest: u64,
}

impl Any {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len() as u64) as usize]
    }

    fn number(&mut self) -> u64 {
        let small = self.rng.below(6);
        let any = self.rng.next_u64();
        self.pick(&[0, 1, small, small, small, u64::MAX, u64::MAX - 1, 1 << 48, any])
    }

    fn value(&mut self) -> i64 {
        let small = self.rng.between(-5, 200);
        self.pick(&[0, small, small, i64::MAX, i64::MIN])
    }

    fn entity(&mut self) -> EntityId {
        let known = self.entities.clone();
        match self.rng.below(5) {
            0 => EntityId(self.number()),
            _ => self.pick(&known),
        }
    }

    fn session(&mut self) -> SessionId {
        let known = self.sessions.clone();
        match self.rng.below(4) {
            0 => SessionId(self.number()),
            _ => self.pick(&known),
        }
    }

    fn epoch(&mut self) -> Epoch {
        match self.rng.below(3) {
            0 => Epoch(self.number()),
            _ => Epoch::of_grant(self.rng.below(4)),
        }
    }

    fn node(&mut self) -> Node {
        let kind = self.pick(&[NodeKind::Cell, NodeKind::Cell, NodeKind::Base, NodeKind::Manager]);
        let number = 1 + self.rng.below(4) as u16;
        match (self.rng.below(4), kind) {
            (0, _) => Node::new(kind, number, self.number()),
            (_, NodeKind::Base) => base(number),
            _ => cell(number),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.rng.below(4);
        (0..len).map(|_| self.rng.next_u64() as u8).collect()
    }

    fn tick(&mut self) -> Tick {
        let near = 1_000 + self.rng.below(20);
        Tick(self.pick(&[0, near, near, u64::MAX]))
    }

    fn outcome(&mut self) -> MessageOutcome {
        match self.rng.below(4) {
            0 => MessageOutcome::Applied(self.bytes()),
            1 => MessageOutcome::Spawned(self.entity()),
            2 => MessageOutcome::Rejected(Rejection::Busy),
            _ => MessageOutcome::Undeliverable,
        }
    }

    fn change(&mut self) -> Change {
        match self.rng.below(14) {
            0 => Change::Moved(self.place(), Rng(self.number())),
            1 => Change::Prop(self.rng.below(5) as u8, Value::Int(self.value())),
            2 => Change::Prop(self.rng.below(5) as u8, Value::Bytes(self.bytes())),
            3 => Change::Attach(self.session()),
            4 => Change::Detach(self.session()),
            5 => {
                let outcome = CommandOutcome::Applied(self.bytes());
                Change::Command(self.session(), self.number(), outcome)
            }
            6 => Change::Acknowledged(self.session(), self.number()),
            7 => Change::Received(self.entity(), self.number(), self.outcome()),
            8 => Change::Settled(self.entity(), self.number(), self.rng.chance(1, 2)),
            9 => Change::Sent(self.message()),
            10 => Change::Answered(self.number()),
            11 => Change::Pinned(Some(Pin { node: self.node(), until: self.tick() })),
            12 => Change::Minted(self.value()),
            _ => Change::Destroyed,
        }
    }

    fn message(&mut self) -> OutMessage {
        let to = match self.rng.below(3) {
            0 => Address::Spawn { kind: KindId(self.rng.below(3) as u16), place: self.place() },
            _ => Address::Entity(self.entity()),
        };
        OutMessage {
            out_seq: self.number(),
            to,
            payload: self.bytes(),
            value: self.value(),
            sent: self.tick(),
        }
    }

    fn place(&mut self) -> Place {
        let any = self.rng.next_u64() as i32;
        let x = self.pick(&[0, i32::MIN, i32::MAX, any]);
        Place { space: SpaceId(self.rng.below(3) as u32), pos: Pos::new(x, any), heading: 0 }
    }

    /// A step, with the right digests more often than chance would have it.
    fn step(&mut self) -> Step {
        let changes: Vec<Change> = (0..self.rng.below(4)).map(|_| self.change()).collect();
        let kinds = kinds();
        let kind = kinds.get(HERO).unwrap();
        let mut state = self.state.clone();
        let fits = changes.iter().all(|change| state.apply(change).is_ok());
        let digest = if fits { state.durable_digest(kind) } else { self.number() };
        let whole = self.rng.chance(1, 5);
        Step {
            entity: self.entity(),
            epoch: self.epoch(),
            seq: Seq(self.number()),
            prev_digest: self.digest,
            digest,
            time: EntityTime(self.number()),
            first_tick: self.rng.chance(1, 2).then(|| self.tick()),
            body: match whole {
                true => StepBody::Snapshot(Box::new(state)),
                false => StepBody::Delta(changes),
            },
        }
    }

    fn cell_msg(&mut self) -> CellToBase {
        let (entity, epoch) = (self.entity(), self.epoch());
        match self.rng.below(10) {
            0..=3 => CellToBase::Step(self.step()),
            4 => CellToBase::Prepare(Prepare {
                entity,
                epoch,
                seq: Seq(self.number()),
                digest: self.digest,
                target: self.node(),
                why: HandoffWhy::Order(self.number()),
                last_tick: self.tick(),
                layout_version: self.number(),
            }),
            5 => CellToBase::OrderRefused {
                order: self.number(),
                entity,
                reason: HandoffRefusal::InProgress,
            },
            6 => CellToBase::View(View {
                entity,
                session: self.session(),
                epoch,
                tick: self.tick(),
                fresh: false,
                body: Bytes::from(self.bytes()),
            }),
            7 => CellToBase::GrantStale { entity, epoch, known: self.epoch() },
            8 => CellToBase::Listed { question: self.rng.below(4) },
            _ => {
                let (seq, digest) = (Seq(self.number()), self.number());
                CellToBase::Holding { entity, epoch, seq, digest }
            }
        }
    }

    fn base_msg(&mut self) -> BaseToBase {
        let (to, source, out_seq) = (self.entity(), self.entity(), self.number());
        match self.rng.below(3) {
            0 => BaseToBase::Deliver {
                to,
                source,
                out_seq,
                payload: Bytes::from(self.bytes()),
                value: self.value(),
                origin: Origin {
                    authority: self.node(),
                    epoch: self.epoch(),
                    seq: Seq(self.number()),
                    tick: self.tick(),
                },
                settled: self.number(),
                after: self.number(),
            },
            1 => BaseToBase::Delivered { source, out_seq, to, outcome: self.outcome() },
            _ => BaseToBase::Settled { source, to, through: self.number() },
        }
    }

    fn frame(&mut self) -> Frame {
        let from = self.node();
        let msgs = (0..self.rng.below(4))
            .map(|_| match self.rng.below(8) {
                0 => Msg::BaseToCell(BaseToCell::Resync { question: self.number() }),
                1..=3 => Msg::BaseToBase(self.base_msg()),
                _ => Msg::CellToBase(self.cell_msg()),
            })
            .collect();
        let header = match self.rng.below(3) {
            0 => Header::Peer,
            _ => Header::CellToBase { steps: self.number(), accepting: true, schema: SCHEMA },
        };
        let near = self.rng.below(50);
        let n = self.pick(&[near, near, near, u64::MAX]);
        let src_tick = self.tick();
        let bundle = Bundle { n, src_tick, moment: Moment::Flush, phase_us: 0, header, msgs };
        Frame { from, bundle }
    }

    fn client(&mut self) -> ClientEvent {
        let (session, request) = (self.session(), self.number());
        match self.rng.below(7) {
            0 => ClientEvent::Login {
                request,
                account: format!("a{}", self.rng.below(4)),
                kind: KindId(self.rng.below(3) as u16),
                place: self.place(),
                radius: self.value() as i32,
            },
            1 => ClientEvent::Resume {
                request,
                session,
                secret: self.number(),
                acknowledged: self.number(),
                radius: 0,
            },
            2 => ClientEvent::Gone { session },
            3 => ClientEvent::Input { session, payload: Bytes::from(self.bytes()) },
            4 => ClientEvent::Acknowledge { session, n: self.number() },
            5 if self.rng.chance(1, 8) => ClientEvent::Logout { session },
            _ => ClientEvent::Command {
                session,
                n: self.number(),
                entity: self.entity(),
                method: self.rng.below(4) as u8,
                args: Bytes::from(self.bytes()),
                ttl: self.number() as u32,
                acknowledged: self.number(),
            },
        }
    }

    fn order(&mut self) -> BaseOrder {
        let entity = self.entity();
        match self.rng.below(5) {
            0 => BaseOrder::Create {
                request: self.number(),
                kind: KindId(self.rng.below(3) as u16),
                place: self.place(),
                argument: self.bytes(),
                props: vec![(self.rng.below(5) as u8, Value::Int(self.value()))],
            },
            1 => BaseOrder::Destroy { entity },
            2 => BaseOrder::Freeze,
            3 => BaseOrder::Thaw,
            _ => BaseOrder::Handoff {
                order: self.number(),
                entity,
                to: self.node(),
                hold: self.number() as u32,
                within: self.number() as u32,
            },
        }
    }

    fn map(&mut self) -> MapChange {
        match self.rng.below(5) {
            0 => {
                let node = self.node();
                MapChange::Members(vec![Member { node, state: MemberState::Serving }])
            }
            1 => {
                let slot = SlotId(self.number() as u8);
                let term = Term(self.number());
                MapChange::Slots(vec![SlotOwner { slot, base: self.node().name, term }])
            }
            2 => MapChange::SpaceGone(SpaceId(self.rng.below(3) as u32)),
            3 => MapChange::Dead(vec![self.node().incarnation]),
            _ => {
                let version = self.number();
                MapChange::Layout(Layout { version, ..layout([cell(1), cell(2), cell(3)]) })
            }
        }
    }

    fn input(&mut self, tick: u64) -> BaseInput {
        let flush = self.rng.chance(3, 4);
        let few = |any: &mut Self, most: u64| any.rng.below(most + 1);
        let mut frames: Vec<Frame> = (0..few(self, 3)).map(|_| self.frame()).collect();
        frames.sort_by_key(|f| (f.from, f.bundle.n));
        let maps = u64::from(self.rng.chance(1, 6));
        BaseInput {
            tick: Tick(tick),
            moment: if flush { Moment::Flush } else { Moment::Release(1) },
            dropped: None,
            durable: self.rng.chance(1, 2).then(|| Lsn(self.number())),
            map: (0..maps).map(|_| self.map()).collect(),
            frames,
            clients: (0..few(self, 3)).map(|_| self.client()).collect(),
            orders: (0..few(self, 1)).map(|_| self.order()).collect(),
        }
    }
}

fn attack(seed: u64) -> (Cluster, Any) {
    let mut cluster = Cluster::with(2, |_| {});
    let client = login(&mut cluster, "a0");
    let entities = vec![cluster.born_at(0, west()), cluster.born_at(1, east()), client.entity];
    let copy = cluster.owner(1).copies[&entities[0]].clone();
    let sessions = vec![client.session];
    let any = Any { rng: Rng(seed), entities, sessions, state: copy.state, digest: copy.digest };
    (cluster, any)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_input_makes_the_core_panic_or_disagree_with_its_own_log(seed in any::<u64>()) {
        let (mut cluster, mut any) = attack(seed);
        let mut log = cluster.bases[0].log.clone();
        for n in 0..60 {
            let output = cluster.bases[0].core.tick(any.input(2_000 + n));
            log.extend(output.log);
        }
        let from_log = marchland_baseapp_core::log::replay(&cluster.kinds, log.iter()).unwrap();
        let image = cluster.bases[0].core.checkpoint();
        let from_image = marchland_baseapp_core::log::replay(&cluster.kinds, image).unwrap();
        prop_assert_eq!(from_log, from_image);
        let bytes = cluster.bases[0].core.snapshot();
        let copy = BaseCore::restore(&bytes, cluster.kinds.clone()).unwrap();
        prop_assert_eq!(copy.digest(), cluster.bases[0].core.digest());
        prop_assert_eq!(copy.snapshot(), bytes);
    }

    #[test]
    fn bytes_that_are_no_records_and_no_snapshots_are_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = LogRecord::decode(&bytes);
        let mut versioned = vec![1];
        versioned.extend(&bytes);
        if let Ok(record) = LogRecord::decode(&versioned) {
            let mut store = marchland_baseapp_core::log::Store::default();
            let _ = store.apply(&record, &kinds());
        }
        prop_assert!(BaseCore::restore(&bytes, kinds()).is_err());
    }
}
