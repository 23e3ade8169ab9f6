//! Owners whose time is over although nobody wrote a tombstone for them.
//!
//! After the whole cluster was off, lineages name lives that ended in order, or with everybody else:
//! nobody of the present saw them, so nobody can give a verdict. Two facts stand for one. Where a
//! later life holds an owner's name, the owner is over: a name changes hands only so, and whoever
//! finds another in its own key gives up. And an owner that only the log names, which neither says
//! a word nor is registered for [`AWAITED`] ticks, is not waited for any longer.
//!
//! Either may be wrong about a life that is merely cut off. That costs it its entities and harms
//! nobody: they go on under a higher epoch, and it is fenced when it speaks.

use crate::core::BaseCore;
use marchland_common::cluster::MapChange;
use marchland_common::order::{Node, NodeKind, SlotId};

/// For how many ticks of this process an owner that only the log names may be missing among the
/// members: twice the time in which a process that lost its lease is registered again.
pub const AWAITED: u64 = 200;

impl BaseCore {
    /// Whom the log, or a slot that came from another base, names as owners.
    pub(crate) fn note_elders(&mut self, of: impl Fn(SlotId) -> bool) {
        let named = self.store.entities.iter().filter(|(id, _)| of(id.slot()));
        let living = named.filter(|(_, lineage)| !lineage.state.destroyed);
        self.elders.extend(living.map(|(_, lineage)| (lineage.owner, 0)));
    }

    /// The members are others now: cellapps of which a later life is registered are over.
    pub(crate) fn give_up_outlived(&mut self) {
        let known = self.elders.keys().copied().chain(self.peers.nodes());
        let is_outlived = |node: &Node| {
            node.name.kind == NodeKind::Cell
                && !self.map.is_dead(*node)
                && self.map.member(node.name).is_some_and(|member| member.node > *node)
        };
        let over: Vec<Node> = known.filter(is_outlived).collect();
        self.give_up(&over);
    }

    /// Once a tick: waits for the owners that only the log names, and not for ever.
    pub(crate) fn give_up_elders(&mut self) {
        let (map, peers) = (&self.map, &self.peers);
        self.elders.retain(|node, _| {
            !map.is_dead(*node) && peers.get(*node).is_none_or(|peer| peer.heard.is_none())
        });
        // Before this process is among them, the members are not known.
        if !map.is_live(self.config.node) {
            return;
        }
        let mut over = Vec::new();
        for (node, missing) in &mut self.elders {
            *missing = if map.is_live(*node) { 0 } else { *missing + 1 };
            if *missing >= AWAITED {
                over.push(*node);
            }
        }
        self.give_up(&over);
    }

    /// As if there were tombstones: nothing of these lives becomes durable here any more, and what
    /// they own finds other owners.
    fn give_up(&mut self, over: &[Node]) {
        if !over.is_empty() {
            self.map.apply(MapChange::Dead(over.iter().map(|node| node.incarnation).collect()));
            self.on_verdict();
        }
    }
}
