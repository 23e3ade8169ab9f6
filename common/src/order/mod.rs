//! Identity and order: who an entity, a process or an owner is, and what came before what.
//!
//! Everything that has an effect carries an incarnation, an owner epoch and a sequence; the types
//! here make mixing them up a compile error.
//!
//! What restores an order and what refuses a repetition live here too: [`ReorderWindow`] and, on
//! top of it, [`SignalWindow`]; [`CommandDedup`] and [`InboxMarks`], which travel with an entity.
//! Each of them is bounded, and says so when its bound is hit.

mod checked;
mod dedup;
mod ids;
mod inbox;
mod reorder;
mod signal;

pub(crate) use checked::checked_serde;
pub use dedup::{
    Attached, COMMAND_ANSWERS_MAX, CommandDedup, CommandVerdict, RecordRefused, SESSIONS_MAX,
    SessionRow,
};
pub use ids::*;
pub use inbox::{
    INBOX_ANSWERS_MAX, INBOX_SOURCES_MAX, InboxMark, InboxMarks, InboxRefused, InboxVerdict,
    Settled,
};
pub use reorder::{Accepted, ReorderLimits, ReorderWindow, Skip, SkipReason, Verdict, WhenFull};
pub use signal::{
    SIGNAL_FIRST_N, SIGNAL_HELD_MAX, SIGNAL_HELD_TICKS, SIGNAL_SOURCES_MAX, SignalAccepted,
    SignalCounters, SignalVerdict, SignalWindow, SourceSkip,
};
