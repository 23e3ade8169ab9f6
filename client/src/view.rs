//! The picture that a client has of the world: who is in view, and where they are between two
//! ticks.
//!
//! States of a lower epoch never replace those of a higher one. A client draws between the last
//! two states by `alpha`, so that a movement of 20 states a second looks smooth at any frame rate.

use marchland_codec_core::{CodecError, Pose, PropValue, Props, Version, ViewOp, ViewReader};
use marchland_common::order::{EntityId, Epoch, KindId, Tick};
use marchland_common::world::{Pos, Value};
use std::collections::BTreeMap;

/// One entity in view.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its kind.
    pub kind: KindId,
    /// Which state this is.
    pub version: Version,
    /// Visible properties by the kind's index.
    pub props: BTreeMap<u8, Value>,
    /// Whether a base has yet to confirm its durable properties.
    pub speculative: bool,
    before: (Tick, Pos),
    now: (Tick, Pos),
    heading: u8,
}

impl Seen {
    /// The newest known position, in millimetres.
    #[must_use]
    pub const fn pos(&self) -> Pos {
        self.now.1
    }

    /// The newest known heading, in 256 steps a turn.
    #[must_use]
    pub const fn heading(&self) -> u8 {
        self.heading
    }

    /// The position between the last two states: `alpha` 0 is the state before, 1 the newest.
    /// Values outside are clamped, so that nothing is drawn where nobody has been.
    #[must_use]
    pub fn at(&self, alpha: f32) -> Pos {
        let alpha = if alpha.is_nan() { 1.0 } else { f64::from(alpha.clamp(0.0, 1.0)) };
        let between = |a: i32, b: i32| {
            // The difference of two i32 fits an f64 exactly.
            let d = f64::from(b) - f64::from(a);
            (f64::from(a) + d * alpha).round() as i32
        };
        let (a, b) = (self.before.1, self.now.1);
        Pos::new(between(a.x, b.x), between(a.y, b.y))
    }
}

/// What a piece of the view did, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An entity came into view.
    Entered(EntityId),
    /// It changed.
    Updated(EntityId),
    /// It was taken back to an earlier state, under a higher epoch.
    WasReset(EntityId),
    /// It left.
    Left(EntityId),
}

/// Why a piece of the view was not taken in, or not whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The bytes do not decode.
    #[error("a view does not decode: {0}")]
    Codec(#[from] CodecError),
    /// An entity entered twice, or something was said of one that is not in view.
    #[error("a view says {0} of entity {1}, which does not fit")]
    Unfit(&'static str, EntityId),
    /// A state went back without a reset.
    #[error("entity {0} went back from epoch {1} to {2}")]
    WentBack(EntityId, Epoch, Epoch),
}

/// Everything in view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorldView {
    seen: BTreeMap<EntityId, Seen>,
    tick: Tick,
    epoch: Epoch,
}

impl WorldView {
    /// All entities in view, by id.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, &Seen)> {
        self.seen.iter().map(|(id, seen)| (*id, seen))
    }

    /// One entity in view.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&Seen> {
        self.seen.get(&id)
    }

    /// How many entities are in view.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nobody is in view.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The tick of the newest piece.
    #[must_use]
    pub const fn tick(&self) -> Tick {
        self.tick
    }

    /// Takes in a piece. Pieces of a lower epoch than the newest are ignored: their owner was
    /// replaced. Returns what happened, in order.
    ///
    /// # Errors
    /// [`ViewError`] at the first record that does not fit; what came before it stays.
    pub fn take_in(
        &mut self,
        epoch: Epoch,
        tick: Tick,
        fresh: bool,
        body: &[u8],
    ) -> Result<Vec<Change>, ViewError> {
        if epoch < self.epoch {
            return Ok(Vec::new());
        }
        (self.epoch, self.tick) = (epoch, tick);
        let mut changes = Vec::new();
        if fresh {
            changes.extend(self.seen.keys().map(|id| Change::Left(*id)));
            self.seen.clear();
        }
        for op in ViewReader::new(body)? {
            changes.push(self.apply(op?, tick)?);
        }
        Ok(changes)
    }

    fn apply(&mut self, op: ViewOp<'_>, tick: Tick) -> Result<Change, ViewError> {
        match op {
            ViewOp::Enter { entity, kind, full } => {
                if self.seen.contains_key(&entity) {
                    return Err(ViewError::Unfit("enter", entity));
                }
                let now = (tick, pos_of(full.pose));
                self.seen.insert(
                    entity,
                    Seen {
                        kind,
                        version: full.version,
                        props: values_of(full.props),
                        speculative: full.speculative,
                        before: now,
                        now,
                        heading: full.pose.heading(),
                    },
                );
                Ok(Change::Entered(entity))
            }
            ViewOp::Update { entity, fields } => {
                let seen = self.seen.get_mut(&entity).ok_or(ViewError::Unfit("update", entity))?;
                if let Some(version) = fields.version {
                    if version.epoch < seen.version.epoch {
                        let (was, is) = (seen.version.epoch, version.epoch);
                        return Err(ViewError::WentBack(entity, was, is));
                    }
                    seen.version = version;
                }
                if let Some([x, y]) = fields.position {
                    let pose = Pose::from_quanta(x, y, 0).map_or(seen.now.1, pos_of);
                    (seen.before, seen.now) = (seen.now, (tick, pose));
                }
                seen.heading = fields.heading.unwrap_or(seen.heading);
                seen.speculative = fields.speculative;
                seen.props.extend(values_of(fields.props));
                Ok(Change::Updated(entity))
            }
            ViewOp::Reset { entity, full } => {
                let seen = self.seen.get_mut(&entity).ok_or(ViewError::Unfit("reset", entity))?;
                let now = (tick, pos_of(full.pose));
                (seen.before, seen.now, seen.version) = (now, now, full.version);
                seen.heading = full.pose.heading();
                seen.speculative = full.speculative;
                seen.props = values_of(full.props);
                Ok(Change::WasReset(entity))
            }
            ViewOp::Leave { entity } => match self.seen.remove(&entity) {
                Some(_) => Ok(Change::Left(entity)),
                None => Err(ViewError::Unfit("leave", entity)),
            },
        }
    }
}

