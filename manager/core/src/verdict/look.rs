//! What a judge is shown.

use marchland_common::cluster::Member;
use marchland_common::order::{Incarnation, Node};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the manager itself got when it asked one life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// When this very life answered last.
    pub heard_ms: Option<u64>,
    /// When the attempts since then failed that found nobody: refused, unreachable, name gone.
    /// Oldest first, in a row: an attempt that merely got no answer empties it. A handful of the
    /// newest is enough.
    pub refused_ms: Vec<u64>,
}

/// What one process says of its links with one life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// When it heard that life last, on the manager's clock; if in doubt, later.
    pub heard_ms: u64,
    /// Whether a stream between them stands, in either direction. Keep-alives end it when the
    /// other side does not answer.
    pub stands: bool,
    /// Whether the streams ended and attempt after attempt found nobody.
    pub absent: bool,
}

/// What one process reported of all its peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When it was made, on the manager's clock; if in doubt, earlier.
    pub at_ms: u64,
    /// By life. Lives that the reporter has no links with are missing.
    pub sights: BTreeMap<Node, Sight>,
}

/// Everything that a judge looks at, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Now. Never goes back.
    pub now_ms: u64,
    /// Registered cellapps and baseapps.
    pub members: Vec<Member>,
    /// Further lives that may be lost: those that own cells, and those that were once registered.
    pub known: BTreeSet<Node>,
    /// Lives that have a tombstone.
    pub dead: BTreeSet<Incarnation>,
    /// What the manager got from each life that it asked.
    pub asked: BTreeMap<Node, Asked>,
    /// The newest report of each life that makes any.
    pub reports: BTreeMap<Node, Report>,
    /// When the store last answered the manager.
    pub store_answered_ms: u64,
}
