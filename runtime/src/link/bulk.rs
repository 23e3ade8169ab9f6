//! Offloads that are too large for the ordered stream: cut into chunks, put together again by what
//! they name. An offload is only a fresher copy of what the base grants, so its order does not
//! matter, and one that is lost costs freshness and nothing else.

use super::config::{BULK_FROM_BYTES, CHUNK_BYTES};
use bytes::Bytes;
use marchland_common::msg::{CellToCell, Msg, Offload};
use marchland_common::order::EntityId;
use marchland_proto::convert::{BadMessage, offload_from_wire, offload_to_wire};
use marchland_proto::link as wire;
use prost::Message;
use std::collections::BTreeMap;

/// Most offloads of one peer that are not whole yet.
const OPEN_MAX: usize = 64;
/// Most bytes of one peer's offloads that are not whole yet.
const OPEN_BYTES_MAX: usize = 32 << 20;
/// Most parts of one offload.
const PARTS_MAX: u32 = 64;

/// A large offload, cut for the bulk channel.
pub(super) struct Large {
    pub entity: EntityId,
    pub chunks: Vec<Bytes>,
}

/// Takes the large offloads out of a bundle.
pub(super) fn take_large(msgs: &mut Vec<Msg>) -> Vec<Large> {
    let is_large = |msg: &Msg| match msg {
        Msg::CellToCell(CellToCell::Offload(offload)) => size(offload) > BULK_FROM_BYTES,
        _ => false,
    };
    if !msgs.iter().any(is_large) {
        return Vec::new();
    }
    let (large, rest) = std::mem::take(msgs).into_iter().partition(is_large);
    *msgs = rest;
    let large: Vec<Msg> = large;
    large.into_iter().filter_map(cut).collect()
}

fn size(offload: &Offload) -> usize {
    postcard::experimental::serialized_size(offload).unwrap_or(usize::MAX)
}

fn cut(msg: Msg) -> Option<Large> {
    let Msg::CellToCell(CellToCell::Offload(offload)) = msg else { return None };
    let (entity, epoch) = (offload.entity, offload.epoch.0);
    let (seq, digest) = (offload.seq.0, offload.digest);
    let whole = Bytes::from(offload_to_wire(*offload).encode_to_vec());
    let parts = whole.len().div_ceil(CHUNK_BYTES);
    let part = |part: usize| {
        let data = whole.slice(part * CHUNK_BYTES..whole.len().min((part + 1) * CHUNK_BYTES));
        let (part, parts) = (part as u32, parts as u32);
        let chunk = wire::Chunk { entity: entity.0, epoch, seq, digest, part, parts, data };
        Bytes::from(chunk.encode_to_vec())
    };
    Some(Large { entity, chunks: (0..parts).map(part).collect() })
}

/// What the parts of one offload agree on: entity, epoch, step, digest.
type Key = (u64, u64, u64, u64);

struct Open {
    parts: Vec<Option<Bytes>>,
    bytes: usize,
    age: u64,
}

/// The offloads of one peer that are not whole yet.
#[derive(Default)]
pub(super) struct Reassembly {
    open: BTreeMap<Key, Open>,
    bytes: usize,
    clock: u64,
}

/// What a chunk led to.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    /// More parts are missing.
    Open,
    /// The offload is whole.
    Whole(Box<Offload>),
}