fn pos_of(pose: Pose) -> Pos {
    use marchland_codec_core::dequantise;
    Pos::new(dequantise(pose.x()), dequantise(pose.y()))
}

fn values_of(props: Props<'_>) -> BTreeMap<u8, Value> {
    let value = |v: PropValue<'_>| match v {
        PropValue::Int(n) => Value::Int(n),
        PropValue::Bytes(b) => Value::Bytes(b.to_vec()),
    };
    props.into_iter().map(|p| (p.slot, value(p.value))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_codec_core::{FullView, ViewFields, ViewWriter, encode_update};
    use marchland_common::order::{Seq, SlotId};
    use proptest::prelude::*;

    fn id(n: u64) -> EntityId {
        EntityId::new(SlotId(1), n)
    }

    fn version(grant: u64) -> Version {
        Version { epoch: Epoch::of_grant(grant), seq: Seq(1) }
    }

    fn entered(view: &mut WorldView, x: i32, y: i32) {
        let mut w = ViewWriter::new();
        w.begin(Tick(1));
        let pose = Pose::of_world(x, y, 0);
        let full = FullView { version: version(1), pose, speculative: false, props: &[][..] };
        w.enter(id(1), KindId(1), &full).unwrap();
        view.take_in(Epoch::of_grant(1), Tick(1), false, w.finish()).unwrap();
    }

    fn moved(view: &mut WorldView, grant: u64, to: [i32; 2]) -> Result<Vec<Change>, ViewError> {
        let mut bytes = Vec::new();
        let fields = ViewFields {
            version: Some(version(grant)),
            position: Some(to),
            heading: None,
            speculative: false,
            props: &[][..],
        };
        let update = encode_update(&mut bytes, id(1), &fields).unwrap();
        let mut w = ViewWriter::new();
        w.begin(Tick(2));
        w.update(update).unwrap();
        view.take_in(Epoch::of_grant(1), Tick(2), false, w.finish())
    }

    #[test]
    fn a_lower_epoch_never_replaces_a_higher_one() {
        let mut view = WorldView::default();
        entered(&mut view, 0, 0);
        moved(&mut view, 2, [1, 1]).unwrap();
        assert!(matches!(moved(&mut view, 1, [5, 5]), Err(ViewError::WentBack(..))));
        assert_eq!(view.get(id(1)).unwrap().pos(), Pos::new(50, 50));
    }

    #[test]
    fn a_fresh_piece_forgets_everybody_and_says_so() {
        let mut view = WorldView::default();
        entered(&mut view, 0, 0);
        let mut w = ViewWriter::new();
        w.begin(Tick(9));
        let told = view.take_in(Epoch::of_grant(1), Tick(9), true, w.finish()).unwrap();
        assert_eq!(told, [Change::Left(id(1))]);
        assert!(view.is_empty());
    }

    proptest! {
        #[test]
        fn a_drawn_position_lies_between_the_two_states(
            (ax, ay) in (-1_000_000i32..1_000_000, -1_000_000i32..1_000_000),
            (bx, by) in (-20_000i32..20_000, -20_000i32..20_000),
            alpha in any::<f32>(),
        ) {
            let mut view = WorldView::default();
            entered(&mut view, ax, ay);
            let a = view.get(id(1)).unwrap().pos();
            moved(&mut view, 1, [bx, by]).unwrap();
            let seen = view.get(id(1)).unwrap();
            let (b, p) = (seen.pos(), seen.at(alpha));
            prop_assert!(p.x >= a.x.min(b.x) && p.x <= a.x.max(b.x));
            prop_assert!(p.y >= a.y.min(b.y) && p.y <= a.y.max(b.y));
            prop_assert_eq!(seen.at(0.0), a);
            prop_assert_eq!(seen.at(1.0), b);
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_taken_but_never_panic(
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut view = WorldView::default();
            entered(&mut view, 0, 0);
            let _ = view.take_in(Epoch::of_grant(1), Tick(3), false, &body);
        }
    }
}
