//! What a trace shows, whatever form it is written in.

use crate::causal::{Catalog, EventId, Span};
use crate::facts::{self, Kind};
use crate::journals::{Journals, Process};
use marchland_common::digest::digest_of;
use marchland_common::journal::{BundleRef, Event, TickRecord};
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Tick};
use marchland_common::time::Phase;
use std::collections::BTreeSet;
use std::io;

/// Most slices, marks and ends of arrows. A viewer holds some millions.
pub const ITEMS_MAX: u64 = 2_000_000;
/// The phases of a cellapp's tick, in their order.
const PHASES: [Phase; 6] =
    [Phase::Network, Phase::Timer, Phase::Entity, Phase::Script, Phase::SyncBuild, Phase::Flush];

/// The form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The Chrome trace event format.
    Json,
    /// Perfetto's own: packets of TrackEvents.
    TrackEvent,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Only these ticks.
    pub span: Option<Span>,
    /// The length of a tick in microseconds.
    pub step_us: u64,
    /// Most items; see [`ITEMS_MAX`].
    pub items_max: u64,
}

impl TraceOptions {
    /// All ticks of a cluster with this step.
    #[must_use]
    pub const fn new(step_us: u64) -> Self {
        Self { span: None, step_us, items_max: ITEMS_MAX }
    }
}

/// What a trace holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Processes.
    pub processes: u64,
    /// Slices of ticks and phases.
    pub slices: u64,
    /// Marks.
    pub marks: u64,
    /// Ends of arrows.
    pub arrows: u64,
    /// The first and last tick.
    pub ticks: Option<(u64, u64)>,
    /// What was left out, for people.
    pub left_out: Vec<String>,
}

/// A track: a process, and within it a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The process, from 1.
    pub process: u64,
    /// The row, from 1.
    pub row: u64,
}

/// Where ticks stand.
pub const TICKS: u64 = 1;
/// Where spans of ticks stand of which nothing is known.
pub const GAPS: u64 = 2;

/// The end of an arrow. Equal ids belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    pub id: u64,
    pub what: ArrowKind,
    pub end: ArrowEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowKind {
    Bundle,
    Handoff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowEnd {
    Begins,
    Passes,
    Arrives,
}

/// A value that is shown with a slice or a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    Flag(bool),
    Text(String),
}

/// A stretch of time. Those within it are painted between its begin and its end.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    pub track: Track,
    /// In microseconds from the trace's beginning.
    pub at_us: u64,
    pub long_us: u64,
    pub name: &'a str,
    pub values: &'a [(&'static str, Value)],
    pub arrows: &'a [Arrow],
}

/// Something without length.
#[derive(Clone, Debug)]
pub struct Mark<'a> {
    pub track: Track,
    pub at_us: u64,
    pub name: &'a str,
    pub values: &'a [(&'static str, Value)],
}

