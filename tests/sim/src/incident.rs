//! Faults as they happen: what each class plans, and what begins and ends.

use crate::config::{STEP_US, SimConfig};
use crate::faults::Class;
use crate::happening::{Agenda, Happening};
use crate::reach::{MANAGER, STORE};
use marchland_common::order::{NodeKind, NodeName};
use marchland_common::rng::Rng;
use serde::{Deserialize, Serialize};

/// A fault that a test asks for at a certain tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scripted {
    /// These processes are killed at once; they come back after so many ticks, or at the heal.
    Kill(Vec<NodeName>, Option<u64>),
    /// A process stands still for so many ticks.
    Pause(NodeName, u64),
    /// A disk stands still for so many ticks.
    DiskStall(NodeName, u64),
    /// The store answers nobody for so many ticks.
    StoreAway(u64),
    /// A process is cut off from everybody for so many ticks.
    Isolate(NodeName, u64),
    /// What one process sends to another is lost for so many ticks.
    OneWay(NodeName, NodeName, u64),
}

/// Something that begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Incident {
    /// A connection that stands breaks, for this long.
    Cut(u64),
    /// A process stands still for this long.
    Stall(Class, NodeName, u64),
    /// A disk takes this long, or takes nothing for this long.
    Disk(NodeName, u64),
    Full(NodeName, u64),
    /// Two cells of a space change their owners with each other.
    Relayout,
    /// These are killed at once, and come back after this long, or not before the heal.
    Kill(Class, Vec<NodeName>, Option<u64>),
    /// A life is declared dead although it is well.
    FalseVerdict(NodeName),
    /// Packets of these directions are lost from now on, or pass again.
    Block(Class, Vec<(NodeName, NodeName)>),
    Lift(Vec<(NodeName, NodeName)>),
    /// The store: no answer for this long (its clock may stop), no lease, no history.
    StoreAway(u64, bool),
    LeaseDeath,
    Compact,
    /// Nobody leads for this long.
    NoManager(u64),
    /// So many slots are ordered to another baseapp than the one that keeps them.
    MoveSlots(u64),
    /// A baseapp gives away what it has, for this long; then it serves again.
    Drain(NodeName, u64),
}

const SECOND: i64 = 1_000_000;

/// Who can be hit.
struct Cast {
    cells: Vec<NodeName>,
    bases: Vec<NodeName>,
    all: Vec<NodeName>,
}

impl Cast {
    fn new(config: &SimConfig) -> Self {
        let name = |kind, number| NodeName { kind, number };
        let cells: Vec<NodeName> = (1..=config.cells).map(|n| name(NodeKind::Cell, n)).collect();
        let bases: Vec<NodeName> = (1..=config.bases).map(|n| name(NodeKind::Base, n)).collect();
        let all = cells.iter().chain(&bases).copied().collect();
        Self { cells, bases, all }
    }

    fn everybody_but(&self, name: NodeName) -> Vec<NodeName> {
        let others = self.all.iter().copied().filter(|other| *other != name);
        others.chain([STORE, MANAGER]).collect()
    }

    fn cut_off(&self, name: NodeName) -> Vec<(NodeName, NodeName)> {
        self.everybody_but(name).into_iter().flat_map(|o| [(name, o), (o, name)]).collect()
    }
}

fn pick(rng: &mut Rng, of: &[NodeName]) -> NodeName {
    of[rng.below(of.len() as u64) as usize]
}

fn shuffled(rng: &mut Rng, of: &[NodeName]) -> Vec<NodeName> {
    let mut rest = of.to_vec();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let at = rng.below(rest.len() as u64) as usize;
        out.push(rest.swap_remove(at));
    }
    out
}

