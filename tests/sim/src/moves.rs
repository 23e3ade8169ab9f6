//! Slots that move between baseapps: who is ordered to give some away, and who drains.

use crate::happening::Happening;
use crate::process::Process;
use crate::reach::MANAGER;
use crate::run::Run;
use marchland_baseapp_core::io::BaseOrder;
use marchland_common::order::{Node, NodeKind, NodeName, SlotId, Term};
use marchland_manager_core::Give;
use std::collections::BTreeMap;

/// Between two attempts to tell the store that a baseapp drains, or serves again.
const SAY_AGAIN_US: u64 = 100_000;

impl Run {
    /// Tells keepers what they are to give away.
    pub(crate) fn carry_gives(&mut self, gives: Vec<Give>) {
        for Give { keeper, slots, to } in gives {
            self.tell_keeper(keeper, BaseOrder::GiveSlots { slots, to });
        }
    }

    fn tell_keeper(&mut self, keeper: Node, order: BaseOrder) {
        if self.reach.answers(MANAGER, keeper.name) && !self.stands(keeper.name) {
            let delay = self.rng.between(500, 20_000) as u64;
            self.agenda.after(delay, Happening::Ordered(keeper, order));
        }
    }

    /// An order reaches a baseapp.
    pub(crate) fn ordered(&mut self, node: Node, order: BaseOrder) {
        if let Some(base) = self.life(node).and_then(Process::base_mut) {
            base.orders.push(order);
        }
    }

    /// Orders some slots to another baseapp than the one that keeps them, most of them such that
    /// somebody lives in them.
    pub(crate) fn order_moves(&mut self, count: u64) {
        let now = self.agenda.now;
        let owners = self.store.facts(now).slots;
        let all = self.everybody();
        let mut orders: BTreeMap<(NodeName, NodeName), Vec<(SlotId, Term)>> = BTreeMap::new();
        for _ in 0..count {
            let slot = match all.is_empty() || self.rng.chance(1, 4) {
                true => SlotId(self.rng.below(256) as u8),
                false => all[self.rng.below(all.len() as u64) as usize].slot(),
            };
            let other = NodeName {
                kind: NodeKind::Base,
                number: 1 + self.rng.below(u64::from(self.config.bases)) as u16,
            };
            let owner = owners.iter().find(|owner| owner.slot == slot && owner.base != other);
            if let Some(owner) = owner {
                orders.entry((owner.base, other)).or_default().push((slot, owner.term));
            }
        }
        for ((keeper, to), slots) in orders {
            if let Some(node) = self.processes.get(&keeper).map(|process| process.node) {
                self.tell_keeper(node, BaseOrder::GiveSlots { slots, to });
            }
        }
    }

    /// A baseapp says that it gives away what it has.
    pub(crate) fn drain(&mut self, name: NodeName, for_us: u64) {
        if self.say_draining(name, true) {
            self.agenda.after(for_us, Happening::Serve(name));
        }
    }

    /// It serves again, if it is still the same life.
    pub(crate) fn serve_again(&mut self, name: NodeName) {
        let drains = self.store.draining().iter().any(|node| node.name == name);
        if drains && !self.say_draining(name, false) {
            self.agenda.after(SAY_AGAIN_US, Happening::Serve(name));
        }
    }

    /// Every drain is over.
    pub(crate) fn end_drains(&mut self) {
        let names: Vec<NodeName> = self.store.draining().iter().map(|node| node.name).collect();
        for name in names {
            self.serve_again(name);
        }
    }

    /// False if the store was not reached.
    fn say_draining(&mut self, name: NodeName, drains: bool) -> bool {
        if !self.reaches_store(name) {
            return false;
        }
        let now = self.agenda.now;
        self.store.forget_drains(name);
        if let Some((node, lease)) = self.processes.get(&name).map(|p| (p.node, p.lease)) {
            self.store.set_draining(now, node, lease, drains);
            self.tell_all();
        }
        true
    }

    /// The baseapp that a client of a slot is sent to, beginning with the one that it knows: each
    /// sends it on by what it knows of the map.
    pub(crate) fn route(&self, slot: SlotId, known: NodeName) -> Option<Node> {
        let is_base = |p: &&Process| p.node.name.kind == NodeKind::Base;
        let any = || self.processes.values().find(is_base);
        let mut at = self.processes.get(&known).or_else(any)?;
        for _ in 0..self.config.bases {
            let keeper = at.watch.keeper(slot)?;
            let next = self.processes.get(&keeper)?;
            if next.node == at.node {
                break;
            }
            at = next;
        }
        Some(at.node)
    }
}
