//! The classes of faults, and how a seed draws them.

use marchland_common::rng::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// A class of faults: on or off in a seed, and often or seldom.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Class {
            $($(#[$doc])* $class,)*
        }

        impl Class {
            /// All, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// The word for it on the command line and in figures.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Delays that differ per message and link, up to several ticks: reorder across streams.
    Delays = "delays",
    /// Connections that break and come back: loss, then duplicates.
    Cuts = "cuts",
    /// Processes that stand still for a while and catch up or drop ticks.
    Stalls = "stalls",
    /// Disks that take up to two seconds.
    Disks = "disks",
    /// Disks that take nothing for a while.
    Full = "disk-full",
    /// Cells that change their owner while everybody learns it at another time.
    Layouts = "layouts",
    /// Clients that lose their stream and come back.
    Clients = "clients",
    /// A cellapp is killed; some come back under their name.
    CrashCell = "crash-cell",
    /// A baseapp is killed and comes back with its disk.
    CrashBase = "crash-base",
    /// A cellapp and a baseapp are killed at once.
    CrashBoth = "crash-both",
    /// Everything is killed at once and comes back.
    Blackout = "blackout",
    /// A cellapp stands still for longer than its lease and goes on.
    Zombie = "zombie",
    /// A baseapp stands still for longer than its lease and goes on.
    PausedBase = "paused-base",
    /// A life that is well is declared dead.
    FalseVerdict = "false-verdict",
    /// Two processes cannot reach each other.
    Partition = "partition",
    /// One process reaches another no more, but is reached by it.
    OneWay = "one-way",
    /// One process is cut off from everybody, the store included.
    Isolate = "isolate",
    /// Some processes are cut off one after the other and come back in another order.
    Swizzle = "swizzle",
    /// Grants to a life that ended come to the next one of its name.
    Misdelivered = "misdelivered",
    /// Clocks that run up to one percent apart.
    Clocks = "clocks",
    /// Watches that lose events until the next full list.
    LostEvents = "lost-events",
    /// Watches that tell late, twice, and of the past.
    OldEvents = "old-events",
    /// Watches that the store ends.
    Cancelled = "cancelled",
    /// Watches whose place in the history is gone.
    Compacted = "compacted",
    /// All leases are gone at once.
    LeaseDeath = "lease-death",
    /// The store answers nobody for a while.
    StoreAway = "store-away",
    /// Nobody leads for a while.
    NoManager = "no-manager",
    /// The processes dawdle where they may.
    Dawdle = "dawdle",
    /// Slots move between baseapps: some by order, all of one that drains; the one that gives, the
    /// one that takes, or both may be killed meanwhile.
    SlotMoves = "slot-moves",
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no class of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no class of faults; there are all, none, {names}", names = names())]
pub struct NoSuchClass(String);

fn names() -> String {
    Class::ALL.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Class {
    type Err = NoSuchClass;

    fn from_str(word: &str) -> Result<Self, NoSuchClass> {
        let class = Self::ALL.iter().find(|class| class.name() == word);
        class.copied().ok_or_else(|| NoSuchClass(word.to_owned()))
    }
}

/// Which classes happen in a run, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults([u8; Class::ALL.len()]);

/// The largest rate.
const RATE_MAX: u64 = 3;

impl Faults {
    /// None.
    pub const NONE: Self = Self([0; Class::ALL.len()]);

    /// These classes, seldom.
    #[must_use]
    pub fn of(classes: &[Class]) -> Self {
        classes.iter().fold(Self::NONE, |faults, class| faults.with(*class, 1))
    }

    /// Draws a mix and its rates; never none. The lighter a class, the likelier it is.
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Self {
        let mut faults = Self::NONE;
        while faults == Self::NONE {
            for class in Class::ALL {
                let one_in = if class.takes_processes() { 5 } else { 3 };
                let rate = 1 + rng.below(RATE_MAX) as u8;
                faults = faults.with(*class, if rng.chance(1, one_in) { rate } else { 0 });
            }
        }
        faults
    }

    /// The same with a class at another rate; 0 is off.
    #[must_use]
    pub fn with(mut self, class: Class, rate: u8) -> Self {
        self.0[class as usize] = rate;
        self
    }

    /// How often; 0 is off.
    #[must_use]
    pub const fn rate(&self, class: Class) -> u8 {
        self.0[class as usize]
    }

    /// Whether a class happens.
    #[must_use]
    pub const fn has(&self, class: Class) -> bool {
        self.rate(class) > 0
    }

    /// The classes that happen.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        let faults = *self;
        Class::ALL.iter().copied().filter(move |class| faults.has(*class))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.classes().map(Class::name).collect();
        f.write_str(if names.is_empty() { "none".to_owned() } else { names.join(",") }.as_str())
    }
}

impl Class {
    /// Whether it takes processes away, so that not everything goes on meanwhile.
    const fn takes_processes(self) -> bool {
        matches!(
            self,
            Self::CrashCell
                | Self::CrashBase
                | Self::CrashBoth
                | Self::Blackout
                | Self::Zombie
                | Self::PausedBase
                | Self::FalseVerdict
                | Self::Isolate
                | Self::Swizzle
                | Self::StoreAway
                | Self::Full
        )
    }
}
