//! Whom and what an event is about.

use super::{Kind, command_outcome, message_outcome};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Node, Seq, SessionId};
use std::fmt::Write as _;

/// The common columns of all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The entity that changed, or was shown, or was spoken about.
    pub entity: Option<EntityId>,
    /// A second entity: whose message it was, or who saw it.
    pub other: Option<EntityId>,
    /// The epoch.
    pub epoch: Option<Epoch>,
    /// The step, or the ghost sequence.
    pub seq: Option<Seq>,
    /// The command (`s<session>/<n>`), message (`<source>:<number>`) or signal
    /// (`~<source>.<epoch>><receiver>/<number>`).
    pub msg: Option<String>,
    /// The other process.
    pub peer: Option<Node>,
}

impl About {
    const fn of(entity: EntityId) -> Self {
        Self { entity: Some(entity), other: None, epoch: None, seq: None, msg: None, peer: None }
    }

    const fn at(mut self, epoch: Epoch, seq: Seq) -> Self {
        (self.epoch, self.seq) = (Some(epoch), Some(seq));
        self
    }

    const fn under(mut self, epoch: Epoch) -> Self {
        self.epoch = Some(epoch);
        self
    }

    const fn peer(mut self, peer: Node) -> Self {
        self.peer = Some(peer);
        self
    }

    const fn other(mut self, other: EntityId) -> Self {
        self.other = Some(other);
        self
    }

    fn command(mut self, session: SessionId, n: u64) -> Self {
        self.msg = Some(format!("s{session}/{n}"));
        self
    }

    fn message(mut self, source: EntityId, out_seq: u64) -> Self {
        self.msg = Some(format!("{source}:{out_seq}"));
        self
    }

    fn signal(self, (source, epoch): (EntityId, Epoch), to: EntityId, n: u64) -> Self {
        let msg = Some(format!("~{source}.{epoch}>{to}/{n}"));
        Self { msg, other: Some(source), ..self }
    }

    /// Whether the event concerns this entity.
    #[must_use]
    pub fn concerns(&self, entity: EntityId) -> bool {
        self.entity == Some(entity) || self.other == Some(entity)
    }
}

/// Whom and what an event is about.
#[must_use]
pub fn about(event: &Event) -> About {
    let at_cell = at_cell(event).or_else(|| waiting(event)).or_else(|| signal(event));
    at_cell.or_else(|| at_base(event)).unwrap_or_else(|| elsewhere(event))
}

fn at_cell(event: &Event) -> Option<About> {
    Some(match *event {
        Event::Activated { entity, epoch, seq, base, .. } => {
            About::of(entity).at(epoch, seq).peer(base)
        }
        Event::Frozen { entity, epoch, seq, target, .. } => {
            About::of(entity).at(epoch, seq).peer(target)
        }
        Event::Unfrozen { entity, epoch, seq, .. }
        | Event::Deactivated { entity, epoch, seq, .. }
        | Event::Stepped { entity, epoch, seq, .. }
        | Event::GhostFlushed { entity, epoch, seq, .. } => About::of(entity).at(epoch, seq),
        Event::Strayed { entity, epoch }
        | Event::Returned { entity, epoch }
        | Event::TimerFired { entity, epoch, .. }
        | Event::TimerLate { entity, epoch, .. }
        | Event::GhostEnded { entity, epoch, .. } => About::of(entity).under(epoch),
        Event::WindowClosed { base, .. } | Event::WindowOpened { base } => {
            About { peer: Some(base), ..About::default() }
        }
        Event::CommandRun { entity, epoch, session, n, .. } => {
            About::of(entity).under(epoch).command(session, n)
        }
        Event::MessageRun { entity, epoch, source, out_seq, .. } => {
            About::of(entity).under(epoch).other(source).message(source, out_seq)
        }
        Event::SignalSkipped { to, source, epoch, .. } => About::of(to).other(source).under(epoch),
        Event::GhostApplied { entity, owner, epoch, seq, .. } => {
            About::of(entity).at(epoch, seq).peer(owner)
        }
        Event::Entered { witness, entity, .. } | Event::Left { witness, entity, .. } => {
            About::of(entity).other(witness)
        }
        Event::ViewRestarted { witness, .. } => About::of(witness),
        _ => return None,
    })
}

