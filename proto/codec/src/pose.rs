//! Where a ghost stands, in the steps that travel.
//!
//! The world counts millimetres in `i32` and a full turn in 65,536 steps; what is sent is rounded
//! to quanta of 50 mm and to 256 steps of heading. Both ends keep the *rounded* pose that was sent
//! last, so that differences never add up an error. Invariant of [`Pose`]: both coordinates are
//! within `±POSITION_QUANTA_MAX`, so that they are exact in millimetres again.

use crate::CodecError;

/// Size of one step of a coordinate, in millimetres.
pub const QUANTUM_MM: i32 = 50;

/// Largest absolute coordinate, in quanta: the last whose millimetres fit an `i32`.
pub const POSITION_QUANTA_MAX: i32 = i32::MAX / QUANTUM_MM;

/// Rounds a coordinate in millimetres to quanta: to the nearest, halves away from zero. The
/// outermost millimetres of the `i32` range, which round to a quantum beyond it, take the last.
#[inline]
#[must_use]
pub const fn quantise(mm: i32) -> i32 {
    let half = (QUANTUM_MM / 2) as u32;
    let quanta = ((mm.unsigned_abs() + half) / QUANTUM_MM as u32) as i32;
    let quanta = if quanta > POSITION_QUANTA_MAX { POSITION_QUANTA_MAX } else { quanta };
    if mm < 0 { -quanta } else { quanta }
}

/// The coordinate in millimetres of a number of quanta; values beyond the world saturate.
#[inline]
#[must_use]
pub const fn dequantise(quanta: i32) -> i32 {
    quanta.saturating_mul(QUANTUM_MM)
}

/// Rounds a heading of 65,536 steps a turn to 256: to the nearest, halves up, wrapping at a turn.
#[inline]
#[must_use]
pub const fn quantise_heading(heading: u16) -> u8 {
    ((heading as u32 + 0x80) >> 8) as u8
}

/// The heading, in 65,536 steps a turn, of one of 256 steps.
#[inline]
#[must_use]
pub const fn dequantise_heading(heading: u8) -> u16 {
    (heading as u16) << 8
}

/// A rounded position and heading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pose {
    x: i32,
    y: i32,
    heading: u8,
}

impl Pose {
    /// Rounds a pose of the world: millimetres, and 65,536 steps a turn.
    #[inline]
    #[must_use]
    pub const fn of_world(x_mm: i32, y_mm: i32, heading: u16) -> Self {
        Self { x: quantise(x_mm), y: quantise(y_mm), heading: quantise_heading(heading) }
    }

    /// A pose from quanta, or nothing if it lies outside the world.
    #[inline]
    #[must_use]
    pub const fn from_quanta(x: i32, y: i32, heading: u8) -> Option<Self> {
        if is_inside(x) && is_inside(y) { Some(Self { x, y, heading }) } else { None }
    }

    /// The first coordinate, in quanta.
    #[inline]
    #[must_use]
    pub const fn x(self) -> i32 {
        self.x
    }

    /// The second coordinate, in quanta.
    #[inline]
    #[must_use]
    pub const fn y(self) -> i32 {
        self.y
    }

    /// The heading, in 256 steps a turn.
    #[inline]
    #[must_use]
    pub const fn heading(self) -> u8 {
        self.heading
    }

    /// What must be sent so that a holder of `sent` reaches this pose.
    #[inline]
    #[must_use]
    pub const fn change_since(self, sent: Self) -> PoseChange {
        // Both are within the world, so that no difference leaves an i32.
        let (dx, dy) = (self.x - sent.x, self.y - sent.y);
        PoseChange {
            moved: if dx == 0 && dy == 0 { None } else { Some([dx, dy]) },
            heading: if self.heading == sent.heading { None } else { Some(self.heading) },
        }
    }

    /// The pose after a received change.
    ///
    /// # Errors
    /// [`CodecError::OutOfWorld`] if the movement leaves the world; nothing is applied then.
    #[inline]
    pub const fn apply(self, change: PoseChange) -> Result<Self, CodecError> {
        let [dx, dy] = match change.moved {
            Some(moved) => moved,
            None => [0, 0],
        };
        let heading = match change.heading {
            Some(heading) => heading,
            None => self.heading,
        };
        // The world is a small part of an i32, so that a sum that wraps ends near the far end of
        // the range, outside the world, where `from_quanta` refuses it.
        let (x, y) = (self.x.wrapping_add(dx), self.y.wrapping_add(dy));
        match Self::from_quanta(x, y, heading) {
            Some(pose) => Ok(pose),
            None => Err(CodecError::OutOfWorld),
        }
    }
}

