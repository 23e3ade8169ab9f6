//! Why the entities of a process stand still. Several reasons may stand at once, and the end of
//! one must not end another: the core is frozen while there is any.

use super::health::HealthBoard;
use std::collections::BTreeSet;

/// A reason to stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Too many ticks wait for their record in the journal.
    Journal,
    /// The write-ahead log takes no more records at present.
    Log,
    /// After a long pause the store was not heard yet.
    Pause,
}

impl Hold {
    /// What a process that is not ready says of it.
    const fn reason(self) -> &'static str {
        match self {
            Self::Journal => "the journal is behind",
            Self::Log => "the log takes no more records",
            Self::Pause => "the registration is looked at after a pause",
        }
    }
}

/// What the core is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldNews {
    /// No entity is stepped from now on.
    Freeze,
    /// They run again.
    Thaw,
}

/// The reasons that stand.
#[derive(Debug)]
pub struct Holds {
    standing: BTreeSet<Hold>,
    frozen: bool,
    health: HealthBoard,
}

impl Holds {
    /// None. What stands is also shown on the board.
    #[must_use]
    pub const fn new(health: HealthBoard) -> Self {
        Self { standing: BTreeSet::new(), frozen: false, health }
    }

    /// A reason stands, or does not any more. True when that is new.
    pub fn set(&mut self, why: Hold, stands: bool) -> bool {
        let news = match stands {
            true => self.standing.insert(why),
            false => self.standing.remove(&why),
        };
        if news {
            self.health.set(why.reason(), stands);
        }
        news
    }

    /// Whether a reason stands.
    #[must_use]
    pub fn stands(&self, why: Hold) -> bool {
        self.standing.contains(&why)
    }

    /// What the core was not told yet.
    pub fn news(&mut self) -> Option<HoldNews> {
        let frozen = !self.standing.is_empty();
        if frozen == self.frozen {
            return None;
        }
        self.frozen = frozen;
        Some(if frozen { HoldNews::Freeze } else { HoldNews::Thaw })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_thaws_when_the_last_reason_ends_and_is_told_each_change_once() {
        let board = HealthBoard::default();
        let mut holds = Holds::new(board.clone());
        assert_eq!(holds.news(), None);
        assert!(holds.set(Hold::Journal, true) && !holds.set(Hold::Journal, true));
        assert_eq!(holds.news(), Some(HoldNews::Freeze));
        holds.set(Hold::Log, true);
        assert!(holds.set(Hold::Journal, false));
        assert_eq!(holds.news(), None, "the log still holds it");
        assert_eq!(board.report().reasons, ["the log takes no more records"]);
        holds.set(Hold::Log, false);
        assert_eq!((holds.news(), holds.news()), (Some(HoldNews::Thaw), None));
        assert!(board.report().reasons.is_empty());
    }

    #[test]
    fn what_begins_and_ends_between_two_ticks_is_no_news() {
        let mut holds = Holds::new(HealthBoard::default());
        holds.set(Hold::Log, true);
        holds.set(Hold::Log, false);
        assert_eq!(holds.news(), None);
    }
}
