//! What bases tell each other.

use super::common::{BadMessage, narrow, origin_from_wire, origin_to_wire, pack, unpack};
use crate::link as wire;
use crate::link::item::What;
use marchland_common::msg::{BaseToBase, SlotChunk};
use marchland_common::order::{EntityId, SlotId, Term};

pub(super) fn to_wire(msg: BaseToBase) -> What {
    match msg {
        BaseToBase::Deliver { to, source, out_seq, payload, value, origin, settled, after } => {
            What::Deliver(wire::Deliver {
                to: to.0,
                source: source.0,
                out_seq,
                payload,
                value,
                origin: Some(origin_to_wire(origin)),
                settled,
                after,
            })
        }
        BaseToBase::Delivered { source, out_seq, to, outcome } => {
            What::Delivered(wire::Delivered {
                source: source.0,
                out_seq,
                to: to.0,
                outcome: pack(&outcome),
            })
        }
        BaseToBase::Settled { source, to, through } => {
            What::Settled(wire::Settled { source: source.0, to: to.0, through })
        }
        BaseToBase::SlotChunk(chunk) => What::SlotChunk(chunk_to_wire(chunk)),
        BaseToBase::SlotGot { slot, term, next } => {
            What::SlotGot(wire::SlotGot { slot: slot.0.into(), term: term.0, next })
        }
        BaseToBase::SlotHeld { slot, term, digest } => {
            What::SlotHeld(wire::SlotHeld { slot: slot.0.into(), term: term.0, digest })
        }
    }
}

pub(super) fn from_wire(what: What) -> Result<BaseToBase, BadMessage> {
    Ok(match what {
        What::Deliver(d) => BaseToBase::Deliver {
            to: EntityId(d.to),
            source: EntityId(d.source),
            out_seq: d.out_seq,
            payload: d.payload,
            value: d.value,
            origin: origin_from_wire(d.origin)?,
            settled: d.settled,
            after: d.after,
        },
        What::Delivered(d) => BaseToBase::Delivered {
            source: EntityId(d.source),
            out_seq: d.out_seq,
            to: EntityId(d.to),
            outcome: unpack(&d.outcome, "delivered.outcome")?,
        },
        What::Settled(s) => BaseToBase::Settled {
            source: EntityId(s.source),
            to: EntityId(s.to),
            through: s.through,
        },
        What::SlotChunk(c) => BaseToBase::SlotChunk(chunk_from_wire(c)?),
        What::SlotGot(g) => BaseToBase::SlotGot {
            slot: SlotId(narrow(g.slot, "slot")?),
            term: Term(g.term),
            next: g.next,
        },
        What::SlotHeld(h) => BaseToBase::SlotHeld {
            slot: SlotId(narrow(h.slot, "slot")?),
            term: Term(h.term),
            digest: h.digest,
        },
        _ => return Err(BadMessage::Unknown("item")),
    })
}

fn chunk_to_wire(chunk: SlotChunk) -> wire::SlotChunk {
    let SlotChunk { slot, term, index, count, digest, body } = chunk;
    wire::SlotChunk { slot: slot.0.into(), term: term.0, index, count, digest, body }
}

fn chunk_from_wire(chunk: wire::SlotChunk) -> Result<SlotChunk, BadMessage> {
    let wire::SlotChunk { slot, term, index, count, digest, body } = chunk;
    let slot = SlotId(narrow(slot, "slot")?);
    Ok(SlotChunk { slot, term: Term(term), index, count, digest, body })
}
