//! What cellapps tell each other.

use super::common::{
    BadMessage, narrow, node_from_wire, node_to_wire, pack, place_from_wire, place_to_wire,
    prop_from_wire, prop_to_wire, unpack,
};
use crate::link as wire;
use crate::link::item::What;
use marchland_common::msg::{CellToCell, GhostCreate, Offload, Seen, Signal, WitnessState};
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SessionId};

pub(super) fn to_wire(msg: CellToCell) -> What {
    match msg {
        CellToCell::Offload(o) => What::Offload(offload_to_wire(*o)),
        CellToCell::GhostCreate(g) => What::GhostCreate(wire::GhostCreate {
            entity: g.entity.0,
            epoch: g.epoch.0,
            seq: g.seq.0,
            index: g.index,
            kind: g.kind.0.into(),
            place: Some(place_to_wire(g.place)),
            props: g.props.into_iter().map(prop_to_wire).collect(),
            digest: g.digest,
            since: g.since.0,
        }),
        CellToCell::GhostDeltas(block) => What::GhostDeltas(block),
        CellToCell::GhostAdopt { entity, epoch, seq, digest, index } => {
            What::GhostAdopt(wire::GhostAdopt {
                entity: entity.0,
                epoch: epoch.0,
                seq: seq.0,
                digest,
                index,
            })
        }
        CellToCell::GhostRemove { entity, epoch, destroyed } => {
            let (entity, epoch) = (entity.0, epoch.0);
            What::GhostRemove(wire::GhostRemove { entity, epoch, destroyed })
        }
        CellToCell::GhostDisown { entity, epoch, index } => {
            let (entity, epoch) = (entity.0, epoch.0);
            What::GhostDisown(wire::GhostDisown { entity, epoch, index })
        }
        CellToCell::GhostNeedSnapshot { entity, epoch } => {
            let (entity, epoch) = (entity.0, epoch.0);
            What::GhostNeedSnapshot(wire::GhostNeedSnapshot { entity, epoch })
        }
        CellToCell::Signal(s) => What::Signal(wire::Signal {
            to: s.to.0,
            source: s.source.0,
            epoch: s.epoch.0,
            run: s.run,
            n: s.n,
            hops: s.hops.into(),
            payload: s.payload,
        }),
    }
}

/// The wire's form of an offload, as it also travels in parts on the bulk channel.
#[must_use]
pub fn offload_to_wire(o: Offload) -> wire::Offload {
    wire::Offload {
        entity: o.entity.0,
        epoch: o.epoch.0,
        seq: o.seq.0,
        digest: o.digest,
        state: pack(&o.state),
        ghost_seq: o.ghost_seq.0,
        hosts: o.hosts.into_iter().map(node_to_wire).collect(),
        ghost_since: o.ghost_since.0,
        witnesses: o.witnesses.into_iter().map(witness_to_wire).collect(),
        signals: pack(&o.signals),
        scratch: o.scratch.into(),
    }
}

fn witness_to_wire(w: WitnessState) -> wire::Witness {
    let seen =
        |s: Seen| wire::Seen { entity: s.entity.0, epoch: s.epoch.0, seq: s.seq.0, owed: s.owed };
    wire::Witness {
        session: w.session.0,
        radius: w.radius,
        seen: w.seen.into_iter().map(seen).collect(),
    }
}

pub(super) fn from_wire(what: What) -> Result<CellToCell, BadMessage> {
    Ok(match what {
        What::Offload(o) => CellToCell::Offload(Box::new(offload_from_wire(o)?)),
        What::GhostCreate(g) => CellToCell::GhostCreate(ghost_from_wire(g)?),
        What::GhostDeltas(block) => CellToCell::GhostDeltas(block),
        What::GhostAdopt(a) => CellToCell::GhostAdopt {
            entity: EntityId(a.entity),
            epoch: Epoch(a.epoch),
            seq: Seq(a.seq),
            digest: a.digest,
            index: a.index,
        },
        What::GhostRemove(r) => CellToCell::GhostRemove {
            entity: EntityId(r.entity),
            epoch: Epoch(r.epoch),
            destroyed: r.destroyed,
        },
        What::GhostDisown(d) => CellToCell::GhostDisown {
            entity: EntityId(d.entity),
            epoch: Epoch(d.epoch),
            index: d.index,
        },
        What::GhostNeedSnapshot(n) => {
            CellToCell::GhostNeedSnapshot { entity: EntityId(n.entity), epoch: Epoch(n.epoch) }
        }
        What::Signal(s) => CellToCell::Signal(Signal {
            to: EntityId(s.to),
            source: EntityId(s.source),
            epoch: Epoch(s.epoch),
            run: s.run,
            n: s.n,
            hops: narrow(s.hops, "signal.hops")?,
            payload: s.payload,
        }),
        _ => return Err(BadMessage::Unknown("item")),
    })
}

/// Reads an offload.
///
/// # Errors
/// [`BadMessage`] when any part of it does not decode.
pub fn offload_from_wire(o: wire::Offload) -> Result<Offload, BadMessage> {
    let hosts = o.hosts.into_iter().map(|n| node_from_wire(Some(n))).collect::<Result<_, _>>()?;
    Ok(Offload {
        entity: EntityId(o.entity),
        epoch: Epoch(o.epoch),
        seq: Seq(o.seq),
        digest: o.digest,
        state: unpack(&o.state, "offload.state")?,
        ghost_seq: Seq(o.ghost_seq),
        ghost_since: Epoch(o.ghost_since),
        hosts,
        witnesses: o.witnesses.into_iter().map(witness_from_wire).collect(),
        signals: unpack(&o.signals, "offload.signals")?,
        scratch: o.scratch.to_vec(),
    })
}

fn witness_from_wire(w: wire::Witness) -> WitnessState {
    let seen = |s: &wire::Seen| Seen {
        entity: EntityId(s.entity),
        epoch: Epoch(s.epoch),
        seq: Seq(s.seq),
        owed: s.owed,
    };
    WitnessState {
        session: SessionId(w.session),
        radius: w.radius,
        seen: w.seen.iter().map(seen).collect(),
    }
}

fn ghost_from_wire(g: wire::GhostCreate) -> Result<GhostCreate, BadMessage> {
    Ok(GhostCreate {
        entity: EntityId(g.entity),
        epoch: Epoch(g.epoch),
        seq: Seq(g.seq),
        index: g.index,
        kind: KindId(narrow(g.kind, "ghost.kind")?),
        place: place_from_wire(g.place)?,
        props: g.props.into_iter().map(prop_from_wire).collect::<Result<_, _>>()?,
        digest: g.digest,
        since: Epoch(g.since),
    })
}
