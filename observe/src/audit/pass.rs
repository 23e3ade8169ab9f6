//! The one pass: every event of the merged order, to the rules that want it.

use super::completeness::{self, Gaps, Sight};
use super::lineage::{Cut, Grown};
use super::options::AuditOptions;
use super::rules::{self, Subjects};
use super::state::{self, State};
use super::verdict::{Findings, Found, InvariantCount, Outcome, Verdict, Violation};
use crate::facts::Kind;
use crate::journals::{BaseLog, Journals};
use crate::merge::{At, Clocks, Numbers, Oddity, Walk};
use crate::order::{Line, line_at, moment_line};
use crate::summary::{Figures, Summary};
use marchland_common::journal::{Event, Logged, TickRecord};
use marchland_common::order::{EntityId, Node, NodeKind, NodeName, Seq, SlotId, Tick};
use std::collections::BTreeMap;

/// An event and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    pub at: At,
    pub node: Node,
    pub tick: Tick,
    pub event: &'a Event,
}

/// A record and where it stands; its events follow.
#[derive(Clone, Copy, Debug)]
pub struct Moments<'a> {
    pub at: At,
    pub node: Node,
    pub moment: &'a TickRecord,
}

/// What a rule may look at.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    pub state: &'a State,
    pub clocks: &'a Clocks,
    pub options: &'a AuditOptions,
    pub sight: &'a Sight,
    pub oddities: &'a [Oddity],
    /// What is on disk of the bases' logs.
    pub written: &'a BTreeMap<NodeName, BaseLog>,
}

impl Cx<'_> {
    /// Whether everything that this life did is known.
    pub fn sees(&self, node: Node) -> bool {
        self.sight.sees(node)
    }

    /// The same of the life that an event is of, for rules that ask often.
    pub fn sees_here(&self, here: &Here<'_>) -> bool {
        self.sight.sees_proc(here.at.proc)
    }

    /// Whether everything that all bases did that ever kept a slot, or were to keep it, is known.
    pub fn sees_slot(&self, slot: SlotId) -> bool {
        let Some(tenures) = self.state.tenures(slot) else { return true };
        !tenures.moved() || tenures.keepers().all(|base| self.sees_log(base))
    }

    /// Whether everything that stands in the lineage of an entity is known, where a base tells of
    /// it.
    pub fn sees_line(&self, here: &Here<'_>, entity: EntityId) -> bool {
        self.sees_here(here) && self.sees_slot(entity.slot())
    }

    /// Whether everything that all lives of a kind did is known. Final at the end of the pass.
    pub fn sees_all(&self, kind: NodeKind) -> bool {
        self.sight.sees_all(kind) && (kind != NodeKind::Base || self.state.unknown_logs.is_empty())
    }

    /// Whether something that servers did is not known, as far as one can tell by now: then that a
    /// fact is missing, or that facts do not add up, accuses nobody.
    pub fn is_blind(&self) -> bool {
        !self.sight.sees_servers() || !self.state.unknown_logs.is_empty()
    }

    /// Whether everything that all lives of a base wrote into its log is known. Final at the end
    /// of the pass.
    pub fn sees_log(&self, base: NodeName) -> bool {
        self.sight.sees_log(base) && !self.state.unknown_logs.contains(&base)
    }

    /// Whether nothing is in a base's log that its journals do not tell: a life that was killed
    /// may have written what it could not tell any more, and one that still runs does.
    pub fn tells_all(&self, base: NodeName) -> bool {
        self.sees_log(base) && self.sight.ended(base)
    }

    /// Whether somebody took from a log what no journal may tell: a later life of its base, or another
    /// base.
    pub fn goes_on_from_logs(&self) -> bool {
        !self.state.restarted.is_empty() || !self.state.adopted.is_empty()
    }

    /// Whether logs hold every step of an entity after one and up to another. A base may write a
    /// step and be killed before its journal tells of it; whoever comes after it has it from the
    /// log.
    pub fn is_written(&self, entity: EntityId, after: Seq, through: Seq) -> bool {
        let holds = |seq: u64| {
            self.written.values().any(|log| {
                let begins = log.account.begin.get(&entity);
                begins.is_some_and(|kept| kept.seq.0 >= seq)
                    || steps_in(log, entity).any(|step| step.0 == seq)
            })
        };
        self.goes_on_from_logs() && after < through && (after.0 + 1..=through.0).all(holds)
    }

    /// Whether logs hold a step of an entity of which no journal tells.
    pub fn holds_untold_step(&self, entity: EntityId) -> bool {
        let line = self.state.lines.get(&entity);
        let is_told = |seq| line.is_some_and(|line| line.step(seq).is_some());
        self.written.values().any(|log| steps_in(log, entity).any(|seq| !is_told(seq)))
    }

    /// Whether one event could have caused another.
    pub fn before(&self, a: At, b: At) -> bool {
        self.clocks.before(a, b)
    }
}