/// Whether a coordinate lies within the world, by one comparison.
#[inline]
const fn is_inside(quanta: i32) -> bool {
    quanta.wrapping_add(POSITION_QUANTA_MAX) as u32 <= 2 * POSITION_QUANTA_MAX as u32
}

/// A change of a pose: the movement as a difference, the heading as a value (both are one byte,
/// and a value cannot drift).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoseChange {
    /// Movement in quanta along both axes, if any.
    pub moved: Option<[i32; 2]>,
    /// The new heading in 256 steps a turn, if it changed.
    pub heading: Option<u8>,
}

impl PoseChange {
    /// Whether nothing changes.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.moved.is_none() && self.heading.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_round_away_from_zero_and_the_ends_of_the_range_stay_inside() {
        let cases = [(0, 0), (24, 0), (25, 1), (-24, 0), (-25, -1), (74, 1), (75, 2), (-75, -2)];
        for (mm, quanta) in cases {
            assert_eq!(quantise(mm), quanta, "{mm} mm");
        }
        assert_eq!(quantise(i32::MAX), POSITION_QUANTA_MAX);
        assert_eq!(quantise(i32::MIN), -POSITION_QUANTA_MAX);
        assert_eq!(dequantise(i32::MIN), i32::MIN);
    }

    #[test]
    fn the_last_half_step_of_a_turn_rounds_to_its_beginning() {
        assert_eq!(quantise_heading(0xff80), 0);
        assert_eq!(quantise_heading(0xff7f), 0xff);
    }

    #[test]
    fn the_outermost_quanta_are_inside_and_the_next_are_not() {
        let max = POSITION_QUANTA_MAX;
        for inside in [0, max, -max] {
            assert!(Pose::from_quanta(inside, -inside, 0).is_some(), "{inside}");
        }
        for outside in [max + 1, -max - 1, i32::MAX, i32::MIN] {
            assert_eq!(Pose::from_quanta(outside, 0, 0), None);
            assert_eq!(Pose::from_quanta(0, outside, 0), None);
        }
    }

    #[test]
    fn a_movement_out_of_the_world_is_refused() {
        let edge = Pose::of_world(i32::MAX, i32::MIN, 0);
        let far = i32::MAX - POSITION_QUANTA_MAX;
        let wraps_by_one = [[far + 1, 0], [0, -far - 2]];
        let ends = [[1, 0], [0, -1], [i32::MAX, 0], [0, i32::MIN]];
        for moved in ends.into_iter().chain(wraps_by_one) {
            let change = PoseChange { moved: Some(moved), heading: None };
            assert_eq!(edge.apply(change), Err(CodecError::OutOfWorld), "{moved:?}");
        }
    }

    proptest! {
        #[test]
        fn rounding_is_off_by_at_most_half_a_quantum(mm: i32) {
            let error = i64::from(dequantise(quantise(mm))) - i64::from(mm);
            let bound = if mm.unsigned_abs() > i32::MAX as u32 - 25 { 48 } else { 25 };
            prop_assert!(error.abs() <= bound, "{} mm off by {}", mm, error);
            prop_assert_eq!(quantise(dequantise(quantise(mm))), quantise(mm));
        }

        #[test]
        fn a_movement_is_applied_exactly_or_refused(x: i32, y: i32, moved: [i32; 2]) {
            let pose = Pose::of_world(x, y, 0);
            let sum = |at: i32, by: i32| i64::from(at) + i64::from(by);
            let target = [sum(pose.x(), moved[0]), sum(pose.y(), moved[1])];
            let inside = target.iter().all(|q| q.abs() <= i64::from(POSITION_QUANTA_MAX));
            match pose.apply(PoseChange { moved: Some(moved), heading: None }) {
                Ok(to) => prop_assert_eq!([to.x(), to.y()].map(i64::from), target),
                Err(_) => prop_assert!(!inside),
            }
        }

        #[test]
        fn a_change_leads_from_the_sent_pose_to_the_new_one(
            a: (i32, i32, u16), b: (i32, i32, u16),
        ) {
            let (sent, new) = (Pose::of_world(a.0, a.1, a.2), Pose::of_world(b.0, b.1, b.2));
            let change = new.change_since(sent);
            prop_assert_eq!(sent.apply(change), Ok(new));
            prop_assert_eq!(change.is_empty(), sent == new);
        }
    }
}
