//! The history of an entity as the models see it: the events that were applied, in order.
//!
//! One lineage stands for everything that a step carries: the durable fields, the answers and the
//! dedup table. Two states are equal exactly if their lineages are, so a digest needs no model of
//! its own, and "extends" is "has as a prefix".

use std::fmt;

/// Events that one lineage can hold. The models never apply more; a push past it panics.
pub const LINEAGE_EVENTS_MAX: u8 = 8;

const EVENT_BITS: u32 = 4;
const EVENT_MASK: u32 = 0xf;
const EXPIRED: u32 = 4;
const TIMER: u32 = 8;

/// Something that an owner did to its entity.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Command `n` of the one session was applied (n < 4).
    Applied(u8),
    /// The owner decided that the deadline of command `n` had passed (n < 4).
    Expired(u8),
    /// The one timer of the entity went off.
    Timer,
}

impl Event {
    /// The command that this event answers, if it answers one.
    #[must_use]
    pub fn command(self) -> Option<u8> {
        match self {
            Event::Applied(n) | Event::Expired(n) => Some(n),
            Event::Timer => None,
        }
    }

    fn code(self) -> u32 {
        1 + match self {
            Event::Applied(n) => u32::from(n),
            Event::Expired(n) => EXPIRED + u32::from(n),
            Event::Timer => TIMER,
        }
    }

    fn from_code(code: u32) -> Event {
        match code - 1 {
            TIMER => Event::Timer,
            n if n >= EXPIRED => Event::Expired((n - EXPIRED) as u8),
            n => Event::Applied(n as u8),
        }
    }
}

/// Up to [`LINEAGE_EVENTS_MAX`] events in one word, so that a state stays small and cheap to hash.
#[derive(Clone, Copy, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lineage(u32);

impl Lineage {
    /// Number of events; also the sequence number of the step that would carry this lineage.
    #[must_use]
    pub fn len(self) -> u8 {
        (u32::BITS - self.0.leading_zeros()).div_ceil(EVENT_BITS) as u8
    }

    /// True if nothing was applied yet.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The lineage with one more event.
    ///
    /// # Panics
    /// If it is full: the bounds of a model are then wrong.
    #[must_use]
    pub fn with(self, event: Event) -> Lineage {
        assert!(self.len() < LINEAGE_EVENTS_MAX, "the model's bounds allow too many events");
        Lineage(self.0 | event.code() << (EVENT_BITS * u32::from(self.len())))
    }

    /// The events, oldest first.
    pub fn events(self) -> impl Iterator<Item = Event> {
        (0..u32::from(self.len()))
            .map(move |i| Event::from_code(self.0 >> (EVENT_BITS * i) & EVENT_MASK))
    }

    /// True if `later` is this lineage with zero or more events behind it.
    #[must_use]
    pub fn is_prefix_of(self, later: Lineage) -> bool {
        let bits = EVENT_BITS * u32::from(self.len());
        later.0 & 1u32.checked_shl(bits).map_or(u32::MAX, |bit| bit - 1) == self.0
    }

    /// The commands answered in it, as a set of bits, leaving out the first `skip` events.
    #[must_use]
    pub fn commands_after(self, skip: u8) -> u8 {
        self.events()
            .skip(usize::from(skip))
            .filter_map(Event::command)
            .fold(0, |set, n| set | 1 << n)
    }

    /// True if no command and no timer occurs twice.
    #[must_use]
    pub fn applies_each_once(self) -> bool {
        let (mut commands, mut timers) = (0u8, 0u8);
        self.events().all(|event| match event.command() {
            Some(n) => {
                let first = commands & 1 << n == 0;
                commands |= 1 << n;
                first
            }
            None => {
                timers += 1;
                timers == 1
            }
        })
    }

    /// True if the commands occur in the order in which the session sent them.
    #[must_use]
    pub fn keeps_command_order(self) -> bool {
        let mut next = 0;
        self.events().filter_map(Event::command).all(|n| {
            let in_order = n >= next;
            next = n + 1;
            in_order
        })
    }
}

impl fmt::Debug for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.events()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(events: &[Event]) -> Lineage {
        events.iter().fold(Lineage::default(), |lineage, event| lineage.with(*event))
    }

    #[test]
    fn events_come_back_in_the_order_they_went_in() {
        let events = [Event::Timer, Event::Applied(0), Event::Expired(3), Event::Applied(3)];
        assert_eq!(of(&events).events().collect::<Vec<_>>(), events);
        assert_eq!(of(&events).len(), 4);
        assert_eq!(of(&events).commands_after(0), 0b1001);
        assert_eq!(of(&events).commands_after(2), 0b1000);
    }

    #[test]
    fn a_lineage_is_a_prefix_of_itself_and_of_what_extends_it_only() {
        let (short, long) = (of(&[Event::Applied(0)]), of(&[Event::Applied(0), Event::Timer]));
        let other = of(&[Event::Timer, Event::Applied(0)]);
        assert!(Lineage::default().is_prefix_of(short) && short.is_prefix_of(short));
        assert!(short.is_prefix_of(long) && !long.is_prefix_of(short));
        assert!(!short.is_prefix_of(other));
        let full = of(&[Event::Timer; 8]);
        assert!(full.is_prefix_of(full) && !of(&[Event::Applied(1); 8]).is_prefix_of(full));
    }

    #[test]
    fn doubled_and_swapped_commands_are_noticed() {
        let doubled = of(&[Event::Applied(0), Event::Expired(0)]);
        let swapped = of(&[Event::Applied(1), Event::Applied(0)]);
        let fine = of(&[Event::Applied(0), Event::Timer, Event::Applied(2)]);
        assert!(!doubled.applies_each_once() && swapped.applies_each_once());
        assert!(!swapped.keeps_command_order() && !doubled.keeps_command_order());
        assert!(fine.applies_each_once() && fine.keeps_command_order());
        assert!(!of(&[Event::Timer, Event::Timer]).applies_each_once());
    }
}
