//! Hostile bundles at the door of a baseapp's core, in the middle of what it really did.

use crate::recorded::{
    Counts, SEED, encoded, first_life, frames, hostile, inputs, read, record, words,
};
use bytes::Bytes;
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{BaseConfig, BaseInput, BaseOutput, ClientEvent};
use marchland_baseapp_core::log::{Store, replay};
use marchland_common::cluster::{MapChange, SlotOwner};
use marchland_common::digest::digest_bytes;
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToBase, CellToBase, Frame, Msg, SlotChunk, Step, StepBody};
use marchland_common::order::{Node, NodeKind, Seq, SlotId, Term};
use marchland_common::rng::Rng;
use marchland_common::world::{Change, EntityState, Kinds};
use marchland_frontier_core::kinds;
use marchland_fuzz::{damaged, each_round, examples, pick};
use marchland_runtime::link::BUNDLE_BYTES_MAX;
use marchland_sim::STEP_US;
use std::sync::Arc;

/// Output moments that a hostile world lasts.
const MOMENTS: usize = 10;

/// The core at a moment, what is durable in it, and what it was told from there on.
struct Moment {
    core: Vec<u8>,
    image: Vec<Vec<u8>>,
    store: Store,
    next: Vec<BaseInput>,
}

/// What hostile words are made of.
struct Material {
    me: Node,
    other: Node,
    kinds: Arc<Kinds>,
    moments: Vec<Moment>,
    frames: Vec<Frame>,
    from_cells: Vec<CellToBase>,
    from_bases: Vec<BaseToBase>,
    changes: Vec<Change>,
    clients: Vec<ClientEvent>,
    /// Slots that the other base keeps, and what it knows of them.
    slots: Vec<(SlotId, Term, Vec<u8>)>,
}

fn material() -> Material {
    let report = record();
    let frames = frames(&report);
    let words = words(&report, &frames);
    let kinds = Arc::new(kinds());
    let (me, records) = first_life(&report, NodeKind::Base, 1);
    let inputs = inputs::<BaseInput>(records);
    let mut core =
        BaseCore::new(BaseConfig::new(me, SEED, STEP_US), kinds.clone(), Default::default());
    let mut moments = Vec::new();
    for (at, (input, digest)) in inputs.iter().enumerate() {
        if at > 120 && at % 24 == 0 && at + MOMENTS < inputs.len() {
            let image: Vec<Vec<u8>> = core.checkpoint().collect();
            let store = replay(&kinds, image.iter()).unwrap().store;
            let next = inputs[at..at + MOMENTS].iter().map(|(input, _)| input.clone()).collect();
            moments.push(Moment { core: core.snapshot(), image, store, next });
        }
        core.tick(input.clone());
        assert_eq!(core.digest(), *digest, "the record of {me} is not what its core does");
    }
    assert!(moments.len() > 10, "only {} moments", moments.len());
    let (other, _) = first_life(&report, NodeKind::Base, 2);
    let theirs = replay(&kinds, &report.logs[&other.name]).unwrap().store;
    let slots = theirs.slots.iter().map(|(slot, row)| (*slot, row.term, theirs.slot_image(*slot)));
    let holds =
        |(slot, ..): &(SlotId, Term, Vec<u8>)| theirs.entities.keys().any(|id| id.slot() == *slot);
    let slots: Vec<_> = slots.filter(holds).collect();
    assert!(slots.len() > 2, "the other base keeps {} slots with somebody in it", slots.len());
    let mut rng = Rng(6);
    Material {
        me,
        other,
        moments,
        frames,
        from_cells: examples(&mut rng, &words, 60),
        from_bases: examples(&mut rng, &words, 60),
        changes: examples(&mut rng, &words, 60),
        clients: examples(&mut rng, &words, 30),
        slots,
        kinds,
    }
}

impl Material {
    /// The next step of an entity, with hostile content and honest digests.
    fn step(&self, rng: &mut Rng, store: &Store) -> Option<(Node, Step)> {
        let at = rng.below(store.entities.len() as u64) as usize;
        let (entity, lineage) = store.entities.iter().nth(at)?;
        let kind = self.kinds.get(lineage.state.kind)?;
        let (state, body) = if rng.chance(1, 3) {
            let bytes = postcard::to_stdvec(&lineage.state).ok()?;
            let state: EntityState = postcard::from_bytes(&damaged(rng, &bytes, &bytes)).ok()?;
            (state.clone(), StepBody::Snapshot(Box::new(state)))
        } else {
            let mut state = lineage.state.clone();
            let drawn = (0..=rng.below(4)).map(|_| pick(rng, &self.changes).clone());
            let changes: Vec<Change> = drawn.filter(|change| state.apply(change).is_ok()).collect();
            (state, StepBody::Delta(changes))
        };
        let is_whole = matches!(body, StepBody::Snapshot(_));
        let seq = if is_whole && rng.chance(1, 4) { Seq(u64::MAX) } else { lineage.seq.next() };
        let step = Step {
            entity: *entity,
            epoch: lineage.epoch,
            seq,
            prev_digest: lineage.digest,
            digest: state.durable_digest(kind),
            time: if rng.chance(1, 8) {
                marchland_common::time::EntityTime(u64::MAX)
            } else {
                state.time
            },
            first_tick: None,
            body,
        };
        Some((lineage.owner, step))
    }

