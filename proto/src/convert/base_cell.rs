//! What a base tells an owner.

use super::common::{
    BadMessage, narrow, node_from_wire, node_to_wire, origin_from_wire, origin_to_wire, pack,
    refusal_from_wire, refusal_to_wire, unpack,
};
use crate::link as wire;
use crate::link::item::What;
use marchland_common::msg::{BaseToCell, Command, Grant, GrantWhy, HandoffOrder, InboxMessage};
use marchland_common::order::{EntityId, Epoch, Seq, SessionId, Tick};

pub(super) fn to_wire(msg: BaseToCell) -> What {
    match msg {
        BaseToCell::Ack { entity, epoch, seq } => What::Acks(pack(&[(entity, epoch, seq)])),
        BaseToCell::Grant(g) => What::Grant(grant_to_wire(g)),
        BaseToCell::Abort { entity, epoch, seq, reason } => What::Abort(wire::Abort {
            entity: entity.0,
            epoch: epoch.0,
            seq: seq.0,
            reason: refusal_to_wire(reason),
        }),
        BaseToCell::Release { entity, epoch } => {
            What::Release(wire::Release { entity: entity.0, epoch: epoch.0 })
        }
        BaseToCell::Fenced { entity, epoch, current } => {
            What::Fenced(wire::Fenced { entity: entity.0, epoch: epoch.0, current: current.0 })
        }
        BaseToCell::NeedSnapshot { entity, epoch, seq } => {
            What::NeedSnapshot(wire::NeedSnapshot { entity: entity.0, epoch: epoch.0, seq: seq.0 })
        }
        BaseToCell::Command(c) => What::Command(command_to_wire(c)),
        BaseToCell::Input { entity, session, payload } => {
            What::Input(wire::Input { entity: entity.0, session: session.0, payload })
        }
        BaseToCell::Inbox(m) => What::Inbox(inbox_to_wire(m)),
        BaseToCell::Answer { entity, out_seq, outcome } => {
            What::Answer(wire::Answer { entity: entity.0, out_seq, outcome: pack(&outcome) })
        }
        BaseToCell::Settled { entity, source, through } => {
            let (entity, source) = (entity.0, source.0);
            What::InboxSettled(wire::InboxSettled { entity, source, through })
        }
        BaseToCell::Attach { entity, session, radius } => {
            What::Attach(wire::Attach { entity: entity.0, session: session.0, radius })
        }
        BaseToCell::Detach { entity, session } => {
            What::Detach(wire::Detach { entity: entity.0, session: session.0 })
        }
        BaseToCell::Order(o) => What::Order(wire::HandoffOrder {
            order: o.order,
            entity: o.entity.0,
            to: Some(node_to_wire(o.to)),
            hold: o.hold,
            deadline: o.deadline.0,
        }),
        BaseToCell::Resync { question } => What::Resync(wire::Resync { question }),
        BaseToCell::Destroy { entity } => What::Destroy(wire::Destroy { entity: entity.0 }),
        BaseToCell::CloseSlots(slots) => What::CloseSlots(pack(&slots)),
        BaseToCell::OpenSlots(slots) => What::OpenSlots(pack(&slots)),
    }
}

fn grant_to_wire(g: Grant) -> wire::Grant {
    let why = match g.why {
        GrantWhy::Birth => wire::GrantWhy::Birth,
        GrantWhy::Handoff => wire::GrantWhy::Handoff,
        GrantWhy::Restore => wire::GrantWhy::Restore,
    };
    let session =
        |(session, radius): (SessionId, i32)| wire::AttachedSession { session: session.0, radius };
    wire::Grant {
        entity: g.entity.0,
        epoch: g.epoch.0,
        to: Some(node_to_wire(g.to)),
        seq: g.seq.0,
        digest: g.digest,
        why: why.into(),
        state: pack(&g.state),
        sessions: g.sessions.into_iter().map(session).collect(),
        argument: g.argument,
        last_tick: g.last_tick.map(|t| t.0),
    }
}

fn command_to_wire(c: Command) -> wire::Command {
    wire::Command {
        entity: c.entity.0,
        session: c.session.0,
        n: c.n,
        method: c.method.into(),
        args: c.args,
        deadline: c.deadline.0,
        acknowledged: c.acknowledged,
    }
}

fn inbox_to_wire(m: InboxMessage) -> wire::InboxMessage {
    wire::InboxMessage {
        entity: m.entity.0,
        source: m.source.0,
        out_seq: m.out_seq,
        payload: m.payload,
        value: m.value,
        origin: Some(origin_to_wire(m.origin)),
        settled: m.settled,
    }
}

