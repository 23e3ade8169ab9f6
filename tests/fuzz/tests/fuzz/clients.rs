//! The client plane: what a gateway reads of a stream, damaged, and what is left of it at a base.

use crate::recorded::{Counts, SEED};
use bytes::Bytes;
use marchland_baseapp::gateway::{
    ARGS_BYTES_MAX, FirstWord, MESSAGE_BYTES_MAX, PlayRules, Unheard, first_word, later_word,
};
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{BaseConfig, BaseInput, ClientEvent, ClientFrame};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::msg::Moment;
use marchland_common::order::{KindId, Lsn, Node, NodeKind, SessionId, SlotId, Term, Tick};
use marchland_common::rng::Rng;
use marchland_frontier_core::{AVATAR, encode, home_of, kinds};
use marchland_fuzz::{damaged, each_round, mutate_fields, pick};
use marchland_proto::client::{self as wire, Up, up};
use prost::Message;
use std::sync::Arc;
use std::time::Duration;

fn rules() -> PlayRules {
    PlayRules {
        kinds: Arc::new(kinds()),
        home: home_of,
        playable: |kind| kind == AVATAR,
        step: Duration::from_millis(50),
    }
}

/// One message of each kind; a kind that is added does not compile without one.
fn example_of(kind: &up::What, rng: &mut Rng) -> up::What {
    let n = 1 + rng.below(9);
    match kind {
        up::What::Login(_) => up::What::Login(wire::Login {
            account: format!("account-{n}"),
            radius: 30_000,
            kind: kinds().get(AVATAR).unwrap().name.clone(),
        }),
        up::What::Resume(_) => up::What::Resume(wire::Resume {
            session: 0x0101 << 8,
            secret: 77,
            acknowledged: n,
            radius: 20_000,
        }),
        up::What::Command(_) => up::What::Command(wire::Command {
            n,
            entity: 513,
            method: kinds().get(AVATAR).unwrap().methods[0].name.clone(),
            args: encode(&(n, "words")).into(),
            ttl: 40,
            acknowledged: n - 1,
        }),
        up::What::Input(_) => up::What::Input(wire::Input { payload: Bytes::from_static(b"east") }),
        up::What::Acknowledge(_) => up::What::Acknowledge(wire::Acknowledge { n }),
        up::What::Logout(_) => up::What::Logout(wire::Logout {}),
    }
}

fn corpus(rng: &mut Rng) -> Vec<Vec<u8>> {
    let kinds = [
        up::What::Login(wire::Login::default()),
        up::What::Resume(wire::Resume::default()),
        up::What::Command(wire::Command::default()),
        up::What::Input(wire::Input::default()),
        up::What::Acknowledge(wire::Acknowledge::default()),
        up::What::Logout(wire::Logout {}),
    ];
    let all =
        kinds.iter().flat_map(|kind| (0..4).map(|_| example_of(kind, rng)).collect::<Vec<_>>());
    all.map(|what| Up { what: Some(what) }.encode_to_vec()).collect()
}

/// A base with every slot, which logs at once.
struct Base {
    core: BaseCore,
    tick: u64,
    durable: Lsn,
    session: Option<SessionId>,
}

impl Base {
    fn new() -> Self {
        let node = Node::new(NodeKind::Base, 1, 5);
        let config = BaseConfig::new(node, SEED, 50_000);
        let core = BaseCore::new(config, rules().kinds, Default::default());
        let mut base = Self { core, tick: 1, durable: Lsn(0), session: None };
        let cell = Node::new(NodeKind::Cell, 1, 6);
        let member = |node| Member { node, state: MemberState::Serving };
        let slot = |slot| SlotOwner { slot: SlotId(slot), base: node.name, term: Term(1) };
        let map = vec![
            MapChange::Members(vec![member(node), member(cell)]),
            MapChange::Slots((0..=u8::MAX).map(slot).collect()),
        ];
        base.tick(map, Vec::new());
        base
    }

    fn tick(&mut self, map: Vec<MapChange>, clients: Vec<ClientEvent>) {
        self.tick += 1;
        let input = BaseInput {
            tick: Tick(self.tick),
            moment: Moment::Flush,
            dropped: None,
            durable: Some(self.durable),
            map,
            frames: Vec::new(),
            clients,
            orders: Vec::new(),
        };
        let output = self.core.tick(input);
        self.durable.0 += output.log.len() as u64;
        for told in output.clients {
            if let ClientFrame::Welcome { .. } = told.what {
                self.session = Some(told.session);
            }
        }
    }
}