/// Writes one form of a trace.
pub trait Paint {
    fn process(&mut self, process: u64, name: &str) -> io::Result<()>;
    fn row(&mut self, track: Track, name: &str) -> io::Result<()>;
    /// What stands inside of a slice is painted between its begin and its end.
    fn begin(&mut self, slice: &Slice<'_>) -> io::Result<()>;
    fn end_of(&mut self, slice: &Slice<'_>) -> io::Result<()>;
    fn mark(&mut self, mark: &Mark<'_>) -> io::Result<()>;
}

struct Draw<'a> {
    paint: &'a mut dyn Paint,
    step_us: u64,
    from: Tick,
    figures: Figures,
    known: BTreeSet<Node>,
}

/// Paints a recording, process by process.
pub fn draw(
    journals: &Journals,
    catalog: &Catalog,
    options: &TraceOptions,
    paint: &mut dyn Paint,
) -> io::Result<Figures> {
    let all = catalog.ticks().map(|(from, to)| Span { from, to });
    let Some(span) = options.span.or(all) else { return Ok(Figures::default()) };
    let known = journals.processes().iter().map(Process::node).collect();
    let step_us = options.step_us.max(100);
    let from = all.map_or(span.from, |all| all.from.max(span.from));
    let figures = Figures::default();
    let mut draw = Draw { paint, step_us, from, figures, known };
    let span = draw.fitting(journals, catalog, span, options.items_max);
    let clients = journals.processes().iter().filter(|p| p.kind() == NodeKind::Client).count();
    if clients > 0 {
        let text = format!("{clients} clients, which have no ticks");
        draw.figures.left_out.push(text);
    }
    let servers = journals.processes().iter().enumerate();
    for (proc, process) in servers.filter(|(_, process)| process.kind() != NodeKind::Client) {
        draw.process(catalog, (proc as u32, process), span)?;
    }
    Ok(draw.figures)
}

impl Draw<'_> {
    /// The part of a span that fits.
    fn fitting(&mut self, journals: &Journals, catalog: &Catalog, span: Span, max: u64) -> Span {
        // A record gives at most nine slices; a fact at most one mark and one end of an arrow.
        let weight = |to: Tick| {
            let records: u64 = (0..journals.processes().len() as u32)
                .map(|proc| catalog.records(proc, span.from, to).len() as u64)
                .sum();
            catalog.count(span.from, to) + 9 * records
        };
        let mut to = catalog.ticks().map_or(span.to, |(_, last)| last.min(span.to));
        let whole = to;
        while to > span.from && weight(to) > max {
            to = Tick(span.from.0 + (to.0 - span.from.0) / 2);
        }
        if to < whole {
            let text =
                format!("ticks {} to {whole}, because more does not fit; --tick chooses", to.0 + 1);
            self.figures.left_out.push(text);
        }
        self.figures.ticks = Some((self.from.0, to.0));
        Span { from: span.from, to }
    }

    fn process(
        &mut self,
        catalog: &Catalog,
        (proc, process): (u32, &Process),
        span: Span,
    ) -> io::Result<()> {
        let id = u64::from(proc) + 1;
        self.figures.processes += 1;
        self.paint.process(id, &catalog.names().node(process.node()))?;
        self.paint.row(Track { process: id, row: TICKS }, "ticks (nominal times)")?;
        let gaps: Vec<(u64, u64)> = process
            .gaps()
            .iter()
            .copied()
            .filter(|(from, to)| *from <= span.to.0 && *to >= span.from.0)
            .collect();
        if !gaps.is_empty() {
            self.paint.row(Track { process: id, row: GAPS }, "nothing is known")?;
        }
        for (from, to) in gaps {
            let from = from.max(span.from.0);
            let at_us = self.at(Tick(from));
            let long_us = (to.min(span.to.0) + 1 - from) * self.step_us;
            let track = Track { process: id, row: GAPS };
            let name = "the journal could not keep these ticks";
            let slice = Slice { track, at_us, long_us, name, values: &[], arrows: &[] };
            self.figures.slices += 1;
            self.paint.begin(&slice)?;
            self.paint.end_of(&slice)?;
        }
        let mut last = None;
        for record in catalog.records(proc, span.from, span.to) {
            let Some(moment) = process.record(record) else { continue };
            let place = (moment.tick, moment.moment);
            // A journal in which a tick stands twice is damaged; one of them is shown.
            if last.is_none_or(|last| last < place) && moment.tick >= span.from {
                let first = catalog.first(proc, record);
                self.moment(catalog, (id, process), first, &moment)?;
                last = Some(place);
            }
        }
        Ok(())
    }

    fn at(&self, tick: Tick) -> u64 {
        tick.0.saturating_sub(self.from.0) * self.step_us
    }

    /// Where an output moment stands in its tick, and how long it takes, in hundredths.
    fn stands(kind: NodeKind, moment: Moment) -> (u64, u64) {
        match (kind, moment) {
            (NodeKind::Base, Moment::Flush) => (50, 18),
            (NodeKind::Base, Moment::Release(n)) => (60 + 10 * u64::from(n.clamp(1, 3)), 8),
            _ => (0, 40),
        }
    }

    fn moment(
        &mut self,
        catalog: &Catalog,
        (id, process): (u64, &Process),
        first: u64,
        moment: &TickRecord,
    ) -> io::Result<()> {
        let (node, kind) = (process.node(), process.kind());
        let (start, long) = Self::stands(kind, moment.moment);
        let at_us = self.at(moment.tick) + start * self.step_us / 100;
        let long_us = long * self.step_us / 100;
        let track = Track { process: id, row: TICKS };
        let arrows = self.arrows(node, moment);
        let values = [
            ("tick", Value::Number(moment.tick.0)),
            ("first event", Value::Text(catalog.names().event(EventId { node, n: first }))),
            ("taken in", Value::Number(moment.received.len() as u64)),
            ("sent", Value::Number(moment.sent.len() as u64)),
            ("nominal", Value::Flag(true)),
        ];
        let name = match moment.moment {
            Moment::Flush => format!("tick {}", moment.tick),
            Moment::Release(n) => format!("release {n} of {}", moment.tick),
        };
        let slice = Slice { track, at_us, long_us, name: &name, values: &values, arrows: &arrows };
        self.figures.slices += 1;
        self.figures.arrows += arrows.len() as u64;
        self.paint.begin(&slice)?;
        if kind == NodeKind::Cell {
            self.phases(track, at_us, long_us)?;
        }
        self.marks(catalog, (track, at_us, long_us), node, (first, moment))?;
        self.paint.end_of(&slice)
    }

    fn phases(&mut self, track: Track, at_us: u64, long_us: u64) -> io::Result<()> {
        let each = long_us / PHASES.len() as u64;
        let values = [("nominal", Value::Flag(true))];
        for (at, phase) in (0..).zip(PHASES) {
            let name = format!("{phase:?}");
            let at_us = at_us + at * each;
            let slice =
                Slice { track, at_us, long_us: each, name: &name, values: &values, arrows: &[] };
            self.figures.slices += 1;
            self.paint.begin(&slice)?;
            self.paint.end_of(&slice)?;
        }
        Ok(())
    }

    fn marks(
        &mut self,
        catalog: &Catalog,
        (track, at_us, long_us): (Track, u64, u64),
        node: Node,
        (first, moment): (u64, &TickRecord),
    ) -> io::Result<()> {
        let first = first + moment.received.len() as u64;
        let told: Vec<(u64, &Event)> =
            (first..).zip(&moment.events).filter(|(_, event)| is_telling(event)).collect();
        let count = told.len() as u64;
        for (at, (n, event)) in (0_u64..).zip(told) {
            let about = facts::about(event);
            let mut values =
                vec![("event", Value::Text(catalog.names().event(EventId { node, n })))];
            values.extend(about.entity.map(|entity| ("entity", Value::Text(entity.to_string()))));
            values.extend(about.epoch.map(|epoch| ("epoch", Value::Number(epoch.grant()))));
            let name = facts::text(event);
            let at_us = at_us + long_us * (at + 1) / (count + 2);
            self.figures.marks += 1;
            self.paint.mark(&Mark { track, at_us, name: &name, values: &values })?;
        }
        Ok(())
    }

    /// Bundles between processes whose journals are here, and the steps of handoffs.
    fn arrows(&self, node: Node, moment: &TickRecord) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        let bundle = |from: Node, to: Node, n: u64, end| {
            let id = digest_of(&("bundle", from, to, n));
            Arrow { id, what: ArrowKind::Bundle, end }
        };
        for BundleRef { peer, n, .. } in &moment.received {
            if self.known.contains(peer) {
                arrows.push(bundle(*peer, node, *n, ArrowEnd::Arrives));
            }
        }
        for event in &moment.events {
            let handoff = |entity: EntityId, epoch: Epoch, end| {
                let id = digest_of(&("handoff", entity, epoch));
                Arrow { id, what: ArrowKind::Handoff, end }
            };
            arrows.extend(match *event {
                Event::Frozen { entity, epoch, .. } => {
                    Some(handoff(entity, epoch.next_grant(), ArrowEnd::Begins))
                }
                Event::OwnerChanged { entity, epoch, .. } if epoch.grant() > 1 => {
                    Some(handoff(entity, epoch, ArrowEnd::Passes))
                }
                Event::Activated { entity, epoch, .. } if epoch.grant() > 1 => {
                    Some(handoff(entity, epoch, ArrowEnd::Arrives))
                }
                _ => None,
            });
        }
        for BundleRef { peer, n, .. } in &moment.sent {
            if self.known.contains(peer) {
                arrows.push(bundle(node, *peer, *n, ArrowEnd::Begins));
            }
        }
        arrows
    }
}

/// Whether an event is marked: what happens to every entity in every tick is not.
fn is_telling(event: &Event) -> bool {
    !matches!(
        Kind::of(event),
        Kind::Stepped
            | Kind::Accepted
            | Kind::GhostFlushed
            | Kind::GhostApplied
            | Kind::Durable
            | Kind::TimerFired
            | Kind::Entered
            | Kind::Left
            | Kind::SlotFollowed
    )
}