    /// A slot of the other base, given under its term, with damaged content and an honest digest.
    fn slot(&self, rng: &mut Rng) -> (SlotId, Term, Msg) {
        let (slot, term, image) = pick(rng, &self.slots);
        let body = damaged(rng, image, image);
        let digest = digest_bytes(&body);
        let (index, count) = (0, 1);
        let chunk = SlotChunk { slot: *slot, term: *term, index, count, digest, body: body.into() };
        (*slot, *term, Msg::BaseToBase(BaseToBase::SlotChunk(chunk)))
    }

    fn spoil(&self, rng: &mut Rng, store: &Store, input: &mut BaseInput) {
        for frame in &mut input.frames {
            if rng.chance(1, 3) {
                let other = &pick(rng, &self.frames).bundle;
                frame.bundle = hostile(rng, &frame.bundle, other);
            }
            for _ in 0..rng.below(4) {
                let msg = match frame.from.name.kind {
                    NodeKind::Base => Msg::BaseToBase(pick(rng, &self.from_bases).clone()),
                    _ => Msg::CellToBase(pick(rng, &self.from_cells).clone()),
                };
                let at = rng.below(frame.bundle.msgs.len() as u64 + 1) as usize;
                frame.bundle.msgs.insert(at, msg);
            }
            let own = self.step(rng, store).filter(|(owner, _)| *owner == frame.from);
            if let Some((_, step)) = own {
                frame.bundle.msgs.insert(0, Msg::CellToBase(CellToBase::Step(step)));
            }
            if frame.from == self.other && rng.chance(1, 3) {
                let (slot, term, chunk) = self.slot(rng);
                frame.bundle.msgs.push(chunk);
                if rng.chance(1, 2) {
                    // The slot is to be ours from the next moment on.
                    let owner = SlotOwner { slot, base: self.me.name, term: Term(term.0 + 1_000) };
                    input.map.push(MapChange::Slots(self.slots_with(store, owner)));
                }
            }
        }
        for _ in 0..rng.below(3) {
            input.clients.push(pick(rng, &self.clients).clone());
        }
        if rng.chance(1, 4) && !input.frames.is_empty() {
            let notice = Msg::CellToBase(CellToBase::Notice {
                entity: *pick(rng, &store.entities.keys().copied().collect::<Vec<_>>()),
                payload: Bytes::from_static(b"told"),
            });
            input.frames[0].bundle.msgs.push(notice);
        }
    }

    fn slots_with(&self, store: &Store, gained: SlotOwner) -> Vec<SlotOwner> {
        let ours = store.slots.iter().map(|(slot, row)| SlotOwner {
            slot: *slot,
            base: self.me.name,
            term: row.term,
        });
        let theirs = self.slots.iter().map(|(slot, term, _)| SlotOwner {
            slot: *slot,
            base: self.other.name,
            term: *term,
        });
        let others = ours.chain(theirs).filter(|owner| owner.slot != gained.slot);
        others.chain([gained]).collect()
    }
}

/// What a core says can be sent and read, whatever it was told.
fn check(output: &BaseOutput) {
    for out in &output.bundles {
        let bytes = encoded(out.bundle.clone());
        assert!(bytes.len() <= BUNDLE_BYTES_MAX, "{} bytes to {}", bytes.len(), out.to);
        assert_eq!(read(&bytes).as_ref(), Ok(&out.bundle));
    }
}

#[test]
fn no_damaged_bundle_of_a_peer_makes_a_baseapp_panic_or_disagree_with_its_own_log() {
    let material = material();
    let mut counts = Counts::default();
    each_round("bases", 1_200, |rng| {
        let moment = pick(rng, &material.moments);
        let kinds = &material.kinds;
        let mut core = BaseCore::restore(&moment.core, kinds.clone()).unwrap();
        let mut log = moment.image.clone();
        for input in &moment.next {
            let mut input = input.clone();
            material.spoil(rng, &moment.store, &mut input);
            input.durable = input.durable.map(|durable| durable.min(core.last_lsn()));
            let output = core.tick(input);
            check(&output);
            for event in &output.events {
                match event {
                    Event::Accepted { .. } => counts.add("accepted"),
                    Event::OwnerChanged { .. } => counts.add("owners"),
                    Event::SlotTaken { .. } => counts.add("slots"),
                    Event::CommandQueued { .. } => counts.add("commands"),
                    Event::MessageTaken { .. } => counts.add("messages"),
                    Event::Refusal { .. } => counts.add("refusals"),
                    _ => {}
                }
            }
            log.extend(output.log);
        }
        let from_log = replay(kinds, log.iter()).unwrap();
        assert_eq!(from_log, replay(kinds, core.checkpoint()).unwrap());
        let bytes = core.snapshot();
        let again = BaseCore::restore(&bytes, kinds.clone()).unwrap();
        assert_eq!(again.digest(), core.digest());
        assert_eq!(again.snapshot(), bytes);
    });
    if std::env::var_os("MARCH_FUZZ_ROUND").is_none() {
        for name in ["accepted", "owners", "slots", "commands", "messages", "refusals"] {
            assert!(counts.of(name) > 50, "{name}: {counts:?}");
        }
    }
}
