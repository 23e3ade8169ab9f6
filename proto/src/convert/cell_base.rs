//! What an owner tells the base of its entity.

use super::common::{
    BadMessage, need, node_from_wire, node_to_wire, pack, refusal_from_wire, refusal_to_wire,
    unpack, why_from_wire, why_to_wire,
};
use crate::link as wire;
use crate::link::item::What;
use marchland_common::msg::{CellToBase, Prepare, View};
use marchland_common::order::{EntityId, Epoch, Seq, SessionId, Tick};

pub(super) fn to_wire(msg: CellToBase) -> What {
    match msg {
        CellToBase::Step(step) => What::Steps(pack(&[step])),
        CellToBase::Prepare(p) => What::Prepare(wire::Prepare {
            entity: p.entity.0,
            epoch: p.epoch.0,
            seq: p.seq.0,
            digest: p.digest,
            target: Some(node_to_wire(p.target)),
            why: Some(why_to_wire(p.why)),
            last_tick: p.last_tick.0,
            layout_version: p.layout_version,
        }),
        CellToBase::OrderRefused { order, entity, reason } => {
            let (entity, reason) = (entity.0, refusal_to_wire(reason));
            What::OrderRefused(wire::OrderRefused { order, entity, reason })
        }
        CellToBase::View(v) => What::View(wire::View {
            entity: v.entity.0,
            session: v.session.0,
            epoch: v.epoch.0,
            tick: v.tick.0,
            fresh: v.fresh,
            body: v.body,
        }),
        CellToBase::GrantStale { entity, epoch, known } => {
            What::GrantStale(wire::GrantStale { entity: entity.0, epoch: epoch.0, known: known.0 })
        }
        CellToBase::Holding { entity, epoch, seq, digest } => {
            What::Holding(wire::Holding { entity: entity.0, epoch: epoch.0, seq: seq.0, digest })
        }
        CellToBase::Notice { entity, payload } => {
            What::Notice(wire::Notice { entity: entity.0, payload })
        }
        CellToBase::Listed { question } => What::Listed(wire::Listed { question }),
        CellToBase::SlotsClosed(slots) => What::SlotsClosed(pack(&slots)),
    }
}

pub(super) fn from_wire(what: What) -> Result<CellToBase, BadMessage> {
    Ok(match what {
        What::Prepare(p) => CellToBase::Prepare(prepare_from_wire(p)?),
        What::OrderRefused(r) => CellToBase::OrderRefused {
            order: r.order,
            entity: EntityId(r.entity),
            reason: refusal_from_wire(r.reason)?,
        },
        What::View(v) => CellToBase::View(View {
            entity: EntityId(v.entity),
            session: SessionId(v.session),
            epoch: Epoch(v.epoch),
            tick: Tick(v.tick),
            fresh: v.fresh,
            body: v.body,
        }),
        What::GrantStale(g) => CellToBase::GrantStale {
            entity: EntityId(g.entity),
            epoch: Epoch(g.epoch),
            known: Epoch(g.known),
        },
        What::Holding(h) => CellToBase::Holding {
            entity: EntityId(h.entity),
            epoch: Epoch(h.epoch),
            seq: Seq(h.seq),
            digest: h.digest,
        },
        What::Notice(n) => CellToBase::Notice { entity: EntityId(n.entity), payload: n.payload },
        What::Listed(l) => CellToBase::Listed { question: l.question },
        What::SlotsClosed(slots) => CellToBase::SlotsClosed(unpack(&slots, "slots_closed")?),
        _ => return Err(BadMessage::Unknown("item")),
    })
}

fn prepare_from_wire(p: wire::Prepare) -> Result<Prepare, BadMessage> {
    Ok(Prepare {
        entity: EntityId(p.entity),
        epoch: Epoch(p.epoch),
        seq: Seq(p.seq),
        digest: p.digest,
        target: node_from_wire(p.target)?,
        why: why_from_wire(Some(need(p.why, "why")?))?,
        last_tick: Tick(p.last_tick),
        layout_version: p.layout_version,
    })
}
