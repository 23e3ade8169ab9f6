//! What an audit is told that journals do not say.

use marchland_common::order::{Node, Tick};
use std::collections::BTreeSet;

/// What is known about a run beside its journals, and the bounds that were promised in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOptions {
    /// Lives that were killed on purpose: their journals end without a mark, and what they held is
    /// gone.
    pub killed: BTreeSet<Node>,
    /// Invariants, by name, that this run cannot show; an unknown name is a reason to be
    /// incomplete. They are checked all the same.
    pub out_of_scope: BTreeSet<String>,
    /// How many ticks an owner may run beyond what its base has made durable.
    pub window: u64,
    /// In how many ticks everything that is in motion comes to rest.
    pub settle: u64,
    /// Within how many ticks an entity that strayed is handed over.
    pub hand_over_within: u64,
    /// Within how many ticks a command or a message is answered.
    pub answer_within: u64,
    /// Within how many ticks the entities of a killed life are owned again; none when a run does
    /// not promise that.
    pub recover_within: Option<u64>,
    /// Take the census at the end of this tick instead of at the end of the journals: a cluster
    /// that shuts down hands its entities around until the last cell is gone.
    pub census_at: Option<Tick>,
    /// Most violations that are told in words for each invariant; all are counted.
    pub told_max: usize,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            killed: BTreeSet::new(),
            out_of_scope: BTreeSet::new(),
            window: 4,
            settle: 100,
            hand_over_within: 20,
            answer_within: 400,
            recover_within: None,
            census_at: None,
            told_max: 5,
        }
    }
}

impl AuditOptions {
    /// The invariants that speak of clients and what they see.
    pub const CLIENTS: [&'static str; 5] =
        ["command-once", "same-answer", "view-never-back", "aoi-balance", "terminal"];
    /// Those that speak of ghosts.
    pub const GHOSTS: [&'static str; 3] = ["ghost-not-ahead", "ghost-grows", "ghost-equals"];
    /// Those that speak of messages between entities and of the value in them.
    pub const VALUE: [&'static str; 4] =
        ["message-once", "value-conserved", "debit-before-credit", "value-only-by-message"];
    /// Those that speak of timers.
    pub const TIMERS: [&'static str; 1] = ["timer-once"];
    /// Those that need an entity to cross a border or to be handed over.
    pub const HANDOFFS: [&'static str; 2] = ["handed-over-in-time", "tick-not-doubled"];

    /// Those that compare journals with what is on the bases' disks.
    pub const LOGS: [&'static str; 3] = ["log-is-whole", "log-as-told", "image-is-lineage"];

    /// Declares invariants out of scope.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        self.out_of_scope.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }
}
