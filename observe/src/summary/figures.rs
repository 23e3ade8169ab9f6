//! The figures, gathered in the same pass as the verdict.

use super::intervals::Intervals;
use super::{CommandFigures, HandoffFigures, Summary};
use crate::audit::{Cut, Cx, Findings, Grown, Here, Moments, Watch};
use crate::facts::Kind;
use marchland_common::journal::{Event, OwnerWhy};
use marchland_common::msg::{HandoffWhy, Moment};
use marchland_common::order::{NodeKind, SessionId, Tick};
use marchland_common::world::CommandOutcome;
use rustc_hash::FxHashMap;

/// How a command ended, as its client knows.
#[derive(Clone, Copy, Debug)]
enum Answer {
    None,
    Applied,
    Rejected,
    Expired,
}

/// What is gathered.
#[derive(Debug, Default)]
pub struct Figures {
    intervals: Intervals,
    commands: FxHashMap<(SessionId, u64), Answer>,
    aborted: u64,
    dropped: u64,
    /// The first and the last tick that a cellapp ran.
    ticks: Option<(Tick, Tick)>,
}

impl Watch for Figures {
    fn kinds(&self) -> &'static [Kind] {
        Kind::ALL
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, _: &mut Findings) {
        match here.event {
            Event::Unfrozen { .. } => {
                self.aborted += 1;
                self.intervals.on(here, cx);
            }
            Event::TicksDropped(dropped) => {
                self.dropped = self.dropped.saturating_add(dropped.ticks().len());
            }
            Event::ClientSent { session, n, .. } => {
                self.commands.entry((*session, *n)).or_insert(Answer::None);
            }
            Event::ClientAnswered { session, n, outcome, .. } => {
                let answer = match outcome {
                    CommandOutcome::Applied(_) => Answer::Applied,
                    CommandOutcome::Rejected(_) => Answer::Rejected,
                    CommandOutcome::Expired => Answer::Expired,
                };
                // An answer to nothing is a violation, and no command.
                if let Some(command) = self.commands.get_mut(&(*session, *n)) {
                    *command = answer;
                }
            }
            Event::Activated { .. }
            | Event::Frozen { .. }
            | Event::Deactivated { .. }
            | Event::WindowOpened { .. }
            | Event::WindowClosed { .. }
            | Event::SlotFollowed { .. } => self.intervals.on(here, cx),
            _ => {}
        }
    }

    fn on_record(&mut self, moments: &Moments<'_>, cx: &Cx<'_>, _: &mut Findings) {
        let (kind, moment) = (moments.node.name.kind, moments.moment);
        if kind == NodeKind::Cell && moment.moment == Moment::Flush {
            self.intervals.count_frozen(moments.at.proc, cx);
            let (first, last) = self.ticks.unwrap_or((moment.tick, moment.tick));
            self.ticks = Some((first.min(moment.tick), last.max(moment.tick)));
        }
    }

    fn on_grown(&mut self, _: &Grown<'_>, _: &Cx<'_>, _: &mut Findings) {}

    fn on_cut(&mut self, _: &Cut, _: &Cx<'_>, _: &mut Findings) {}
}

impl Figures {
    /// The figures at the end.
    pub fn summary(&mut self, cx: &Cx<'_>) -> Summary {
        let (ticks_frozen, speculative_doubled) = self.intervals.finish(cx);
        let mut summary = Summary {
            ticks: self.ticks.map_or(0, |(first, last)| (last.0 - first.0).saturating_add(1)),
            ticks_frozen,
            speculative_doubled,
            ticks_dropped: self.dropped,
            ticks_rolled_back: rolled_back(cx),
            commands: self.command_figures(),
            ..Summary::default()
        };
        summary.handoffs.aborted = self.aborted;
        count_handoffs(cx, &mut summary);
        summary
    }

    fn command_figures(&self) -> CommandFigures {
        let mut figures = CommandFigures { sent: self.commands.len() as u64, ..Default::default() };
        for answer in self.commands.values() {
            match answer {
                Answer::None => figures.unanswered += 1,
                Answer::Applied => figures.applied += 1,
                Answer::Rejected => figures.rejected += 1,
                Answer::Expired => figures.expired += 1,
            }
        }
        figures
    }
}

fn count_handoffs(cx: &Cx<'_>, summary: &mut Summary) {
    for line in cx.state.lines.values() {
        summary.entities += u64::from(line.ended.is_none());
        for owner in &line.owners {
            let OwnerWhy::Handoff(why) = owner.why else { continue };
            let HandoffFigures { committed, ordered, .. } = &mut summary.handoffs;
            *committed += 1;
            *ordered += u64::from(matches!(why, HandoffWhy::Order(_)));
            let (Some(last), Some((first, _))) = (owner.last_tick, owner.first) else { continue };
            let number = |tick: Tick| i64::try_from(tick.0).unwrap_or(i64::MAX);
            let gap = number(first).saturating_sub(number(last));
            *summary.handoff_gaps.entry(gap).or_default() += 1;
            let missed = gap.saturating_sub(1).max(0) as u64;
            let doubled = 1_i64.saturating_sub(gap).max(0) as u64;
            summary.ticks_missed = summary.ticks_missed.saturating_add(missed);
            summary.ticks_doubled = summary.ticks_doubled.saturating_add(doubled);
        }
    }
}

/// Steps that were made and are not in the final lineage. Those of the epoch that holds may still
/// be on their way.
fn rolled_back(cx: &Cx<'_>) -> u64 {
    let mut count = 0;
    for ((proc, entity, epoch), chain) in &cx.state.chains {
        let Some(line) = cx.state.lines.get(entity) else { continue };
        let node = cx.state.procs[*proc as usize].node;
        let tail = line.tail().0;
        for (seq, ..) in &chain.steps {
            let counts =
                line.covering(*seq).is_some_and(|step| step.epoch == *epoch && step.owner == node);
            let on_its_way = *epoch == line.epoch() && *seq > tail;
            count += u64::from(!counts && !on_its_way);
        }
    }
    count
}
