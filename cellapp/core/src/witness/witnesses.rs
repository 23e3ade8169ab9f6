//! Which witnesses there are and what their clients hold.
//!
//! Invariants: what a client holds is exactly what it was told to have entered and not to have
//! left; it is told of an entity only states newer than the last one; a witness whose surroundings
//! did not change, and that owes its client nothing, costs a look at a few buckets.

use marchland_common::journal::Event;
use marchland_common::msg::{Seen, View, WitnessState};
use marchland_common::order::{EntityId, SessionId, Tick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most entities that a client holds at once; further ones enter when others have left.
pub const SEEN_MAX: usize = 512;

/// The limits of all views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewLimits {
    /// The largest radius, in millimetres.
    pub radius_max: i32,
    /// How much farther than its radius a witness keeps an entity, in parts of 256.
    pub hysteresis: i32,
    /// Bytes that one witness gets in a tick. Exceeded only by leaves, which are never put off, and
    /// by a single record that is larger by itself.
    pub bytes: usize,
    /// The deliberate fault: a witness forgets to say that somebody left.
    pub forgets_leaves: bool,
}

/// What a run of all witnesses leads to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewOut {
    /// What goes to the clients.
    pub views: Vec<View>,
    /// Who entered and who left.
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Witness {
    /// In millimetres; 0 sees nobody.
    pub(super) radius: i32,
    /// Whether the client must forget what it holds, because this is the first it hears from here.
    pub(super) is_fresh: bool,
    /// Whether its entity is frozen.
    pub(super) is_frozen: bool,
    /// Whether it has to look around even if nothing changed.
    pub(super) is_due: bool,
    /// What its client holds, by ascending entity.
    pub(super) seen: Vec<Seen>,
    /// Who waits to be told of, and since when, by ascending entity.
    pub(super) waiting: Vec<(EntityId, Tick)>,
}

impl Witness {
    fn new(radius: i32) -> Self {
        Self {
            radius,
            is_fresh: true,
            is_frozen: false,
            is_due: true,
            seen: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

/// All witnesses of this process. See the module for their invariants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Witnesses {
    pub(super) limits: ViewLimits,
    pub(super) witnesses: BTreeMap<(EntityId, SessionId), Witness>,
}

impl Witnesses {
    /// Nobody looks yet.
    #[must_use]
    pub const fn new(limits: ViewLimits) -> Self {
        Self { limits, witnesses: BTreeMap::new() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.witnesses.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.witnesses.is_empty()
    }

    /// A client begins to look, or begins anew: it is shown everything around from nothing.
    /// `radius` is in millimetres; what is out of range becomes the nearest value in it.
    pub fn attach(&mut self, entity: EntityId, session: SessionId, radius: i32, out: &mut ViewOut) {
        self.detach(entity, session, out);
        let witness = Witness::new(self.clamp(radius));
        self.witnesses.insert((entity, session), witness);
    }

    fn clamp(&self, radius: i32) -> i32 {
        radius.clamp(0, self.limits.radius_max.max(0))
    }

    /// A client looks no more.
    pub fn detach(&mut self, entity: EntityId, session: SessionId, out: &mut ViewOut) {
        if let Some(witness) = self.witnesses.remove(&(entity, session)) {
            leave_all(entity, session, &witness, out);
        }
    }

    /// The entity becomes real here. Each of its sessions, given with its radius, goes on from what
    /// travelled, or is shown everything from nothing where nothing usable did.
    pub fn resume(
        &mut self,
        entity: EntityId,
        sessions: &[(SessionId, i32)],
        states: &[WitnessState],
    ) {
        self.forget(entity);
        for (session, radius) in sessions {
            let mut witness = Witness::new(self.clamp(*radius));
            let state = states.iter().find(|state| state.session == *session);
            if let Some(state) = state.filter(|state| is_usable(state)) {
                witness.is_fresh = false;
                witness.seen.clone_from(&state.seen);
            }
            self.witnesses.insert((entity, *session), witness);
        }
    }

    /// The entity is handed over: its witnesses stop looking, and what their clients hold travels.
    /// A session that was told nothing yet begins from nothing at the next owner.
    pub fn freeze(&mut self, entity: EntityId) -> Vec<WitnessState> {
        let mut states = Vec::new();
        for ((_, session), witness) in self.of(entity) {
            witness.is_frozen = true;
            if !witness.is_fresh {
                let (session, radius) = (*session, witness.radius);
                states.push(WitnessState { session, radius, seen: witness.seen.clone() });
            }
        }
        states
    }

    /// The handoff was called off: its witnesses go on.
    pub fn thaw(&mut self, entity: EntityId) {
        for (_, witness) in self.of(entity) {
            (witness.is_frozen, witness.is_due) = (false, true);
        }
    }

    /// The entity lives on elsewhere: its witnesses are forgotten here, nobody leaves their views.
    pub fn forget(&mut self, entity: EntityId) {
        let sessions: Vec<SessionId> = self.of(entity).map(|((_, session), _)| *session).collect();
        for session in sessions {
            self.witnesses.remove(&(entity, session));
        }
    }

    /// The entity is no more: its witnesses end, and with them what they saw.
    pub fn end(&mut self, entity: EntityId, out: &mut ViewOut) {
        let sessions: Vec<SessionId> = self.of(entity).map(|((_, session), _)| *session).collect();
        for session in sessions {
            self.detach(entity, session, out);
        }
    }

    fn of(
        &mut self,
        entity: EntityId,
    ) -> impl Iterator<Item = (&(EntityId, SessionId), &mut Witness)> {
        self.witnesses.range_mut((entity, SessionId(0))..=(entity, SessionId(u64::MAX)))
    }

    /// The sessions that look from an entity, each with its radius in millimetres.
    #[must_use]
    pub fn sessions(&self, entity: EntityId) -> Vec<(SessionId, i32)> {
        let range = (entity, SessionId(0))..=(entity, SessionId(u64::MAX));
        self.witnesses.range(range).map(|((_, s), witness)| (*s, witness.radius)).collect()
    }

    /// Whom a client holds, by ascending id.
    #[must_use]
    pub fn seen(&self, entity: EntityId, session: SessionId) -> Vec<EntityId> {
        let witness = self.witnesses.get(&(entity, session));
        witness.map_or_else(Vec::new, |witness| witness.seen.iter().map(|s| s.entity).collect())
    }
}

/// Whether a state that travelled can be gone on from: another process sent it.
fn is_usable(state: &WitnessState) -> bool {
    state.seen.len() <= SEEN_MAX && state.seen.windows(2).all(|two| two[0].entity < two[1].entity)
}

fn leave_all(entity: EntityId, session: SessionId, witness: &Witness, out: &mut ViewOut) {
    let left = witness.seen.iter().map(|seen| seen.entity);
    out.events.extend(left.map(|other| Event::Left { witness: entity, session, entity: other }));
}