/// Plans everything that a seed's faults do, between two ticks.
pub(crate) fn plan(config: &SimConfig, agenda: &mut Agenda, first: u64, last: u64) {
    let cast = Cast::new(config);
    for class in config.faults.classes() {
        // Each class has its own luck, so that one without the others does the same.
        let mut rng = Rng::child(config.seed, 0x6f6f_7073_0000 + class as u64);
        let rate = u64::from(config.faults.rate(class));
        for _ in 0..times(class, rate, &mut rng) {
            let at = (first + rng.below(last - first)) * STEP_US + rng.below(STEP_US);
            plan_one(class, &cast, &mut rng, &mut |after, incident| {
                agenda.at(at + after, Happening::Incident(incident));
            });
        }
    }
    for (tick, scripted) in &config.script {
        plan_scripted(&cast, tick * STEP_US, scripted, agenda);
    }
}

fn times(class: Class, rate: u64, rng: &mut Rng) -> u64 {
    match class {
        Class::Cuts => rate * (2 + rng.below(4)),
        Class::Layouts | Class::Partition | Class::OneWay => rate + rng.below(2),
        Class::SlotMoves => 2 + rate + rng.below(3),
        // A watch that misbehaves shows only when something changes.
        Class::LostEvents | Class::OldEvents | Class::Cancelled | Class::Compacted => 2 + rate,
        Class::Blackout | Class::Isolate | Class::Swizzle | Class::StoreAway => 1,
        Class::Delays | Class::Clocks | Class::Dawdle | Class::Clients => 0,
        // What is lost on the way to a life that ends: so some must end.
        Class::Misdelivered => 2 + rate,
        _ => 1 + rng.below(rate),
    }
}

fn plan_one(class: Class, cast: &Cast, rng: &mut Rng, at: &mut impl FnMut(u64, Incident)) {
    let mut lasts = |low: i64, high: i64| rng.between(low, high) as u64;
    match class {
        Class::Cuts => at(0, Incident::Cut(lasts(1_000, 700_000))),
        Class::Stalls => {
            let for_us = lasts(60_000, 600_000);
            at(0, Incident::Stall(class, pick(rng, &cast.all), for_us));
        }
        Class::Disks => {
            let for_us = lasts(50_000, 2 * SECOND);
            at(0, Incident::Disk(pick(rng, &cast.bases), for_us));
        }
        Class::Full => {
            let for_us = lasts(SECOND, 3 * SECOND);
            at(0, Incident::Full(pick(rng, &cast.bases), for_us));
        }
        Class::Layouts | Class::LostEvents | Class::OldEvents | Class::Cancelled => {
            at(0, Incident::Relayout);
        }
        Class::Compacted => {
            at(0, Incident::Relayout);
            at(1, Incident::Relayout);
            at(2, Incident::Compact);
        }
        Class::CrashCell
        | Class::CrashBase
        | Class::CrashBoth
        | Class::Blackout
        | Class::Misdelivered => {
            plan_crash(class, cast, rng, at);
        }
        Class::Zombie => {
            let for_us = lasts(SECOND, 8 * SECOND);
            at(0, Incident::Stall(class, pick(rng, &cast.cells), for_us));
        }
        Class::PausedBase => {
            let for_us = lasts(2 * SECOND, 8 * SECOND);
            at(0, Incident::Stall(class, pick(rng, &cast.bases), for_us));
        }
        Class::FalseVerdict => at(0, Incident::FalseVerdict(pick(rng, &cast.cells))),
        Class::Partition | Class::OneWay | Class::Isolate | Class::Swizzle => {
            plan_partition(class, cast, rng, at);
        }
        Class::StoreAway => {
            let for_us = lasts(2 * SECOND, 20 * SECOND);
            let clock_stops = rng.chance(1, 2);
            at(0, Incident::StoreAway(for_us, clock_stops));
        }
        Class::LeaseDeath => at(0, Incident::LeaseDeath),
        Class::NoManager => at(0, Incident::NoManager(lasts(SECOND, 7 * SECOND))),
        Class::SlotMoves => plan_moves(cast, rng, at),
        Class::Delays | Class::Clients | Class::Clocks | Class::Dawdle => {}
    }
}

