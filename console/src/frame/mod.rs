//! What a browser is told. Whatever may exceed 2^53 (ids, incarnations, digests, sessions) is a
//! text; ticks, epochs, sequence and bundle numbers are numbers.

mod cluster;
mod event;
mod fields;

pub use cluster::{
    Budget, Cell, ClusterFrame, Colours, Hello, LinkState, Process, ProcessState, Space,
    StoreState, VerdictState, kind_name, space_of,
};
pub(crate) use event::HISTORY;
pub use event::{BadEventName, EventJson, EventName, Item, Recorded, anomaly, moment_name};

use serde::Serialize;

/// Whether a cluster runs, or is looked at afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It runs.
    Live,
    /// A folder of journals.
    Recorded,
}

/// A real: id, kind, x and y in millimetres, epoch.
pub type RealDot = (String, String, i32, i32, u64);
/// A ghost: the same, with the process that owns its real, and the tick of the state that it shows.
pub type GhostDot = (String, String, i32, i32, u64, String, u64);

/// The entities of one space as one cellapp has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct World {
    /// Always `world`.
    pub t: &'static str,
    /// The cellapp.
    pub process: String,
    /// Its life.
    pub incarnation: String,
    /// Its tick.
    pub tick: u64,
    /// How old this is where it is sent.
    pub age_ms: u64,
    /// The space.
    pub space: u32,
    /// Entities that it owns.
    pub reals: Vec<RealDot>,
    /// Mirrors of others.
    pub ghosts: Vec<GhostDot>,
}

/// Newest facts of all processes.
#[derive(Clone, Debug, Serialize)]
pub struct EventsFrame<'a> {
    /// Always `events`.
    pub t: &'static str,
    /// In the order in which they came.
    pub events: &'a [EventJson],
    /// How many facts of every tick were left out: steps, acceptances, ghosts. They are there when
    /// the kind or an entity is asked for.
    pub left_out: u64,
}

/// What a subscriber missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapFrame {
    /// Always `gap`.
    pub t: &'static str,
    /// Whose facts.
    pub process: String,
    /// The first tick that is not whole.
    pub from: u64,
    /// The last one.
    pub to: u64,
    /// How many facts or, where nobody counted them, 0.
    pub lost: u64,
}

/// Everything as one text.
#[must_use]
pub fn to_text<T: Serialize>(frame: &T) -> String {
    serde_json::to_string(frame).expect("texts and numbers always encode")
}
