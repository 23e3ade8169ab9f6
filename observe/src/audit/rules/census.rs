//! One record and one real for each entity that lives.

use crate::audit::lineage::{Line, Ownership};
use crate::audit::state::RealState;
use crate::audit::{AuditOptions, Cx, Findings, Here, Moments, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::order::{EntityId, Node, NodeKind, NodeName, Tick};
use std::collections::BTreeMap;

/// Who holds a copy of an entity.
type Holders = BTreeMap<EntityId, Vec<(Node, RealState)>>;

pub struct Census {
    at: Option<Tick>,
    is_taken: bool,
}

/// The point at which the census is taken.
struct Count<'a> {
    cx: &'a Cx<'a>,
    settle: u64,
    /// How far each base came, over all its lives.
    bases: BTreeMap<NodeName, Tick>,
    holders: Holders,
}

impl Census {
    pub fn new(options: &AuditOptions) -> Self {
        Self { at: options.census_at, is_taken: false }
    }

    fn take(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        self.is_taken = true;
        if cx.is_blind() {
            return;
        }
        let mut bases: BTreeMap<NodeName, Tick> = BTreeMap::new();
        for proc in cx.state.procs.iter().filter(|p| p.node.name.kind == NodeKind::Base) {
            let tick = bases.entry(proc.node.name).or_default();
            *tick = (*tick).max(proc.tick);
        }
        let mut holders = Holders::new();
        for ((proc, entity), real) in &cx.state.reals {
            let node = cx.state.procs[*proc as usize].node;
            if !cx.options.killed.contains(&node) {
                holders.entry(*entity).or_default().push((node, *real));
            }
        }
        holders.values_mut().for_each(|all| all.sort_by_key(|(node, _)| *node));
        let count = Count { cx, settle: cx.options.settle, bases, holders };
        let mut entities: Vec<EntityId> = cx.state.lines.keys().copied().collect();
        entities.sort_unstable();
        for entity in entities {
            count.judge(entity, &cx.state.lines[&entity], out);
        }
    }
}

impl Count<'_> {
    fn judge(&self, entity: EntityId, line: &Line, out: &mut Findings) {
        if let Some(ended) = line.ended {
            return self.judge_ended(entity, ended.at, ended.tick, out);
        }
        let Some(owner) = line.owners.last() else { return };
        let keeper = self.cx.state.keeper(entity.slot()).or_else(|| line.log());
        let now = keeper.and_then(|base| self.bases.get(&base)).copied().unwrap_or_default();
        if now.0.saturating_sub(owner.tick.0) <= self.settle {
            return;
        }
        if self.cx.options.killed.contains(&owner.to) {
            return self.judge_lost(entity, owner, now, out);
        }
        self.judge_living(entity, owner, out);
    }

    fn holders(&self, entity: EntityId) -> &[(Node, RealState)] {
        self.holders.get(&entity).map_or(&[], Vec::as_slice)
    }

    fn tick_of(&self, node: Node) -> Tick {
        let proc = self.cx.state.proc(node);
        proc.map_or(Tick(0), |proc| self.cx.state.procs[proc as usize].tick)
    }

    /// Whether a life ran on for long enough after a tick that it must have heard of it.
    fn is_long_after(&self, node: Node, tick: Tick) -> bool {
        self.tick_of(node).0 > tick.0.saturating_add(self.settle)
    }

    fn judge_living(&self, entity: EntityId, owner: &Ownership, out: &mut Findings) {
        let mut real = None;
        for (node, state) in self.holders(entity) {
            let is_owner = *node == owner.to && state.epoch == owner.epoch;
            if is_owner {
                real = Some(*state);
                continue;
            }
            // Whoever stopped soon after the change may not have heard of it.
            if self.is_long_after(*node, owner.tick) {
                out.accuse(entity, &[Some(state.since), Some(owner.at)], || {
                    let (to, epoch, old) = (owner.to, owner.epoch, state.epoch);
                    format!("{node} still holds it under epoch {old}; {to} owns epoch {epoch}")
                });
            }
        }
        let stopped = !self.is_long_after(owner.to, owner.tick);
        out.check(real.is_some() || stopped, entity, &[Some(owner.at)], || {
            format!("{} owns epoch {} and has no real of it", owner.to, owner.epoch)
        });
        let stuck = real.filter(|real| self.is_stuck(owner.to, real)).and_then(|real| real.frozen);
        if let Some(frozen) = stuck {
            out.accuse(entity, &[Some(frozen)], || {
                format!("{} froze it for a handoff that never ended", owner.to)
            });
        }
        let taken_up = owner.first.is_some() || stopped || real.is_none();
        if !taken_up {
            out.accuse(entity, &[Some(owner.at), real.map(|real| real.since)], || {
                format!("the base never accepted a step of epoch {}", owner.epoch)
            });
        }
    }

    /// Whether it was frozen long before its process stopped.
    fn is_stuck(&self, node: Node, real: &RealState) -> bool {
        let proc = self.cx.state.proc(node);
        let ran = proc.map_or(0, |proc| self.cx.state.procs[proc as usize].ran);
        ran > real.frozen_ran.saturating_add(self.settle)
    }

    fn judge_lost(&self, entity: EntityId, owner: &Ownership, now: Tick, out: &mut Findings) {
        let Some(within) = self.cx.options.recover_within else { return };
        let died = self.tick_of(owner.to).max(owner.tick);
        let late = now.0.saturating_sub(died.0);
        out.check(late <= within, entity, &[Some(owner.at)], || {
            format!("{} was killed {late} ticks ago and nobody owns it since", owner.to)
        });
    }

    fn judge_ended(&self, entity: EntityId, at: At, tick: Tick, out: &mut Findings) {
        let mut late = self.holders(entity).iter();
        let late = late.find(|(node, _)| self.is_long_after(*node, tick));
        let witness = [Some(at), late.map(|(_, real)| real.since)];
        out.check(late.is_none(), entity, &witness, || {
            let node = late.map_or(String::new(), |(node, _)| node.to_string());
            format!("it was destroyed, and {node} holds a real of it")
        });
    }
}

impl Watch for Census {
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn on(&mut self, _: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {}

    fn on_record(&mut self, moments: &Moments<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let is_past = self.at.is_some_and(|at| moments.moment.tick > at);
        if is_past && !self.is_taken && moments.node.name.kind != NodeKind::Client {
            self.take(cx, out);
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        if !self.is_taken {
            self.take(cx, out);
        }
    }
}
