//! What bases tell each other.

use super::common::{BadMessage, origin_from_wire, origin_to_wire, pack, unpack};
use crate::link as wire;
use crate::link::item::What;
use marchland_common::msg::BaseToBase;
use marchland_common::order::EntityId;

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
        _ => return Err(BadMessage::Unknown("item")),
    })
}
