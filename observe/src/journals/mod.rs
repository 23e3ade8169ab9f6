//! The journals of a run, one per life of a process, ready to be read record by record.
//!
//! Invariants: the records of a life are in the order in which it wrote them; whatever is missing
//! or broken is said by [`Process::faults`] and never guessed. Records from files stay encoded
//! until they are read, so that a long run needs little more memory than its files take.

mod follow;
mod load;
mod logs;
mod segment;
#[cfg(test)]
mod tests;

pub use follow::Follow;
pub use load::{LoadError, load};
pub use logs::BaseLog;

use bytes::Bytes;
use marchland_common::journal::{JournalHeader, Record, TickRecord, decode_record};
use marchland_common::order::{Node, NodeKind, NodeName};
use segment::Segment;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// All journals of a run, by life.
#[derive(Clone, Debug, Default)]
pub struct Journals {
    processes: Vec<Process>,
    strays: Vec<String>,
    logs: BTreeMap<NodeName, BaseLog>,
}

/// The journal of one life of a process.
#[derive(Clone, Debug)]
pub struct Process {
    node: Node,
    /// The number of its first fact.
    first: u64,
    header: Option<JournalHeader>,
    body: Body,
    gaps: Vec<(u64, u64)>,
    starts: Vec<Start>,
    breaks: Vec<Break>,
    end: Option<String>,
    faults: Vec<String>,
}

/// A place in a journal where the whole core is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The output moment that follows, by its place among the life's records.
    pub before: usize,
    /// The segment that begins here.
    pub segment: u32,
    source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Plain(Bytes),
    Segment(usize),
}

/// A place in a journal where records are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The output moment that follows, by its place among the life's records.
    pub before: usize,
    /// Why, for people.
    pub why: String,
}

#[derive(Clone, Debug)]
enum Body {
    Plain(Vec<TickRecord>),
    Encoded { segments: Vec<Segment>, spans: Vec<(u32, u32)> },
}

impl Journals {
    /// Journals that are in memory already. A life that appears more than once goes on.
    #[must_use]
    pub fn from_records(all: Vec<(Node, Vec<Record>)>) -> Self {
        let mut processes: BTreeMap<Node, Process> = BTreeMap::new();
        for (node, records) in all {
            let process = processes.entry(node).or_insert_with(|| Process::empty(node));
            records.into_iter().for_each(|record| process.push(record));
        }
        Self { processes: processes.into_values().collect(), ..Self::default() }
    }

    /// The same of journals whose beginnings are elsewhere: with each life comes the number of its
    /// first fact here.
    #[must_use]
    pub fn from_windows(all: Vec<(Node, u64, Vec<Record>)>) -> Self {
        let firsts: Vec<(Node, u64)> = all.iter().map(|(node, first, _)| (*node, *first)).collect();
        let records = all.into_iter().map(|(node, _, records)| (node, records)).collect();
        let mut journals = Self::from_records(records);
        for process in &mut journals.processes {
            let first = firsts.iter().find(|(node, _)| *node == process.node);
            process.first = first.map_or(0, |(_, first)| *first);
        }
        journals
    }

    /// For each life the number of its first fact.
    pub(crate) fn first_numbers(&self) -> Vec<u64> {
        self.processes.iter().map(|process| process.first).collect()
    }

    /// All lives, by name and incarnation.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The journal of one life.
    #[must_use]
    pub fn process(&self, node: Node) -> Option<&Process> {
        self.processes.iter().find(|process| process.node == node)
    }

    /// What is wrong with files that could not be given to any life.
    #[must_use]
    pub fn strays(&self) -> &[String] {
        &self.strays
    }

    fn from_segments(segments: Vec<Segment>, strays: Vec<String>) -> Self {
        let mut lives: BTreeMap<Node, Vec<Segment>> = BTreeMap::new();
        for segment in segments {
            lives.entry(segment.node).or_default().push(segment);
        }
        let processes =
            lives.into_iter().map(|(node, segments)| Process::of_segments(node, segments));
        Self { processes: processes.collect(), strays, ..Self::default() }
    }
}

impl Process {
    fn empty(node: Node) -> Self {
        Self {
            node,
            first: 0,
            header: None,
            body: Body::Plain(Vec::new()),
            gaps: Vec::new(),
            starts: Vec::new(),
            breaks: Vec::new(),
            end: None,
            faults: Vec::new(),
        }
    }

