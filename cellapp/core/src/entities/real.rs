//! One real: the copy of an entity that this process simulates, or holds frozen until a handoff
//! ends.

use crate::behaviour::Pending;
use bytes::Bytes;
use marchland_common::digest::digest_bytes;
use marchland_common::msg::{BaseToCell, HandoffWhy, Prepare, Signal, Step};
use marchland_common::order::{EntityId, Epoch, Node, Seq, SessionId, Tick};
use marchland_common::time::EntityTime;
use marchland_common::world::{EntityState, Place};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Whether a real runs.
///
/// ```text
///            leave                release, fenced
///  Active ----------> Frozen ---------------------> gone
///    ^  |               |
///    |  | destroy       | abort
///    |  v               |
///    |  Ended -> gone   |
///    +------------------+
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Phase {
    /// It is simulated while its base's window is open.
    Active,
    /// It is being handed over.
    Frozen(Box<Frozen>),
    /// It ended; the copy is kept until its last step is durable.
    Ended,
}

/// What is known of a handoff under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// Sent again every tick until the base answers.
    pub prepare: Prepare,
    /// The tick in which it was sent first.
    pub since: Tick,
}

/// A decided handoff: carried out at the end of the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// To whom.
    pub target: Node,
    /// Why.
    pub why: HandoffWhy,
    /// For how many ticks an operator wants it to stay there.
    pub hold: u32,
}

/// A step that is not known to be durable, kept for a base that comes back without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnackedStep {
    /// The tick whose bundle carries it.
    pub tick: Tick,
    /// The step.
    pub step: Step,
}

/// One real.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Real {
    /// Who.
    pub id: EntityId,
    /// The epoch under which this process owns it.
    pub epoch: Epoch,
    /// Its newest step.
    pub seq: Seq,
    /// The durable digest there.
    pub digest: u64,
    /// Its state. The time in it is right at `mark`; see [`Real::time`].
    pub state: EntityState,
    /// How many ticks its base's entities had been stepped here when the time was noted.
    pub mark: u64,
    /// Whether it runs.
    pub phase: Phase,
    /// Whether its behaviour is called every tick.
    pub awake: bool,
    /// What changed since the last step.
    pub pending: Pending,
    /// Volatile properties that changed since the base was told, by index.
    pub stale_props: u32,
    /// Whether the place changed since the base was told.
    pub stale_place: bool,
    /// When the base is told of volatile changes; none while there are none.
    pub report_due: Option<Tick>,
    /// When the base was told last.
    pub reported: Tick,
    /// The first tick that this epoch simulated; none until its first step, which is due at once.
    pub first_tick: Option<Tick>,
    /// The first tick that may be simulated under this epoch, while that is still to come: owners
    /// before simulated the ticks up to it.
    pub held_until: Option<Tick>,
    /// What the behaviour is told at its birth, until it was told.
    pub birth: Option<Bytes>,
    /// Whether the base asked for the whole state.
    pub snapshot_wanted: bool,
    /// Steps that are not known to be durable, in order.
    pub unacked: VecDeque<UnackedStep>,
    /// What waits for the behaviour, in the order of its coming.
    pub queue: VecDeque<BaseToCell>,
    /// Sessions that the grant named and that the state may not know yet.
    pub sessions_due: Vec<SessionId>,
    /// Signals for its behaviour, in order.
    pub signals: VecDeque<Signal>,
    /// Something that was to wait was lost: nothing more is let in under this epoch.
    pub refuses: bool,
    /// The newest input of its client.
    pub input: Option<(SessionId, Bytes)>,
    /// Finished asynchronous work: token and result.
    pub completed: VecDeque<(u64, Vec<u8>)>,
    /// A handoff that begins at the end of this tick.
    pub leaving: Option<Leaving>,
    /// No handoff of this process's own wish begins before.
    pub stays_until: Tick,
    /// In which step of its base's time its next timer is due.
    pub timer_due: Option<u64>,
    /// This real's part of the digest over all.
    pub part: u64,
    /// Whether it stands in the list of changed reals.
    #[serde(skip)]
    pub is_listed_dirty: bool,
}

