//! Runs a model through the checker and says what came out, for tests and for the deep runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries};

use crate::explore::Converges;

/// What a model must be for both explorers.
pub trait Checkable:
    Converges<
        State: Clone + Debug + Hash + Eq + Send + Sync + 'static,
        Action: Clone + Debug + PartialEq + Send + Sync + 'static,
    > + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<M> Checkable for M where
    M: Converges<
            State: Clone + Debug + Hash + Eq + Send + Sync + 'static,
            Action: Clone + Debug + PartialEq + Send + Sync + 'static,
        > + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// Generated states after which the search for a violation gives up.
pub const SEARCH_STATES_MAX: usize = 3_000_000;

/// What a run found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Different states visited.
    pub unique_states: usize,
    /// States generated, doubles included.
    pub generated: usize,
    /// Length of the longest shortest path, in actions plus one.
    pub depth: usize,
    /// Wall time, for the report only.
    pub elapsed: Duration,
    /// Properties that were violated, with a trace each.
    pub violations: BTreeMap<&'static str, String>,
    /// What was to be seen and was seen.
    pub seen: BTreeSet<&'static str>,
    /// What was to be seen and was not.
    pub unseen: BTreeSet<&'static str>,
    /// Every reachable state within the bounds was visited.
    pub complete: bool,
}

/// How far a run goes.
#[derive(Clone, Debug)]
pub enum Until {
    /// Every reachable state.
    Exhausted,
    /// Every reachable state, or this many generated ones.
    Generated(usize),
    /// The named property is violated, or [`SEARCH_STATES_MAX`] states are generated.
    Violated(&'static str),
}

/// Checks the properties of `model`.
pub fn check<M: Checkable>(model: M, threads: usize, until: Until) -> Outcome {
    let begin = Instant::now();
    let mut seen_wanted: BTreeSet<&'static str> = BTreeSet::new();
    for property in model.properties() {
        if property.expectation == Expectation::Sometimes {
            seen_wanted.insert(property.name);
        }
    }
    let mut builder = model.checker().threads(threads);
    let mut bound = usize::MAX;
    match until {
        Until::Exhausted => {}
        Until::Generated(states) => {
            bound = states;
            builder = builder.target_state_count(states);
        }
        Until::Violated(name) => {
            bound = SEARCH_STATES_MAX;
            builder = builder
                .target_state_count(bound)
                .finish_when(HasDiscoveries::AnyOf(BTreeSet::from([name])));
        }
    }
    let checker = builder.spawn_bfs().join();
    let (mut violations, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for (name, path) in checker.discoveries() {
        if seen_wanted.contains(name) {
            seen.insert(name);
        } else {
            violations.insert(name, format!("{:#?}", path.into_actions()));
        }
    }
    let stopped_early = matches!(until, Until::Violated(name) if violations.contains_key(name));
    Outcome {
        unique_states: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth(),
        elapsed: begin.elapsed(),
        unseen: seen_wanted.difference(&seen).copied().collect(),
        violations,
        seen,
        complete: !stopped_early && checker.state_count() < bound,
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let complete = if self.complete { "complete" } else { "cut" };
        write!(
            f,
            "{} | {} | {complete}, depth {} | {:.1} s | ",
            self.unique_states,
            self.generated,
            self.depth,
            self.elapsed.as_secs_f64()
        )?;
        if self.violations.is_empty() {
            write!(f, "0")
        } else {
            write!(f, "{}", self.violations.keys().copied().collect::<Vec<_>>().join(", "))
        }
    }
}
