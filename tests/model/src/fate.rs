//! What a broken rule must lead to.
//!
//! A model that finds nothing proves little until it has found something. So each model can break
//! its rules one at a time, and each broken rule states here how that must come to light.

use std::fmt::{self, Debug};

use crate::check::Checkable;

/// One way to break a model on purpose.
pub trait BrokenRule: Copy + Debug + 'static {
    /// The model that it breaks.
    type Bounds: Checkable;
    /// The name of that model.
    const MODEL: &'static str;
    /// Every broken rule of it.
    fn all() -> &'static [Self];
    /// What it must lead to.
    fn fate(self) -> Fate;
    /// The model with this rule broken, in the smallest bounds in which that can show.
    fn bounds(self) -> Self::Bounds;
    /// The same bounds with all rules kept.
    fn unbroken(bounds: Self::Bounds) -> Self::Bounds;
}

/// How a broken rule shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Each of these properties is violated in some reachable state.
    Violates(&'static [&'static str]),
    /// Some reachable state can never settle again.
    GetsStuck,
    /// Something that the unbroken protocol reaches is never reached.
    NeverSees(&'static str),
    /// Nothing is violated and nothing gets stuck: the rule is a precaution that this model, with
    /// a log that survives, does not need.
    Harmless,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Violates(properties) => write!(f, "{}", properties.join(", ")),
            Fate::GetsStuck => write!(f, "gets stuck"),
            Fate::NeverSees(sight) => write!(f, "never {sight}"),
            Fate::Harmless => write!(f, "harmless"),
        }
    }
}

/// Defines an enum of broken rules, each with its fate, and the list of all of them.
macro_rules! mutants {
    ($($(#[$doc:meta])+ $name:ident => $fate:expr,)+) => {
        /// One rule that a run breaks on purpose.
        #[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
        pub enum Mutant {
            /// The protocol as it is.
            None,
            $($(#[$doc])+ $name,)+
        }

        impl Mutant {
            /// Every broken rule.
            pub const ALL: &'static [Mutant] = &[$(Mutant::$name),+];

            /// What it must lead to.
            #[must_use]
            pub fn fate(self) -> Fate {
                match self {
                    Mutant::None => Fate::Harmless,
                    $(Mutant::$name => $fate,)+
                }
            }
        }
    };
}
pub(crate) use mutants;