impl Reassembly {
    /// Takes one chunk. Also returns the entities whose unfinished offloads had to make room.
    pub(super) fn take(&mut self, body: Bytes) -> Result<(Taken, Vec<EntityId>), BadMessage> {
        let chunk = wire::Chunk::decode(body).map_err(|_| BadMessage::Packed("chunk"))?;
        if chunk.parts == 0 || chunk.parts > PARTS_MAX || chunk.part >= chunk.parts {
            return Err(BadMessage::Range("chunk.parts"));
        }
        let key = (chunk.entity, chunk.epoch, chunk.seq, chunk.digest);
        self.clock += 1;
        let fresh = || Open { parts: vec![None; chunk.parts as usize], bytes: 0, age: self.clock };
        let open = self.open.entry(key).or_insert_with(fresh);
        let parts = open.parts.len();
        let slot =
            open.parts.get_mut(chunk.part as usize).ok_or(BadMessage::Range("chunk.part"))?;
        if parts != chunk.parts as usize {
            return Err(BadMessage::Range("chunk.parts"));
        }
        if slot.is_none() {
            open.bytes += chunk.data.len();
            self.bytes += chunk.data.len();
            *slot = Some(chunk.data);
        }
        if open.parts.iter().all(Option::is_some) {
            return self.finish(key).map(|whole| (Taken::Whole(whole), Vec::new()));
        }
        Ok((Taken::Open, self.make_room(key)))
    }

    fn finish(&mut self, key: Key) -> Result<Box<Offload>, BadMessage> {
        let open = self.open.remove(&key).ok_or(BadMessage::Missing("chunk"))?;
        self.bytes -= open.bytes;
        let whole: Vec<u8> = open.parts.into_iter().flatten().flatten().collect();
        let whole = wire::Offload::decode(Bytes::from(whole));
        let offload = offload_from_wire(whole.map_err(|_| BadMessage::Packed("offload"))?)?;
        if (offload.entity.0, offload.epoch.0, offload.seq.0, offload.digest) != key {
            return Err(BadMessage::Range("chunk.digest"));
        }
        Ok(Box::new(offload))
    }

    fn make_room(&mut self, keep: Key) -> Vec<EntityId> {
        let mut dropped = Vec::new();
        while self.open.len() > OPEN_MAX || self.bytes > OPEN_BYTES_MAX {
            let others = self.open.iter().filter(|(key, _)| **key != keep);
            let Some(oldest) = others.min_by_key(|(_, open)| open.age).map(|(key, _)| *key) else {
                break;
            };
            if let Some(open) = self.open.remove(&oldest) {
                self.bytes -= open.bytes;
                dropped.push(EntityId(oldest.0));
            }
        }
        dropped
    }

