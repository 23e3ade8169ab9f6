//! Hostile bundles at the door of a cellapp's core, in the middle of what it really did.

use crate::recorded::{
    Counts, SEED, encoded, first_life, frames, hostile, inputs, read, record, words,
};
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::io::{CellConfig, CellInput, CellOutput};
use marchland_common::journal::Event;
use marchland_common::msg::{
    BaseToCell, CellToCell, Frame, Grant, GrantWhy, InboxMessage, Msg, Offload, Origin,
};
use marchland_common::order::{
    EntityId, Epoch, KindId, Node, NodeKind, Seq, SessionId, SignalWindow, Tick,
};
use marchland_common::rng::Rng;
use marchland_common::world::{EntityState, Value};
use marchland_frontier_core::{AVATAR, Frontier, WOLF, Word, encode, kinds};
use marchland_fuzz::{Words, damaged, each_round, examples, pick};
use marchland_runtime::link::BUNDLE_BYTES_MAX;
use marchland_sim::STEP_US;
use std::sync::Arc;

/// Numbers that no sum and no difference survives.
const EDGES: [i64; 4] = [i64::MIN, -1, i64::MAX - 1, i64::MAX];

/// Ticks that a hostile world lasts.
const TICKS: usize = 6;

/// The core at a moment, and what it was told from there on.
struct Moment {
    core: Vec<u8>,
    next: Vec<CellInput>,
}

/// What hostile words are made of.
struct Material {
    me: Node,
    moments: Vec<Moment>,
    frames: Vec<Frame>,
    from_bases: Vec<BaseToCell>,
    from_cells: Vec<CellToCell>,
}

fn material() -> Material {
    let report = record();
    let frames = frames(&report);
    let words: Words = words(&report, &frames);
    let (me, records) = first_life(&report, NodeKind::Cell, 2);
    let inputs = inputs::<CellInput>(records);
    let mut core = CellCore::new(CellConfig::new(me, SEED, STEP_US), Arc::new(Frontier::new()));
    let mut moments = Vec::new();
    for (at, (input, digest)) in inputs.iter().enumerate() {
        if at > 60 && at % 12 == 0 && at + TICKS < inputs.len() {
            let next = inputs[at..at + TICKS].iter().map(|(input, _)| input.clone()).collect();
            moments.push(Moment { core: core.snapshot(), next });
        }
        core.tick(input.clone());
        assert_eq!(core.digest(), *digest, "the record of {me} is not what its core does");
    }
    assert!(moments.len() > 10, "only {} moments", moments.len());
    let mut rng = Rng(5);
    let from_bases = examples(&mut rng, &words, 60);
    let from_cells = examples(&mut rng, &words, 60);
    Material { me, moments, frames, from_bases, from_cells }
}

impl Material {
    /// A state that somebody here really has, damaged, with the digest that it then has.
    fn state(&self, rng: &mut Rng, core: &CellCore) -> Option<(EntityId, EntityState, u64)> {
        let reals = core.reals();
        let entity = *reals.get(rng.below(reals.len() as u64 + 1) as usize)?;
        let bytes = postcard::to_stdvec(&core.state(entity)?).ok()?;
        let mut state: EntityState = postcard::from_bytes(&damaged(rng, &bytes, &bytes)).ok()?;
        if rng.chance(1, 3) && !state.props.is_empty() {
            let at = rng.below(state.props.len() as u64) as usize;
            state.props[at] = Value::Int(*pick(rng, &EDGES));
        }
        let digest = kinds().get(state.kind).map_or(0, |kind| state.durable_digest(kind));
        Some((entity, state, digest))
    }

    fn honest(&self, rng: &mut Rng, core: &CellCore, from: NodeKind) -> Option<Msg> {
        let (entity, state, digest) = self.state(rng, core)?;
        let known = core.brief(entity)?;
        let epoch =
            Epoch(known.epoch.0.saturating_add([0, 1, 1 << 20, u64::MAX][rng.below(4) as usize]));
        let seq = if rng.chance(1, 8) { Seq(u64::MAX) } else { known.seq };
        if from == NodeKind::Cell {
            return Some(Msg::CellToCell(CellToCell::Offload(Box::new(Offload {
                entity,
                epoch,
                seq,
                digest,
                state,
                ghost_seq: Seq(rng.below(3)),
                ghost_since: epoch,
                hosts: vec![self.me],
                witnesses: Vec::new(),
                signals: SignalWindow::default(),
                scratch: Vec::new(),
            }))));
        }
        let why = [GrantWhy::Birth, GrantWhy::Handoff, GrantWhy::Restore][rng.below(3) as usize];
        Some(Msg::BaseToCell(BaseToCell::Grant(Grant {
            entity,
            epoch: if rng.chance(1, 8) { epoch } else { known.epoch.next_grant() },
            to: self.me,
            seq,
            digest,
            why,
            state: Box::new(state),
            sessions: vec![(SessionId(rng.below(9)), rng.next_u64() as i32)],
            argument: bytes::Bytes::new(),
            last_tick: rng.chance(1, 8).then_some(Tick(u64::MAX)),
        })))
    }