impl Real {
    /// A real that was just granted.
    #[must_use]
    pub fn new(id: EntityId, epoch: Epoch, seq: Seq, digest: u64, state: EntityState) -> Self {
        Self {
            id,
            epoch,
            seq,
            digest,
            state,
            mark: 0,
            phase: Phase::Active,
            awake: true,
            pending: Pending::default(),
            stale_props: 0,
            stale_place: false,
            report_due: None,
            reported: Tick(0),
            first_tick: None,
            held_until: None,
            birth: None,
            snapshot_wanted: false,
            unacked: VecDeque::new(),
            queue: VecDeque::new(),
            sessions_due: Vec::new(),
            signals: VecDeque::new(),
            refuses: false,
            input: None,
            completed: VecDeque::new(),
            leaving: None,
            stays_until: Tick(0),
            timer_due: None,
            part: 0,
            is_listed_dirty: false,
        }
    }

    /// Entity time when its base's entities have been stepped in `steps` ticks.
    #[must_use]
    pub fn time(&self, steps: u64, step_us: u64) -> EntityTime {
        match self.phase {
            Phase::Active if self.held_until.is_some() => self.state.time,
            Phase::Active => {
                let ticks = steps.saturating_sub(self.mark);
                self.state.time.after_us(ticks.saturating_mul(step_us))
            }
            Phase::Frozen(_) | Phase::Ended => self.state.time,
        }
    }

    /// Writes the entity time down.
    pub fn settle(&mut self, steps: u64, step_us: u64) {
        self.state.time = self.time(steps, step_us);
        self.mark = steps;
    }

    /// Whether this process is to simulate it.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Active)
    }

    /// Whether it is simulated in every tick in which its base's window is open.
    #[must_use]
    pub const fn is_stepped(&self) -> bool {
        self.is_active() && self.held_until.is_none()
    }

    /// What is known of its handoff, if one is under way.
    #[must_use]
    pub const fn frozen(&self) -> Option<&Frozen> {
        match &self.phase {
            Phase::Frozen(frozen) => Some(frozen),
            Phase::Active | Phase::Ended => None,
        }
    }

    /// Whether something waits for the behaviour besides its every-tick call.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty()
            || self.input.is_some()
            || !self.completed.is_empty()
            || !self.sessions_due.is_empty()
            || !self.signals.is_empty()
            || self.birth.is_some()
    }

    /// Whether the SyncBuild phase has something to do for it.
    #[must_use]
    pub fn needs_build(&self) -> bool {
        let pending = &self.pending;
        self.first_tick.is_none()
            || self.snapshot_wanted
            || self.leaving.is_some()
            || pending.moved
            || pending.timers
            || pending.dirty_props != 0
            || pending.awake.is_some()
            || !pending.changes.is_empty()
            || !pending.effects.is_empty()
    }

    /// The digest of what a replay must reproduce of this real. Entity time is a function of how
    /// often its base's entities were stepped, which is part of the core's own digest.
    #[must_use]
    pub fn digest_part(&self) -> u64 {
        let phase = match &self.phase {
            Phase::Active => 0_u64,
            Phase::Frozen(frozen) => frozen.since.0 << 1 | 1,
            Phase::Ended => u64::MAX,
        };
        let Place { space, pos, heading } = self.state.place;
        let position = u64::from(pos.x.cast_unsigned()) << 32 | u64::from(pos.y.cast_unsigned());
        let parts = [
            self.id.0,
            self.epoch.0,
            self.seq.0,
            self.digest,
            u64::from(space.0) << 32 | u64::from(heading) << 1 | u64::from(self.awake),
            position,
            self.state.rng.0,
            phase,
        ];
        let mut bytes = [0; 64];
        for (room, part) in bytes.chunks_exact_mut(8).zip(parts) {
            room.copy_from_slice(&part.to_le_bytes());
        }
        digest_bytes(&bytes)
    }
}