/// The steps of an entity that are still in a log.
fn steps_in(log: &BaseLog, entity: EntityId) -> impl Iterator<Item = Seq> {
    log.account.records.iter().filter_map(move |(_, said)| match said {
        Logged::Step { entity: of, seq, .. } if *of == entity => Some(*seq),
        _ => None,
    })
}

/// Something that watches the pass: a rule, or the figures.
pub trait Watch {
    /// The kinds of events it wants.
    fn kinds(&self) -> &'static [Kind];

    /// An event. The state is that before it.
    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings);

    /// A record, before its events.
    fn on_record(&mut self, _moments: &Moments<'_>, _cx: &Cx<'_>, _out: &mut Findings) {}

    /// A step became part of a lineage.
    fn on_grown(&mut self, _grown: &Grown<'_>, _cx: &Cx<'_>, _out: &mut Findings) {}

    /// A record turned out never to have happened.
    fn on_cut(&mut self, _cut: &Cut, _cx: &Cx<'_>, _out: &mut Findings) {}

    /// The end of all journals.
    fn finish(&mut self, _cx: &Cx<'_>, _out: &mut Findings) {}
}

struct Slot {
    watch: Box<dyn Watch>,
    findings: Findings,
}

struct Pass<'a> {
    walk: Walk<'a>,
    written: &'a BTreeMap<NodeName, BaseLog>,
    options: &'a AuditOptions,
    state: State,
    sight: Sight,
    numbers: Numbers,
    subjects: Subjects,
    slots: Vec<Slot>,
    figures: Figures,
    /// Findings of the figures, which have none.
    unused: Findings,
    wanted: Vec<Vec<usize>>,
}

/// Runs the pass.
pub fn run(journals: &Journals, options: &AuditOptions) -> (Verdict, Summary) {
    let slots: Vec<Slot> = rules::TABLE
        .iter()
        .map(|rule| Slot { watch: (rule.make)(options), findings: Findings::new(options.told_max) })
        .collect();
    let mut wanted = vec![Vec::new(); Kind::ALL.len()];
    for (index, slot) in slots.iter().enumerate() {
        slot.watch.kinds().iter().for_each(|kind| wanted[*kind as usize].push(index));
    }
    let mut pass = Pass {
        walk: Walk::new(journals),
        written: journals.logs(),
        options,
        state: State::new(journals),
        sight: Sight::of(journals),
        numbers: Numbers::from(journals.first_numbers()),
        subjects: Subjects::new(),
        slots,
        figures: Figures::default(),
        unused: Findings::default(),
        wanted,
    };
    while let Some(step) = pass.walk.next() {
        pass.numbers.note(&step);
        pass.take(At::record(step.proc, step.record), &step.moment);
    }
    pass.finish(journals)
}

/// The context of a pass, by its fields, so that the slots stay free to change.
macro_rules! cx {
    ($pass:expr) => {
        Cx {
            state: &$pass.state,
            clocks: $pass.walk.clocks(),
            options: $pass.options,
            sight: &$pass.sight,
            oddities: $pass.walk.oddities(),
            written: $pass.written,
        }
    };
}

