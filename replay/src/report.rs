//! What came of a replay.

use crate::tree::Field;
use marchland_common::msg::Moment;
use marchland_common::order::{Node, Tick};
use serde::{Serialize, Serializer};
use std::fmt;

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Everything was compared, and all of it is equal.
    Equal,
    /// Something differs.
    Differs,
    /// What was compared is equal, but not everything could be.
    Incomplete,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "equal",
            Self::Differs => "differs",
            Self::Incomplete => "incomplete",
        })
    }
}

/// Where a life first did something else than its journal says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The tick.
    pub tick: Tick,
    /// Where in it.
    pub moment: Moment,
    /// Which output moment of the journal.
    pub record: usize,
    /// What differs, the first of it.
    pub fields: Vec<Field>,
    /// In how many places it differs altogether.
    pub count: usize,
}

/// The replay of one life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LifeReplay {
    /// Which.
    #[serde(serialize_with = "as_text")]
    pub node: Node,
    /// How it ended.
    pub verdict: Outcome,
    /// Whether there is a core to replay: clients and managers have none.
    pub has_core: bool,
    /// The first and the last tick that were compared.
    pub span: Option<(Tick, Tick)>,
    /// Ticks that were compared.
    pub ticks: u64,
    /// Output moments that were compared.
    pub moments: u64,
    /// Whole cores that were compared, where a segment begins.
    pub cores: u64,
    /// The length of a tick in microseconds.
    pub step_us: u64,
    /// One number for all digests that the replay gave, in their order.
    pub trace: u64,
    /// Where it first differs.
    pub difference: Option<Difference>,
    /// What could not be compared, for people.
    pub unchecked: Vec<String>,
}

impl LifeReplay {
    pub(crate) const fn new(node: Node) -> Self {
        Self {
            node,
            verdict: Outcome::Equal,
            has_core: true,
            span: None,
            ticks: 0,
            moments: 0,
            cores: 0,
            step_us: 0,
            trace: 0,
            difference: None,
            unchecked: Vec::new(),
        }
    }

    pub(crate) fn without_core(node: Node) -> Self {
        Self { has_core: false, ..Self::new(node) }
    }

    /// Counts an output moment that is equal.
    pub(crate) fn add(&mut self, tick: Tick, digest: u64) {
        let (first, last) = self.span.unwrap_or((tick, tick));
        self.ticks += u64::from(self.moments == 0 || last != tick);
        self.span = Some((first, tick));
        self.moments += 1;
        self.trace = self.trace.rotate_left(5) ^ digest;
    }

    pub(crate) fn judged(mut self) -> Self {
        self.verdict = match (&self.difference, self.unchecked.is_empty()) {
            (Some(_), _) => Outcome::Differs,
            (None, false) => Outcome::Incomplete,
            (None, true) => Outcome::Equal,
        };
        self
    }
}

/// The replay of all lives that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// How it ended.
    pub verdict: Outcome,
    /// By life.
    pub lives: Vec<LifeReplay>,
    /// Ticks that were compared, over all lives.
    pub ticks: u64,
    /// Output moments that were compared.
    pub moments: u64,
    /// From the first to the last tick that was compared, in microseconds.
    pub real_us: u64,
    /// What could not be compared and belongs to no life, for people.
    pub unchecked: Vec<String>,
}

impl Replayed {
    pub(crate) fn of(lives: Vec<LifeReplay>, mut unchecked: Vec<String>) -> Self {
        let moments = lives.iter().map(|life| life.moments).sum();
        let is_any = |outcome| lives.iter().any(|life| life.verdict == outcome);
        if moments == 0 && !is_any(Outcome::Differs) {
            unchecked.push("nothing was compared".to_owned());
        }
        let verdict = match () {
            () if is_any(Outcome::Differs) => Outcome::Differs,
            () if is_any(Outcome::Incomplete) || !unchecked.is_empty() => Outcome::Incomplete,
            () => Outcome::Equal,
        };
        let spans = || lives.iter().filter_map(|life| life.span.map(|span| (span, life.step_us)));
        let first = spans().map(|((first, _), _)| first.0).min().unwrap_or(0);
        let last = spans().map(|((_, last), _)| last.0.saturating_add(1)).max().unwrap_or(first);
        let step_us = spans().map(|(_, step_us)| step_us).max().unwrap_or(0);
        let ticks = lives.iter().map(|life| life.ticks).sum();
        let real_us = last.saturating_sub(first).saturating_mul(step_us);
        Self { verdict, lives, ticks, moments, real_us, unchecked }
    }
}

fn as_text<S: Serializer>(node: &Node, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(node)
}
