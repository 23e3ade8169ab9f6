//! What one witness could be told of, and how much of it fits.
//!
//! A quarter of the budget goes to whoever waited longest, so that each one's turn comes; the rest
//! goes to the nearest. Invariant: if anything waits, a run tells at least one of it.

use super::scratch::{KindView, ViewScratch, shown_props, version};
use crate::interest::{Look, Looks};
use marchland_codec_core::{FullView, Prop, PropValue, PushError, UpdateRef};
use marchland_common::order::{EntityId, Tick};

/// Bytes of a full record without its properties, at most.
const FULL_BYTES: usize = 48;
/// Bytes of a property without its byte string, at most.
const PROP_BYTES: usize = 14;
/// The part of the budget that goes to whoever waited longest.
const PATIENT_SHARE: usize = 4;

/// What a client is told of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It comes into view.
    Enter,
    /// What was shown of it is taken back.
    Reset,
    /// Some fields changed.
    Update(UpdateRef),
}

/// One entity that a witness could be told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) entity: EntityId,
    pub(super) slot: u32,
    pub(super) distance_sq: i64,
    /// Since when it waits.
    pub(super) since: Tick,
    pub(super) what: What,
    /// The properties that are kept back because it is too far away.
    pub(super) owed: u32,
    /// Its place in the list of what the client holds; none for one that enters.
    pub(super) at: Option<usize>,
    /// Bytes that it takes, at most.
    pub(super) bytes: usize,
    pub(super) is_served: bool,
}

/// How many bytes a full record of a look takes, at most.
pub(super) fn full_bytes(look: &Look, view: &KindView) -> usize {
    let bytes = |prop: Prop<'_>| match prop.value {
        PropValue::Int(_) => PROP_BYTES,
        PropValue::Bytes(bytes) => PROP_BYTES + bytes.len(),
    };
    FULL_BYTES + shown_props(look, view.visible).map(bytes).sum::<usize>()
}

impl ViewScratch {
    /// Writes as many candidates as `budget` bytes hold and `room` new ones fit, and marks them as
    /// served.
    pub(super) fn serve(&mut self, looks: &Looks, budget: usize, room: usize) {
        let mut all = std::mem::take(&mut self.candidates);
        let total: usize = all.iter().map(|candidate| candidate.bytes).sum();
        let entering = all.iter().filter(|candidate| candidate.at.is_none()).count();
        let mut meal = Meal { budget, room, is_empty: true };
        if self.writer.byte_len() + total <= budget && entering <= room {
            self.serve_in_turn(&mut all, &mut meal, usize::MAX, looks);
        } else {
            all.sort_unstable_by_key(|c| (c.since, c.distance_sq, c.entity));
            self.serve_in_turn(&mut all, &mut meal, budget / PATIENT_SHARE, looks);
            all.sort_unstable_by_key(|c| (c.distance_sq, c.entity));
            self.serve_in_turn(&mut all, &mut meal, usize::MAX, looks);
            all.sort_unstable_by_key(|c| c.entity);
        }
        self.candidates = all;
    }

    /// Serves from the front until `share` bytes are used.
    fn serve_in_turn(
        &mut self,
        all: &mut [Candidate],
        meal: &mut Meal,
        share: usize,
        looks: &Looks,
    ) {
        let start = self.writer.byte_len();
        for candidate in all.iter_mut().filter(|candidate| !candidate.is_served) {
            if self.writer.byte_len() - start >= share {
                break;
            }
            let fits = self.writer.byte_len() + candidate.bytes <= meal.budget || meal.is_empty;
            let is_new = candidate.at.is_none();
            if !fits || (is_new && meal.room == 0) {
                continue;
            }
            if self.write(candidate, looks).is_ok() {
                candidate.is_served = true;
                meal.is_empty = false;
                meal.room -= usize::from(is_new);
            }
        }
    }

    fn write(&mut self, candidate: &Candidate, looks: &Looks) -> Result<(), PushError> {
        let look = looks.at(candidate.slot);
        match candidate.what {
            What::Update(update) => {
                self.cost.copied += 1;
                self.writer.update(self.cache.get(update)?)
            }
            What::Enter | What::Reset => {
                let view = self.kinds.get(&look.kind());
                let visible = view.map_or(0, |view| view.visible);
                let props: Vec<Prop<'_>> = shown_props(look, visible).collect();
                let full = FullView {
                    version: version(look),
                    pose: look.pose(),
                    speculative: view.is_some_and(|view| view.is_speculative(visible)),
                    props: props.as_slice(),
                };
                match candidate.what {
                    What::Enter => self.writer.enter(look.id(), look.kind(), &full),
                    What::Reset | What::Update(_) => self.writer.reset(look.id(), &full),
                }
            }
        }
    }
}

/// What is left for one witness in this tick.
struct Meal {
    budget: usize,
    /// How many more entities its client may hold.
    room: usize,
    /// Whether nothing was told yet besides leaves.
    is_empty: bool,
}