impl Pass<'_> {
    fn take(&mut self, at: At, moment: &TickRecord) {
        let node = self.state.procs[at.proc as usize].node;
        self.sight.note(moment);
        let moments = Moments { at, node, moment };
        let cx = cx!(self);
        for slot in &mut self.slots {
            slot.watch.on_record(&moments, &cx, &mut slot.findings);
        }
        self.figures.on_record(&moments, &cx, &mut self.unused);
        for (index, event) in moment.events.iter().enumerate() {
            let at = At { event: index as u32, ..at };
            self.take_event(&Here { at, node, tick: moment.tick, event });
        }
        self.state.end_record(at.proc, moment);
    }

    fn take_event(&mut self, here: &Here<'_>) {
        for cut in self.state.cuts(here) {
            let cx = cx!(self);
            for slot in &mut self.slots {
                slot.watch.on_cut(&cut, &cx, &mut slot.findings);
            }
            self.figures.on_cut(&cut, &cx, &mut self.unused);
        }
        let kind = Kind::of(here.event);
        self.subjects.note(kind, here.event);
        let cx = cx!(self);
        for index in &self.wanted[kind as usize] {
            let slot = &mut self.slots[*index];
            slot.watch.on(here, &cx, &mut slot.findings);
        }
        self.figures.on(here, &cx, &mut self.unused);
        let Some(grown) = self.state.apply(here) else { return };
        let cx = cx!(self);
        let Some(grown) = state::grown(&self.state, grown) else { return };
        for slot in &mut self.slots {
            slot.watch.on_grown(&grown, &cx, &mut slot.findings);
        }
        self.figures.on_grown(&grown, &cx, &mut self.unused);
    }

    fn finish(mut self, journals: &Journals) -> (Verdict, Summary) {
        let cx = cx!(self);
        for slot in &mut self.slots {
            slot.watch.finish(&cx, &mut slot.findings);
        }
        let summary = self.figures.summary(&cx);
        let found = self.slots.iter().map(|slot| &slot.findings);
        let counts: Vec<(&str, &Findings)> =
            rules::TABLE.iter().map(|rule| rule.invariant.name).zip(found).collect();
        let Gaps { incomplete, not_applicable } =
            completeness::gaps(journals, &cx, &self.subjects, &counts);
        let mut violations = Vec::new();
        for (name, findings) in &counts {
            let told = findings.told.iter();
            violations.extend(told.map(|found| self.violation(journals, name, found)));
        }
        let fails = counts.iter().any(|(_, findings)| findings.violations > 0);
        let invariants = counts.iter().map(|(name, findings)| {
            let Findings { checked, violations, .. } = findings;
            let count = InvariantCount { checked: *checked, violations: *violations };
            ((*name).to_owned(), count)
        });
        let verdict = match (fails, incomplete.is_empty()) {
            (true, _) => Outcome::Fail,
            (false, true) => Outcome::Pass,
            (false, false) => Outcome::Incomplete,
        };
        let invariants = invariants.collect();
        (Verdict { verdict, invariants, violations, incomplete, not_applicable }, summary)
    }

    fn violation(&self, journals: &Journals, name: &str, found: &Found) -> Violation {
        let mut witness = found.witness.clone();
        witness.sort_by_key(|at| self.numbers.place(*at));
        witness.dedup();
        Violation {
            invariant: name.to_owned(),
            entity: found.entity.map(|entity| entity.0),
            text: found.text.clone(),
            witness: witness.iter().filter_map(|at| self.line(journals, *at)).collect(),
        }
    }

    fn line(&self, journals: &Journals, at: At) -> Option<Line> {
        let process = journals.processes().get(at.proc as usize)?;
        let moment = process.record(at.record as usize)?;
        let n = self.numbers.of(at);
        if at.event == At::RECORD {
            return Some(moment_line(process.node(), &moment, n));
        }
        let event = moment.events.get(at.event as usize)?;
        Some(line_at(process.node(), moment.tick, n, event))
    }
}