pub(super) fn from_wire(what: What) -> Result<BaseToCell, BadMessage> {
    Ok(match what {
        What::Grant(g) => BaseToCell::Grant(grant_from_wire(g)?),
        What::Abort(a) => BaseToCell::Abort {
            entity: EntityId(a.entity),
            epoch: Epoch(a.epoch),
            seq: Seq(a.seq),
            reason: refusal_from_wire(a.reason)?,
        },
        What::Release(r) => {
            BaseToCell::Release { entity: EntityId(r.entity), epoch: Epoch(r.epoch) }
        }
        What::Fenced(f) => BaseToCell::Fenced {
            entity: EntityId(f.entity),
            epoch: Epoch(f.epoch),
            current: Epoch(f.current),
        },
        What::NeedSnapshot(n) => BaseToCell::NeedSnapshot {
            entity: EntityId(n.entity),
            epoch: Epoch(n.epoch),
            seq: Seq(n.seq),
        },
        What::Command(c) => BaseToCell::Command(command_from_wire(c)?),
        What::Input(i) => BaseToCell::Input {
            entity: EntityId(i.entity),
            session: SessionId(i.session),
            payload: i.payload,
        },
        What::Inbox(m) => BaseToCell::Inbox(inbox_from_wire(m)?),
        What::Answer(a) => BaseToCell::Answer {
            entity: EntityId(a.entity),
            out_seq: a.out_seq,
            outcome: unpack(&a.outcome, "answer.outcome")?,
        },
        What::InboxSettled(s) => BaseToCell::Settled {
            entity: EntityId(s.entity),
            source: EntityId(s.source),
            through: s.through,
        },
        What::Attach(a) => BaseToCell::Attach {
            entity: EntityId(a.entity),
            session: SessionId(a.session),
            radius: a.radius,
        },
        What::Detach(d) => {
            BaseToCell::Detach { entity: EntityId(d.entity), session: SessionId(d.session) }
        }
        What::Order(o) => BaseToCell::Order(HandoffOrder {
            order: o.order,
            entity: EntityId(o.entity),
            to: node_from_wire(o.to)?,
            hold: o.hold,
            deadline: Tick(o.deadline),
        }),
        What::Resync(r) => BaseToCell::Resync { question: r.question },
        What::Destroy(d) => BaseToCell::Destroy { entity: EntityId(d.entity) },
        What::CloseSlots(slots) => BaseToCell::CloseSlots(unpack(&slots, "close_slots")?),
        What::OpenSlots(slots) => BaseToCell::OpenSlots(unpack(&slots, "open_slots")?),
        _ => return Err(BadMessage::Unknown("item")),
    })
}

fn grant_from_wire(g: wire::Grant) -> Result<Grant, BadMessage> {
    let why = match wire::GrantWhy::try_from(g.why) {
        Ok(wire::GrantWhy::Birth) => GrantWhy::Birth,
        Ok(wire::GrantWhy::Handoff) => GrantWhy::Handoff,
        Ok(wire::GrantWhy::Restore) => GrantWhy::Restore,
        Ok(wire::GrantWhy::Unspecified) | Err(_) => return Err(BadMessage::Unknown("grant.why")),
    };
    Ok(Grant {
        entity: EntityId(g.entity),
        epoch: Epoch(g.epoch),
        to: node_from_wire(g.to)?,
        seq: Seq(g.seq),
        digest: g.digest,
        why,
        state: unpack(&g.state, "grant.state")?,
        sessions: g.sessions.iter().map(|s| (SessionId(s.session), s.radius)).collect(),
        argument: g.argument,
        last_tick: g.last_tick.map(Tick),
    })
}

fn command_from_wire(c: wire::Command) -> Result<Command, BadMessage> {
    Ok(Command {
        entity: EntityId(c.entity),
        session: SessionId(c.session),
        n: c.n,
        method: narrow(c.method, "command.method")?,
        args: c.args,
        deadline: Tick(c.deadline),
        acknowledged: c.acknowledged,
    })
}

fn inbox_from_wire(m: wire::InboxMessage) -> Result<InboxMessage, BadMessage> {
    Ok(InboxMessage {
        entity: EntityId(m.entity),
        source: EntityId(m.source),
        out_seq: m.out_seq,
        payload: m.payload,
        value: m.value,
        origin: origin_from_wire(m.origin)?,
        settled: m.settled,
    })
}