/// What waits at owners, or turns back there.
fn waiting(event: &Event) -> Option<About> {
    Some(match *event {
        Event::CommandHeld { entity, epoch, session, n, .. } => {
            About::of(entity).under(epoch).command(session, n)
        }
        Event::CommandDropped { entity, session, n, base } => {
            About { peer: base, ..About::of(entity).command(session, n) }
        }
        Event::MessageHeld { entity, epoch, source, out_seq, .. } => {
            About::of(entity).under(epoch).other(source).message(source, out_seq)
        }
        Event::MessageDropped { entity, source, out_seq, base } => {
            About { peer: base, ..About::of(entity).other(source).message(source, out_seq) }
        }
        _ => return None,
    })
}

fn signal(event: &Event) -> Option<About> {
    Some(match *event {
        Event::SignalSent { source, epoch, to, n, peer } => {
            // It is the sender's doing.
            let about = About::of(source).under(epoch).signal((source, epoch), to, n);
            About { other: Some(to), peer, ..about }
        }
        Event::SignalForwarded { to, source, epoch, n, peer, .. } => {
            About::of(to).under(epoch).signal((source, epoch), to, n).peer(peer)
        }
        Event::SignalHeld { to, source, epoch, n } | Event::SignalRun { to, source, epoch, n } => {
            About::of(to).under(epoch).signal((source, epoch), to, n)
        }
        _ => return None,
    })
}

fn at_base(event: &Event) -> Option<About> {
    Some(match *event {
        Event::Created { entity, source, .. } => {
            let about = About::of(entity);
            match source {
                Some((source, out_seq)) => about.other(source).message(source, out_seq),
                None => about,
            }
        }
        Event::Accepted { entity, epoch, seq, owner, .. } => {
            About::of(entity).at(epoch, seq).peer(owner)
        }
        Event::OwnerChanged { entity, epoch, seq, to, .. } => {
            About::of(entity).at(epoch, seq).peer(to)
        }
        Event::FirstStep { entity, epoch, owner, .. } => About::of(entity).under(epoch).peer(owner),
        Event::HandoffRefused { entity, epoch, target, .. } => {
            About::of(entity).under(epoch).peer(target)
        }
        Event::FencedSent { entity, epoch, to, .. } => About::of(entity).under(epoch).peer(to),
        Event::CommandQueued { entity, session, n }
        | Event::CommandAnswered { entity, session, n, .. } => {
            About::of(entity).command(session, n)
        }
        Event::CommandConfirmed { entity, session, n, epoch, seq, .. } => {
            About::of(entity).at(epoch, seq).command(session, n)
        }
        Event::MessageReleased { source, out_seq, to, seq, .. } => {
            About { seq: Some(seq), other: to, ..About::of(source).message(source, out_seq) }
        }
        Event::MessageTaken { entity, source, out_seq, .. } => {
            About::of(entity).other(source).message(source, out_seq)
        }
        Event::CommandSent { entity, epoch, session, n, to } => {
            About::of(entity).under(epoch).command(session, n).peer(to)
        }
        Event::MessageSent { entity, epoch, source, out_seq, to } => {
            About::of(entity).under(epoch).other(source).message(source, out_seq).peer(to)
        }
        Event::MessageClosed { source, out_seq } | Event::Burned { source, out_seq, .. } => {
            About::of(source).message(source, out_seq)
        }
        Event::Destroyed { entity, epoch, .. } => About::of(entity).under(epoch),
        Event::Listed { cell } => About { peer: Some(cell), ..About::default() },
        Event::SessionOpened { entity, .. }
        | Event::SessionClosed { entity, .. }
        | Event::OrderEnded { entity, .. } => About::of(entity),
        _ => return None,
    })
}

