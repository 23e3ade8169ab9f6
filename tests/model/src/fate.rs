//! What a broken rule must lead to.
//!
//! A model that finds nothing proves little until it has found something. So each model can break
//! its rules one at a time, and each broken rule states here how that must come to light.

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