    /// The peer began its stream again: what is not whole stays so.
    pub(super) fn clear(&mut self) -> Vec<EntityId> {
        self.bytes = 0;
        std::mem::take(&mut self.open).into_keys().map(|key| EntityId(key.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::msg::Offload;
    use marchland_common::order::{Epoch, KindId, Seq, SignalWindow};
    use marchland_common::rng::Rng;
    use marchland_common::time::{EntityTime, Timers};
    use marchland_common::world::{EntityState, Outbox, Place};
    use marchland_fuzz::{each_round, mutate_fields, pick};

    pub(crate) fn offload(entity: u64, scratch: usize) -> Offload {
        let state = EntityState {
            kind: KindId(1),
            place: Place::default(),
            props: Vec::new(),
            time: EntityTime(0),
            rng: Rng(1),
            timers: Timers::default(),
            commands: Default::default(),
            inbox: Default::default(),
            outbox: Outbox::default(),
            pin: None,
            destroyed: false,
        };
        Offload {
            entity: EntityId(entity),
            epoch: Epoch(2),
            seq: Seq(3),
            digest: 4,
            state,
            ghost_seq: Seq(0),
            ghost_since: Epoch(2),
            hosts: Vec::new(),
            witnesses: Vec::new(),
            signals: SignalWindow::default(),
            scratch: (0..scratch).map(|i| i as u8).collect(),
        }
    }

    fn as_msg(offload: &Offload) -> Msg {
        Msg::CellToCell(CellToCell::Offload(Box::new(offload.clone())))
    }

    #[test]
    fn only_large_offloads_leave_the_bundle_and_they_come_together_in_any_order() {
        let (small, big) = (offload(1, 10), offload(2, 700_000));
        let mut msgs = vec![as_msg(&small), as_msg(&big), as_msg(&small)];
        let large = take_large(&mut msgs);
        assert_eq!(msgs, vec![as_msg(&small), as_msg(&small)]);
        let [large] = &large[..] else { panic!("one offload is large") };
        assert_eq!((large.entity, large.chunks.len()), (EntityId(2), 3));
        let mut table = Reassembly::default();
        for at in [2, 0, 0] {
            assert_eq!(table.take(large.chunks[at].clone()), Ok((Taken::Open, Vec::new())));
        }
        let whole = table.take(large.chunks[1].clone()).unwrap().0;
        assert_eq!(whole, Taken::Whole(Box::new(big)));
        assert_eq!((table.bytes, table.open.len()), (0, 0));
    }

    #[test]
    fn unfinished_offloads_are_bounded_and_the_oldest_makes_room() {
        let mut table = Reassembly::default();
        let mut dropped = Vec::new();
        for entity in 1..=OPEN_MAX as u64 + 3 {
            let mut msgs = vec![as_msg(&offload(entity, CHUNK_BYTES * 2))];
            let large = take_large(&mut msgs).pop().unwrap();
            dropped.extend(table.take(large.chunks[0].clone()).unwrap().1);
        }
        assert_eq!(dropped, vec![EntityId(1), EntityId(2), EntityId(3)]);
        assert_eq!(table.clear().len(), OPEN_MAX);
    }

    #[test]
    fn damaged_chunks_make_no_other_offload_and_wait_within_the_bounds() {
        let offloads = [2, 3, 4].map(|entity| offload(entity, 300_000));
        let chunks: Vec<Vec<u8>> = offloads
            .iter()
            .flat_map(|offload| take_large(&mut vec![as_msg(offload)]).pop().unwrap().chunks)
            .map(|chunk| chunk.to_vec())
            .collect();
        let mut whole = 0;
        each_round("chunks", 300, |rng| {
            let mut table = Reassembly::default();
            for _ in 0..20 {
                let (chunk, other) = (pick(rng, &chunks), pick(rng, &chunks));
                let body =
                    if rng.chance(1, 2) { chunk.clone() } else { mutate_fields(rng, chunk, other) };
                let said = wire::Chunk::decode(&body[..]).ok();
                if let Ok((Taken::Whole(made), _)) = table.take(Bytes::from(body)) {
                    // What is in it may be damaged; whose it is, is what its parts said.
                    let said = said.expect("a chunk that was taken decodes");
                    let made = (made.entity.0, made.epoch.0, made.seq.0, made.digest);
                    assert_eq!(made, (said.entity, said.epoch, said.seq, said.digest));
                    whole += 1;
                }
                assert!(table.open.len() <= OPEN_MAX && table.bytes <= OPEN_BYTES_MAX);
                let waiting: usize = table.open.values().map(|open| open.bytes).sum();
                assert_eq!(table.bytes, waiting);
            }
        });
        assert!(whole > 100, "only {whole} came together");
    }

    #[test]
    fn a_chunk_that_contradicts_itself_or_its_offload_is_refused() {
        let mut msgs = vec![as_msg(&offload(2, 100_000))];
        let large = take_large(&mut msgs).pop().unwrap();
        let chunk = wire::Chunk::decode(large.chunks[0].clone()).unwrap();
        let check = |chunk: wire::Chunk, field| {
            let body = Bytes::from(chunk.encode_to_vec());
            assert_eq!(Reassembly::default().take(body), Err(field));
        };
        check(wire::Chunk { parts: 0, ..chunk.clone() }, BadMessage::Range("chunk.parts"));
        check(wire::Chunk { parts: 65, ..chunk.clone() }, BadMessage::Range("chunk.parts"));
        check(wire::Chunk { part: 1, ..chunk.clone() }, BadMessage::Range("chunk.parts"));
        check(wire::Chunk { digest: 5, ..chunk.clone() }, BadMessage::Range("chunk.digest"));
        let torn = chunk.data.slice(..chunk.data.len() - 1);
        check(wire::Chunk { data: torn, ..chunk }, BadMessage::Packed("offload"));
        let garbage = Bytes::from_static(&[0xff; 9]);
        assert_eq!(Reassembly::default().take(garbage), Err(BadMessage::Packed("chunk")));
    }
}
