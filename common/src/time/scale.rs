//! A rational time scale on integer nanoseconds. What does not make a whole nanosecond is carried,
//! so that 1/16 of 1,600 s is 100 s to the nanosecond however the 1,600 s are cut into frames.

use super::policy::ClockConfigError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest numerator and denominator of a scale.
pub const SCALE_PART_MAX: u32 = 1_000_000;
/// Largest speed-up. A faster world is a mistake of units, not a wish.
pub const SCALE_FACTOR_MAX: u32 = 1_000;
/// Largest common denominator that carries a remainder over a change of scale: with it
/// `elapsed * num * factor` stays below 2^124.
const CARRY_DEN_MAX: u128 = 1 << 40;

/// How fast scaled time runs against the monotonic clock: `num / den`, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u32, u32)", into = "(u32, u32)")]
pub struct Scale {
    num: u32,
    den: u32,
}

impl Scale {
    /// Real time.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// The scale `num / den`.
    ///
    /// # Errors
    /// Refused when either part is 0 or over [`SCALE_PART_MAX`], or the quotient is over
    /// [`SCALE_FACTOR_MAX`]. A scale of 0 is a pause; ask the clock for one.
    pub fn new(num: u32, den: u32) -> Result<Self, ClockConfigError> {
        let parts = 1..=SCALE_PART_MAX;
        let fast = u64::from(num) > u64::from(den) * u64::from(SCALE_FACTOR_MAX);
        if !parts.contains(&num) || !parts.contains(&den) || fast {
            return Err(ClockConfigError::Scale { num, den });
        }
        let common = gcd(u64::from(num), u64::from(den)) as u32;
        Ok(Self { num: num / common, den: den / common })
    }

    /// The numerator, in lowest terms.
    #[must_use]
    pub const fn num(self) -> u32 {
        self.num
    }

    /// The denominator, in lowest terms.
    #[must_use]
    pub const fn den(self) -> u32 {
        self.den
    }
}

impl TryFrom<(u32, u32)> for Scale {
    type Error = ClockConfigError;
    fn try_from((num, den): (u32, u32)) -> Result<Self, ClockConfigError> {
        Self::new(num, den)
    }
}

impl From<Scale> for (u32, u32) {
    fn from(scale: Scale) -> Self {
        (scale.num, scale.den)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

/// A scale with the part of a nanosecond that it still owes: `owed / den`, below 1, where `den` is
/// a multiple of the scale's denominator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scaler {
    scale: Scale,
    owed: u64,
    den: u64,
}

impl Scaler {
    pub(super) fn new(scale: Scale) -> Self {
        Self { scale, owed: 0, den: u64::from(scale.den) }
    }

    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// What decoded bytes may have broken: the bounds under which the arithmetic cannot overflow.
    pub(super) fn is_sound(&self) -> bool {
        let bounds = self.den > 0 && u128::from(self.den) <= CARRY_DEN_MAX;
        bounds && self.den.is_multiple_of(u64::from(self.scale.den)) && self.owed < self.den
    }

    /// Whole scaled nanoseconds for `elapsed_ns`, with what was owed before.
    pub(super) fn apply(&mut self, elapsed_ns: u64) -> u128 {
        let factor = u128::from(self.den / u64::from(self.scale.den));
        let parts =
            u128::from(elapsed_ns) * u128::from(self.scale.num) * factor + u128::from(self.owed);
        let den = u128::from(self.den);
        self.owed = (parts % den) as u64;
        parts / den
    }

    /// Changes the scale and keeps what is owed. False when the fraction could not be kept exactly
    /// because the common denominator grew out of bounds: then less than `1 / scale.den` of a
    /// nanosecond was rounded away.
    pub(super) fn set(&mut self, scale: Scale) -> bool {
        let common = gcd(self.owed, self.den);
        let (owed, den) = (u128::from(self.owed / common), u128::from(self.den / common));
        let new = u128::from(scale.den);
        let both = den / u128::from(gcd(den as u64, u64::from(scale.den))) * new;
        let exact = both <= CARRY_DEN_MAX;
        let kept = if exact { both } else { new };
        *self = Self { scale, owed: (owed * kept / den) as u64, den: kept as u64 };
        exact
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sixteenth_of_1600_seconds_is_100_seconds_however_it_is_cut() {
        for frame_ns in [1_000_000_000, 16_000_000, 16_666_700, 7] {
            let mut scaler = Scaler::new(Scale::new(2, 32).unwrap());
            let whole = if frame_ns == 7 { 1_600 } else { 1_600_000_000_000 };
            let mut sum = 0;
            for _ in 0..whole / frame_ns {
                sum += scaler.apply(frame_ns);
            }
            sum += scaler.apply(whole % frame_ns);
            assert_eq!(sum, u128::from(whole) / 16, "frames of {frame_ns} ns");
        }
    }

    #[test]
    fn zero_parts_and_absurd_speeds_are_refused() {
        for (num, den) in [(0, 1), (1, 0), (1_001, 1), (1_000_001, 1_000), (1, 1_000_001)] {
            assert_eq!(Scale::new(num, den), Err(ClockConfigError::Scale { num, den }));
        }
        assert!(postcard::from_bytes::<Scale>(&[0, 1]).is_err(), "a decoded scale is checked too");
    }

    #[test]
    fn a_fraction_that_cannot_be_carried_is_reported_and_loses_less_than_a_nanosecond() {
        let mut scaler = Scaler::new(Scale::new(999_983, 999_979).unwrap());
        assert_eq!(scaler.apply(1), 1);
        assert!(scaler.set(Scale::new(1, 999_961).unwrap()));
        assert_eq!(scaler.apply(3), 0);
        assert!(!scaler.set(Scale::new(1, 999_959).unwrap()));
        assert_eq!(scaler.apply(0), 0);
    }

    proptest! {
        #[test]
        fn changing_the_scale_carries_the_fraction_exactly(
            spans in proptest::collection::vec((1u32..200, 1u32..20, 0u64..1_000_000), 1..40),
        ) {
            // Every denominator below 20 divides this, so the sum can be checked without fractions.
            const ALL: u128 = 232_792_560;
            let mut scaler = Scaler::new(Scale::ONE);
            let (mut whole, mut expected) = (0u128, 0u128);
            for (num, den, elapsed) in spans {
                prop_assert!(scaler.set(Scale::new(num, den).unwrap()));
                whole += scaler.apply(elapsed);
                expected += u128::from(elapsed) * u128::from(num) * (ALL / u128::from(den));
                prop_assert_eq!(whole, expected / ALL);
            }
        }
    }
}
