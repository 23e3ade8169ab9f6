//! The kinds of events, by name.

use marchland_common::journal::Event;

macro_rules! kinds {
    ($($variant:ident => $name:literal,)*) => {
        /// The kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum Kind {
            $($variant,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The kind of this event.
            #[must_use]
            pub const fn of(event: &Event) -> Self {
                match event {
                    $(Event::$variant { .. } => Self::$variant,)*
                }
            }

            /// Its name as the event's own type has it.
            #[must_use]
            pub const fn variant(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                }
            }

            /// Its name in text and JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    Activated => "activated",
    Frozen => "frozen",
    Unfrozen => "unfrozen",
    Deactivated => "deactivated",
    Stepped => "stepped",
    Strayed => "strayed",
    Returned => "returned",
    WindowClosed => "window_closed",
    WindowOpened => "window_opened",
    TimerFired => "timer_fired",
    TimerLate => "timer_late",
    CommandRun => "command_run",
    MessageRun => "message_run",
    SignalRun => "signal_run",
    SignalSkipped => "signal_skipped",
    GhostFlushed => "ghost_flushed",
    GhostApplied => "ghost_applied",
    GhostEnded => "ghost_ended",
    Entered => "entered",
    Left => "left",
    ViewRestarted => "view_restarted",
    Recovered => "recovered",
    Created => "created",
    Accepted => "accepted",
    OwnerChanged => "owner_changed",
    FirstStep => "first_step",
    HandoffRefused => "handoff_refused",
    FencedSent => "fenced_sent",
    CommandQueued => "command_queued",
    CommandConfirmed => "command_confirmed",
    CommandAnswered => "command_answered",
    MessageReleased => "message_released",
    MessageTaken => "message_taken",
    MessageClosed => "message_closed",
    Burned => "burned",
    Destroyed => "destroyed",
    SessionOpened => "session_opened",
    SessionClosed => "session_closed",
    OrderEnded => "order_ended",
    Durable => "durable",
    ClientSent => "client_sent",
    ClientAnswered => "client_answered",
    ClientSaw => "client_saw",
    ClientWelcome => "client_welcome",
    TicksDropped => "ticks_dropped",
    Refusal => "refusal",
    SlotTaken => "slot_taken",
    SlotFrozen => "slot_frozen",
    SlotGiven => "slot_given",
    SlotKept => "slot_kept",
    SlotFollowed => "slot_followed",
    LinkBegan => "link_began",
    LinkEnded => "link_ended",
    Listed => "listed",
    SlotAdopted => "slot_adopted",
    CommandSent => "command_sent",
    CommandHeld => "command_held",
    CommandDropped => "command_dropped",
    MessageSent => "message_sent",
    MessageHeld => "message_held",
    MessageDropped => "message_dropped",
    SignalSent => "signal_sent",
    SignalForwarded => "signal_forwarded",
    SignalHeld => "signal_held",
}