fn elsewhere(event: &Event) -> About {
    match *event {
        Event::ClientSent { session, entity, n }
        | Event::ClientAnswered { session, entity, n, .. } => About::of(entity).command(session, n),
        Event::ClientSaw { entity, epoch, confirmed, .. } => {
            About { seq: confirmed, ..About::of(entity).under(epoch) }
        }
        Event::ClientWelcome { entity, .. } => About::of(entity),
        Event::SlotAdopted { from, .. } => About { peer: Some(from), ..About::default() },
        Event::SlotFollowed { base, .. } => About { peer: base, ..About::default() },
        Event::LinkBegan { peer, .. } | Event::LinkEnded { peer, .. } => {
            About { peer: Some(peer), ..About::default() }
        }
        Event::Refusal { from, entity, .. } => About { entity, peer: from, ..About::default() },
        _ => About::default(),
    }
}

/// The event in a few words, for people.
#[must_use]
pub fn text(event: &Event) -> String {
    let about = about(event);
    let mut out = Kind::of(event).name().replace('_', " ");
    if let Some(entity) = about.entity {
        let _ = write!(out, " {entity}");
    }
    if let Some(epoch) = about.epoch {
        let _ = write!(out, " e{epoch}");
    }
    if let Some(seq) = about.seq {
        let _ = write!(out, " s{seq}");
    }
    if let Some(msg) = &about.msg {
        let _ = write!(out, " {msg}");
    }
    detail(event, &mut out);
    if let Some(peer) = about.peer {
        let _ = write!(out, " ({peer})");
    }
    out
}

fn detail(event: &Event, out: &mut String) {
    let _ = match event {
        Event::CommandRun { outcome, .. }
        | Event::CommandConfirmed { outcome, .. }
        | Event::CommandAnswered { outcome, .. }
        | Event::ClientAnswered { outcome, .. } => write!(out, " {}", command_outcome(outcome)),
        Event::MessageRun { outcome, .. } | Event::MessageTaken { outcome, .. } => {
            write!(out, " {}", message_outcome(outcome))
        }
        Event::MessageReleased { value, .. } | Event::Burned { value, .. } if *value != 0 => {
            write!(out, " value {value}")
        }
        Event::Created { value, .. } | Event::Destroyed { value, .. } => {
            write!(out, " value {value}")
        }
        Event::Accepted { flow: Some(flow), .. } => {
            write!(out, " value {} to {}", flow.before, flow.after)
        }
        Event::Frozen { why, .. } => write!(out, " {why:?}"),
        Event::Deactivated { why, .. } => write!(out, " {why:?}"),
        Event::OwnerChanged { why, .. } => write!(out, " {why:?}"),
        Event::Unfrozen { reason, .. } | Event::HandoffRefused { reason, .. } => {
            write!(out, " {reason:?}")
        }
        Event::CommandHeld { why, .. } | Event::MessageHeld { why, .. } => write!(out, " {why:?}"),
        Event::SignalForwarded { hops, .. } => write!(out, " hop {hops}"),
        Event::Refusal { reason, count, .. } => write!(out, " {} x{count}", reason.name()),
        Event::SlotTaken { slot, term, .. } => write!(out, " {slot} term {term}"),
        Event::SlotFrozen { slot, term, to, .. } => write!(out, " {slot} term {term} for {to}"),
        Event::SlotGiven { slot, term, .. } => write!(out, " {slot} to term {term}"),
        Event::SlotKept { slot, term, frozen_for: None } => write!(out, " {slot} term {term}"),
        Event::SlotKept { slot, term, frozen_for: Some(to) } => {
            write!(out, " {slot} term {term}, frozen for {to}")
        }
        Event::SlotAdopted { slot, term, from, through } => {
            write!(out, " {slot} term {term} from {from} up to {through}")
        }
        Event::SlotFollowed { slot, .. } => write!(out, " {slot}"),
        Event::LinkBegan { dialed, .. } | Event::LinkEnded { dialed, .. } => {
            write!(out, "{}", if *dialed { " to" } else { " from" })
        }
        Event::Durable { lsn } | Event::Recovered { lsn } => write!(out, " {lsn}"),
        Event::TicksDropped(dropped) => write!(out, " {}..{}", dropped.from, dropped.to),
        Event::FirstStep { first_tick, .. } => write!(out, " at tick {first_tick}"),
        Event::TimerFired { timer, occurrence, .. } => write!(out, " {timer}/{occurrence}"),
        Event::Entered { session, .. } | Event::Left { session, .. } => {
            write!(out, " session {session}")
        }
        _ => Ok(()),
    };
}