    fn spoil(&self, rng: &mut Rng, core: &CellCore, input: &mut CellInput) {
        for frame in &mut input.frames {
            if rng.chance(1, 3) {
                let other = &pick(rng, &self.frames).bundle;
                frame.bundle = hostile(rng, &frame.bundle, other);
            }
            let kind = frame.from.name.kind;
            for _ in 0..rng.below(4) {
                let drawn = match kind {
                    NodeKind::Base => Msg::BaseToCell(pick(rng, &self.from_bases).clone()),
                    _ => Msg::CellToCell(pick(rng, &self.from_cells).clone()),
                };
                let honest = if rng.chance(1, 3) { self.honest(rng, core, kind) } else { None };
                let at = rng.below(frame.bundle.msgs.len() as u64 + 1) as usize;
                frame.bundle.msgs.insert(at, honest.unwrap_or(drawn));
            }
        }
    }
}

/// What a core says can be sent and read, whatever it was told.
fn check(output: &CellOutput) {
    for out in &output.bundles {
        let bytes = encoded(out.bundle.clone());
        assert!(bytes.len() <= BUNDLE_BYTES_MAX, "{} bytes to {}", bytes.len(), out.to);
        assert_eq!(read(&bytes).as_ref(), Ok(&out.bundle));
    }
}

#[test]
fn no_damaged_bundle_of_a_peer_makes_a_cellapp_panic_or_say_what_nobody_can_read() {
    let material = material();
    let mut counts = Counts::default();
    each_round("cells", 1_500, |rng| {
        let moment = pick(rng, &material.moments);
        let mut core = CellCore::restore(&moment.core, Arc::new(Frontier::new())).unwrap();
        for input in &moment.next {
            let mut input = input.clone();
            material.spoil(rng, &core, &mut input);
            let output = core.tick(input);
            check(&output);
            for event in &output.events {
                match event {
                    Event::Activated { .. } => counts.add("activated"),
                    Event::GhostApplied { .. } => counts.add("ghosts"),
                    Event::MessageRun { .. } => counts.add("messages"),
                    Event::CommandRun { .. } => counts.add("commands"),
                    Event::Deactivated { .. } => counts.add("deactivated"),
                    Event::Refusal { .. } => counts.add("refusals"),
                    _ => {}
                }
            }
        }
        if rng.chance(1, 8) {
            let bytes = core.snapshot();
            let again = CellCore::restore(&bytes, Arc::new(Frontier::new())).unwrap();
            assert_eq!(again.digest(), core.digest());
            assert_eq!(again.snapshot(), bytes);
        }
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        for name in ["activated", "ghosts", "messages", "commands", "deactivated", "refusals"] {
            assert!(counts.of(name) > 100, "{name}: {counts:?}");
        }
    }
}

/// A grant and a blow from a base: whoever keeps the slot is heard.
fn said_by_bases(input: &mut CellInput, msgs: &[BaseToCell]) {
    for frame in input.frames.iter_mut().filter(|f| f.from.name.kind == NodeKind::Base) {
        frame.bundle.msgs.extend(msgs.iter().cloned().map(Msg::BaseToCell));
    }
}

#[test]
fn whatever_numbers_and_names_a_granted_entity_has_its_behaviour_goes_on() {
    let material = material();
    let moment = &material.moments[material.moments.len() / 2];
    let fresh = || CellCore::restore(&moment.core, Arc::new(Frontier::new())).unwrap();
    let mut activated = 0;
    for (kind, why, edge, prop) in cases() {
        let mut core = fresh();
        let of_kind = |id: &EntityId| core.state(*id).is_some_and(|state| state.kind == kind);
        let entity = core.reals().into_iter().find(of_kind).expect("one of each kind lives here");
        let (mut state, known) = (core.state(entity).unwrap(), core.brief(entity).unwrap());
        match &mut state.props[prop] {
            Value::Int(number) => *number = edge,
            Value::Bytes(bytes) => *bytes = vec![7; 40_000],
        }
        let grant = Grant {
            entity,
            epoch: known.epoch.next_grant(),
            to: material.me,
            seq: known.seq,
            digest: state.durable_digest(kinds().get(kind).unwrap()),
            why,
            state: Box::new(state),
            sessions: Vec::new(),
            argument: vec![b'x'; 70_000].into(),
            last_tick: None,
        };
        let authority = material.me;
        let origin = Origin { authority, epoch: known.epoch, seq: Seq(1), tick: Tick(1) };
        let blow = |out_seq| {
            BaseToCell::Inbox(InboxMessage {
                entity,
                source: EntityId(0x7ff << 8),
                out_seq: (1 << 40) + out_seq,
                payload: encode(&Word::Hurt { amount: 50 }).into(),
                value: 0,
                origin,
                settled: 0,
            })
        };
        for (at, input) in moment.next.iter().enumerate() {
            let mut input = input.clone();
            let said = if at == 0 { BaseToCell::Grant(grant.clone()) } else { blow(at as u64) };
            said_by_bases(&mut input, &[said]);
            let output = core.tick(input);
            check(&output);
            let is_it =
                |e: &Event| matches!(e, Event::Activated { entity: id, .. } if *id == entity);
            activated += output.events.iter().filter(|event| is_it(event)).count();
        }
    }
    assert!(activated > 50, "only {activated} were granted");
}

/// Every property of every kind, at every edge, for each reason of a grant.
fn cases() -> Vec<(KindId, GrantWhy, i64, usize)> {
    let mut cases = Vec::new();
    for kind in [AVATAR, WOLF] {
        for why in [GrantWhy::Birth, GrantWhy::Restore] {
            for edge in EDGES {
                let props = kinds().get(kind).unwrap().props.len();
                cases.extend((0..props).map(|prop| (kind, why, edge, prop)));
            }
        }
    }
    cases
}
