//! Every tick number is run once or dropped once.

use crate::audit::{AuditOptions, Cx, Findings, Here, Moments, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::msg::Moment;
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_common::time::TickRange;
use rustc_hash::FxHashMap;

#[derive(Default)]
struct Ran {
    /// The newest moment.
    last: Option<(Tick, Moment, At)>,
    /// The newest tick that was run as a whole.
    tick: Option<Tick>,
    /// What was dropped since, with the place of its record.
    dropped: Vec<(TickRange, At)>,
}

pub struct TicksPartition {
    ran: FxHashMap<Node, Ran>,
}

impl TicksPartition {
    pub fn new(_: &AuditOptions) -> Self {
        Self { ran: FxHashMap::default() }
    }
}

impl Ran {
    fn moment(&mut self, moments: &Moments<'_>, out: &mut Findings) {
        let now = (moments.moment.tick, moments.moment.moment);
        if let Some((tick, moment, at)) = self.last
            && now <= (tick, moment)
        {
            out.accuse(None, &[Some(at), Some(moments.at)], || {
                format!("{} ran tick {} after tick {tick}", moments.node, now.0)
            });
        }
        self.last = Some((now.0, now.1, moments.at));
    }

    /// The ticks between two that ran must be told as dropped, each once.
    fn flush(&mut self, moments: &Moments<'_>, out: &mut Findings) {
        let tick = moments.moment.tick;
        let mut dropped = std::mem::take(&mut self.dropped);
        dropped.sort_by_key(|(range, _)| range.from);
        let last = self.tick.replace(tick);
        // Before the first tick of a life anything may have been left out, but nothing twice.
        let begin = last.map_or_else(
            || dropped.first().map_or(tick, |(range, _)| range.from),
            |last| Tick(last.0.saturating_add(1)),
        );
        let mut next = begin;
        let mut wrong = None;
        for (range, at) in &dropped {
            if range.from != next || range.is_empty() {
                wrong.get_or_insert(*at);
            }
            next = next.max(range.to);
        }
        let holds = wrong.is_none() && next == tick;
        out.check(holds, None, &[wrong, Some(moments.at)], || {
            format!(
                "{} ran tick {tick} after tick {}; what it says it dropped is not what lies \
                 between",
                moments.node,
                last.unwrap_or(begin)
            )
        });
    }
}

impl Watch for TicksPartition {
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn on(&mut self, _: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {}

    fn on_record(&mut self, moments: &Moments<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let has_ticks = matches!(moments.node.name.kind, NodeKind::Cell | NodeKind::Base);
        if !has_ticks || !cx.sees(moments.node) {
            return;
        }
        let ran = self.ran.entry(moments.node).or_default();
        for (index, event) in moments.moment.events.iter().enumerate() {
            if let Event::TicksDropped(dropped) = event {
                let at = At { event: index as u32, ..moments.at };
                ran.dropped.push((dropped.ticks(), at));
            }
        }
        ran.moment(moments, out);
        if moments.moment.moment == Moment::Flush {
            ran.flush(moments, out);
        }
    }
}