    fn push(&mut self, record: Record) {
        match record {
            Record::Header(header) => {
                self.header.get_or_insert(header);
            }
            Record::Snapshot(core) => {
                let (before, source) = (self.len(), Source::Plain(core));
                self.starts.push(Start { before, segment: 0, source });
            }
            Record::Tick(tick) => match &mut self.body {
                Body::Plain(ticks) => ticks.push(tick),
                Body::Encoded { .. } => unreachable!("a process is plain or encoded"),
            },
            Record::Gap { from, to } => {
                self.gaps.push((from.0, to.0));
                let why = format!("ticks {from} to {to} were not kept");
                self.breaks.push(Break { before: self.len(), why });
            }
            Record::End { why } => self.end = Some(why),
        }
    }

    fn of_segments(node: Node, mut segments: Vec<Segment>) -> Self {
        segments.sort_by_key(|segment| segment.number);
        let mut process = Self::empty(node);
        let mut spans = Vec::new();
        let mut expected = 0;
        for (index, segment) in segments.iter().enumerate() {
            let before = spans.len();
            if segment.number != expected {
                let number = segment.number;
                let text = match number < expected {
                    true => format!("segment {number} is there twice"),
                    false => format!("segments {expected} to {} are missing", number - 1),
                };
                process.break_off(before, text);
            }
            let is_cut_off = segment.is_torn && segment.faults.is_empty();
            if is_cut_off && index + 1 < segments.len() {
                let text = format!("segment {} is cut off, and others follow", segment.number);
                process.break_off(before + segment.ticks.len(), text);
            }
            expected = segment.number.saturating_add(1);
            if process.header.is_none() {
                process.header.clone_from(&segment.header);
            }
            process.gaps.extend(segment.gaps.iter().map(|gap| (gap.from, gap.to)));
            let breaks = segment.breaks();
            process.breaks.extend(breaks.map(|(at, why)| Break { before: before + at, why }));
            let (segment_number, source) = (segment.number, Source::Segment(index));
            process.starts.push(Start { before, segment: segment_number, source });
            process.end = segment.end.clone().or(process.end);
            process.faults.extend(segment.faults.iter().cloned());
            spans.extend((0..segment.ticks.len() as u32).map(|at| (index as u32, at)));
        }
        process.breaks.sort_by_key(|hole| hole.before);
        process.body = Body::Encoded { segments, spans };
        process
    }

    /// Whose journal it is.
    #[must_use]
    pub const fn node(&self) -> Node {
        self.node
    }

    /// What it says about itself, if its beginning is there.
    #[must_use]
    pub const fn header(&self) -> Option<&JournalHeader> {
        self.header.as_ref()
    }

    /// The number of its first fact: 0, unless what was before it is elsewhere.
    #[must_use]
    pub const fn first_number(&self) -> u64 {
        self.first
    }

    /// How many output moments it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.body {
            Body::Plain(ticks) => ticks.len(),
            Body::Encoded { spans, .. } => spans.len(),
        }
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One output moment; none if there is no such record or it does not decode.
    #[must_use]
    pub fn record(&self, index: usize) -> Option<Cow<'_, TickRecord>> {
        match &self.body {
            Body::Plain(ticks) => ticks.get(index).map(Cow::Borrowed),
            Body::Encoded { segments, spans } => {
                let (segment, at) = *spans.get(index)?;
                let payload = segments.get(segment as usize)?.tick(at as usize)?;
                match decode_record(payload) {
                    Ok(Record::Tick(tick)) => Some(Cow::Owned(tick)),
                    Ok(_) | Err(_) => None,
                }
            }
        }
    }

    /// The places where the whole core is in it: one for each segment.
    #[must_use]
    pub fn starts(&self) -> &[Start] {
        &self.starts
    }

    /// The core at such a place, encoded; none if it could not be kept or does not decode.
    #[must_use]
    pub fn core_at(&self, start: &Start) -> Option<Bytes> {
        match (&start.source, &self.body) {
            (Source::Plain(core), _) => Some(core.clone()),
            (Source::Segment(at), Body::Encoded { segments, .. }) => segments.get(*at)?.snapshot(),
            (Source::Segment(_), Body::Plain(_)) => None,
        }
    }

    /// The places where records are missing, by rising place.
    #[must_use]
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    fn break_off(&mut self, before: usize, why: String) {
        self.faults.push(why.clone());
        self.breaks.push(Break { before, why });
    }

    /// Spans of ticks, both ends included, that it says it could not keep.
    #[must_use]
    pub fn gaps(&self) -> &[(u64, u64)] {
        &self.gaps
    }

    /// Why the process ended, if it ended in order.
    #[must_use]
    pub fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    /// What is broken or missing in its files, for people. A torn end is none: what was not
    /// written whole had no effect outside the process.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Whether everything that the process did from its beginning on is here.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty() && self.faults.is_empty()
    }

    /// What kind of process it is.
    #[must_use]
    pub const fn kind(&self) -> NodeKind {
        self.node.name.kind
    }
}