fn event(word: FirstWord, request: u64) -> ClientEvent {
    match word {
        FirstWord::Login { account, kind, radius } => {
            let place = home_of(&account);
            ClientEvent::Login { request, account, kind, place, radius }
        }
        FirstWord::Resume { session, secret, acknowledged, radius } => {
            ClientEvent::Resume { request, session, secret, acknowledged, radius }
        }
    }
}

/// What the base relies on, whatever the client sent.
fn check(event: &ClientEvent) {
    match event {
        ClientEvent::Login { account, kind, radius, .. } => {
            assert!((1..=64).contains(&account.len()) && *kind == AVATAR && *radius >= 0);
        }
        ClientEvent::Resume { radius, .. } => assert!(*radius >= 0),
        ClientEvent::Command { args, .. } => assert!(args.len() <= ARGS_BYTES_MAX),
        ClientEvent::Input { payload, .. } => assert!(payload.len() <= ARGS_BYTES_MAX),
        ClientEvent::Gone { .. } | ClientEvent::Logout { .. } | ClientEvent::Acknowledge { .. } => {
        }
    }
}

fn hear(
    rules: &PlayRules,
    bytes: Vec<u8>,
    session: Option<SessionId>,
    request: u64,
) -> Option<Result<ClientEvent, Unheard>> {
    let what = Up::decode(Bytes::from(bytes)).ok()?.what;
    let is_first = matches!(what, Some(up::What::Login(_) | up::What::Resume(_)));
    Some(match (what, session) {
        (Some(what), _) if is_first => first_word(rules, what).map(|word| event(word, request)),
        (what, Some(session)) => later_word(rules, session, KindId(0), what),
        (what, None) => later_word(rules, SessionId(9), AVATAR, what),
    })
}

#[test]
fn whatever_a_client_sends_is_refused_or_within_the_limits_and_no_base_minds() {
    let rules = rules();
    let corpus = corpus(&mut Rng(1));
    let mut base = Base::new();
    let mut counts = Counts::default();
    each_round("clients", 30_000, |rng| {
        let (whole, other) = (pick(rng, &corpus), pick(rng, &corpus));
        let bytes = match rng.below(4) {
            0 => whole.clone(),
            1 => damaged(rng, whole, other),
            _ => mutate_fields(rng, whole, other),
        };
        let request = rng.below(1_000);
        let (len, session) = (bytes.len() as u64, base.session);
        let mut heard = None;
        let cost = allocation_counter::measure(|| heard = hear(&rules, bytes, session, request));
        assert!(cost.bytes_max <= 4 * len + 4_096, "{len} bytes took {}", cost.bytes_max);
        match heard {
            None => counts.add("no message"),
            Some(Err(_)) => counts.add("refused"),
            Some(Ok(event)) => {
                check(&event);
                counts.add("heard");
                base.tick(Vec::new(), vec![event]);
            }
        }
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        for name in ["no message", "refused", "heard"] {
            assert!(counts.of(name) > 500, "{name}: {counts:?}");
        }
    }
}

#[test]
fn arguments_at_their_limit_are_heard_and_one_byte_more_is_not() {
    let rules = rules();
    let said = |len: usize| {
        let args = Bytes::from(vec![7; len]);
        let command = wire::Command { args: args.clone(), ..wire::Command::default() };
        let both = [up::What::Command(command), up::What::Input(wire::Input { payload: args })];
        both.map(|what| later_word(&rules, SessionId(1), AVATAR, Some(what)).is_ok())
    };
    assert_eq!(said(ARGS_BYTES_MAX), [true, true]);
    assert_eq!(said(ARGS_BYTES_MAX + 1), [false, false]);
    const { assert!(ARGS_BYTES_MAX < MESSAGE_BYTES_MAX) };
    let login = |account: String| {
        let kind = kinds().get(AVATAR).unwrap().name.clone();
        first_word(&rules, up::What::Login(wire::Login { account, radius: 1, kind })).is_ok()
    };
    assert_eq!([0, 1, 64, 65].map(|len| login("x".repeat(len))), [false, true, true, false]);
}