fn plan_crash(class: Class, cast: &Cast, rng: &mut Rng, at: &mut impl FnMut(u64, Incident)) {
    let back = rng.between(100_000, 4 * SECOND) as u64;
    let (who, back) = match class {
        // Some cellapps never come back before the heal: others do without them.
        Class::CrashCell => (vec![pick(rng, &cast.cells)], Some(back).filter(|_| rng.chance(2, 3))),
        Class::Misdelivered => (vec![pick(rng, &cast.cells)], Some(back / 4)),
        Class::CrashBase => (vec![pick(rng, &cast.bases)], Some(back)),
        Class::CrashBoth => (vec![pick(rng, &cast.cells), pick(rng, &cast.bases)], Some(back)),
        _ => (cast.all.clone(), Some(back)),
    };
    at(0, Incident::Kill(class, who, back));
}

/// Slots move, and sometimes who gives, who takes, or both are killed in the midst of it.
fn plan_moves(cast: &Cast, rng: &mut Rng, at: &mut impl FnMut(u64, Incident)) {
    let base = pick(rng, &cast.bases);
    if rng.chance(1, 4) {
        at(0, Incident::Drain(base, rng.between(SECOND, 6 * SECOND) as u64));
    } else {
        at(0, Incident::MoveSlots(1 + rng.below(24)));
    }
    if rng.chance(1, 3) {
        let who = if rng.chance(1, 3) { cast.bases.clone() } else { vec![base] };
        let (after, back) = (rng.between(10_000, 900_000) as u64, rng.between(100_000, 3 * SECOND));
        at(after, Incident::Kill(Class::SlotMoves, who, Some(back as u64)));
    }
}

fn plan_partition(class: Class, cast: &Cast, rng: &mut Rng, at: &mut impl FnMut(u64, Incident)) {
    let for_us = rng.between(100_000, 6 * SECOND) as u64;
    match class {
        Class::Partition | Class::OneWay => {
            let a = pick(rng, &cast.all);
            let b = pick(rng, &cast.everybody_but(a));
            let mut ways = vec![(a, b)];
            ways.extend((class == Class::Partition).then_some((b, a)));
            at(0, Incident::Block(class, ways.clone()));
            at(for_us, Incident::Lift(ways));
        }
        Class::Isolate => {
            let ways = cast.cut_off(pick(rng, &cast.all));
            at(0, Incident::Block(class, ways.clone()));
            at(for_us, Incident::Lift(ways));
        }
        _ => {
            let count = 2 + rng.below(2) as usize;
            let some = &shuffled(rng, &cast.all)[..count];
            let mut after = 0;
            for name in some {
                at(after, Incident::Block(class, cast.cut_off(*name)));
                after += rng.between(50_000, SECOND) as u64;
            }
            for name in shuffled(rng, some) {
                at(after + for_us, Incident::Lift(cast.cut_off(name)));
                after += rng.between(50_000, SECOND) as u64;
            }
        }
    }
}

fn plan_scripted(cast: &Cast, at: u64, scripted: &Scripted, agenda: &mut Agenda) {
    let mut plan = |after: u64, incident| agenda.at(at + after, Happening::Incident(incident));
    match scripted {
        Scripted::Kill(who, back) => {
            let back = back.map(|ticks| ticks * STEP_US);
            plan(0, Incident::Kill(Class::CrashBoth, who.clone(), back));
        }
        Scripted::Pause(who, ticks) => {
            plan(0, Incident::Stall(Class::Zombie, *who, ticks * STEP_US));
        }
        Scripted::DiskStall(who, ticks) => plan(0, Incident::Disk(*who, ticks * STEP_US)),
        Scripted::StoreAway(ticks) => plan(0, Incident::StoreAway(ticks * STEP_US, false)),
        Scripted::Isolate(who, ticks) => {
            let ways = cast.cut_off(*who);
            plan(0, Incident::Block(Class::Isolate, ways.clone()));
            plan(ticks * STEP_US, Incident::Lift(ways));
        }
        Scripted::OneWay(from, to, ticks) => {
            plan(0, Incident::Block(Class::OneWay, vec![(*from, *to)]));
            plan(ticks * STEP_US, Incident::Lift(vec![(*from, *to)]));
        }
    }
}
