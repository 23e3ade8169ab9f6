//! Silence: ghosts whose owner does not speak are marked, then dropped, and found again.

use super::{Binding, Lead, MirrorCtx, Mirrors};
use marchland_common::journal::GhostEnd;
use marchland_common::order::{EntityId, Node, Tick};

impl Mirrors {
    /// A bundle of another cellapp came in, whatever it says. Call it in ingress before the
    /// bundle's messages.
    pub fn heard(&mut self, from: Node, cx: &mut MirrorCtx<'_>) {
        let Some(owner) = self.owners.get_mut(&from) else { return };
        owner.heard = owner.heard.max(cx.now);
        if !std::mem::replace(&mut owner.is_stale, false) {
            return;
        }
        let lost: Vec<(u32, Binding)> = owner.iter().collect();
        for (index, binding) in lost {
            match binding {
                Binding::Bound(entity) => cx.looks.set_stale(entity, false),
                Binding::Lost(entity, epoch) => self.recover(from, entity, epoch, index, cx),
                Binding::Free | Binding::Retired(..) => {}
            }
        }
    }

    /// A life is gone for ever, or messages of it were lost: nobody speaks for its ghosts now, and
    /// its numbers mean nothing.
    pub fn forget_owner(&mut self, node: Node, cx: &mut MirrorCtx<'_>) {
        let Some(owner) = self.owners.remove(&node) else { return };
        for entity in owner.bound() {
            self.unbind(entity, cx);
        }
    }

    /// Call it once a tick: marks and drops what nobody has spoken for too long.
    pub fn tick(&mut self, cx: &mut MirrorCtx<'_>) {
        self.tombs.expire(cx.now);
        self.age_owners(cx);
        while let Some((deadline, entity)) = self.deadlines.first().copied() {
            if deadline > cx.now {
                break;
            }
            self.deadlines.pop_first();
            self.age_unbound(entity, cx);
        }
    }

    fn age_owners(&mut self, cx: &mut MirrorCtx<'_>) {
        let silent = |heard: Tick| cx.now.0.saturating_sub(heard.0);
        let patience = self.patience;
        let mut given_up = Vec::new();
        for (node, owner) in &mut self.owners {
            if silent(owner.heard) >= patience.stale && !owner.is_stale {
                owner.is_stale = true;
                owner.bound().into_iter().for_each(|entity| cx.looks.set_stale(entity, true));
            }
            if silent(owner.heard) >= patience.abandoned {
                given_up.extend(owner.bound().into_iter().map(|entity| (*node, entity)));
            }
        }
        for (_, entity) in given_up {
            if let Some(ghost) = self.ghosts.get(&entity) {
                let lost = Binding::Lost(entity, ghost.epoch);
                self.end(entity, GhostEnd::Abandoned, lost, cx);
            }
        }
    }

    fn age_unbound(&mut self, entity: EntityId, cx: &mut MirrorCtx<'_>) {
        match self.ghosts.get(&entity).map(|ghost| ghost.lead) {
            Some(Lead::Unbound { is_marked: false, .. }) => {
                cx.looks.set_stale(entity, true);
                self.wait_unbound(entity, true, cx.now);
            }
            Some(Lead::Unbound { .. }) => {
                self.end(entity, GhostEnd::Abandoned, Binding::Free, cx);
            }
            Some(Lead::Bound { .. } | Lead::Frozen) | None => {}
        }
    }
}
