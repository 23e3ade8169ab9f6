//! Grants: the gift of ownership, repeated until its first step is accepted.

use crate::core::BaseCore;
use crate::gate::Held;
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToCell, Grant, GrantWhy, Moment, Msg};
use marchland_common::order::{EntityId, Lsn, Tick};

impl BaseCore {
    /// Ownership has changed by the record with this number: a grant is due.
    pub(crate) fn begin_granting(&mut self, entity: EntityId, lsn: Lsn) {
        let now = self.now.entry(entity).or_default();
        now.lsn = lsn;
        now.own_lsn = lsn;
        now.granted = None;
        now.steps = None;
        now.asked = None;
        self.granting.insert(entity);
    }

    /// Sends what grants are due: at once when the record of ownership is durable, again every
    /// few ticks.
    pub(crate) fn send_grants(&mut self, moment: Moment) {
        let mut due = Vec::new();
        for entity in &self.granting {
            let Some(now) = self.now.get(entity) else { continue };
            let again = moment == Moment::Flush
                && self.ran >= now.granted_again + self.config.grant_again.max(1);
            if self.gate.is_durable(now.lsn) && (now.granted.is_none() || again) {
                due.push(*entity);
            }
        }
        for entity in due {
            if !self.dawdles(8) {
                self.send_grant(entity);
            }
        }
    }

    fn send_grant(&mut self, entity: EntityId) {
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let (to, why) = (lineage.owner, lineage.why);
        if self.map.is_dead(to) || self.is_elsewhere(entity) {
            return;
        }
        let grant = Grant {
            entity,
            epoch: lineage.epoch,
            to,
            seq: lineage.seq,
            digest: lineage.digest,
            why,
            state: Box::new(lineage.state.clone()),
            sessions: self.attached(entity),
            argument: lineage.argument.clone(),
            last_tick: lineage.last_tick,
        };
        let (epoch, seq) = (lineage.epoch, lineage.seq);
        let ran = self.ran;
        let now = self.now.entry(entity).or_default();
        now.granted_again = ran;
        let is_first = now.granted.is_none();
        now.granted.get_or_insert(ran);
        self.peers.at(to).out.push(Msg::BaseToCell(BaseToCell::Grant(grant)));
        if is_first && why == GrantWhy::Restore {
            self.reset_clients(entity, epoch, seq);
        }
        // What travels goes on from what its client was told: it was told nothing.
        if why == GrantWhy::Handoff && self.is_blind(entity) {
            self.attach_again(entity);
        }
        self.unsend(entity);
        self.push(entity);
    }

    /// The first step of an epoch was accepted.
    pub(crate) fn reported(&mut self, entity: EntityId, first_tick: Tick, lsn: Lsn) {
        self.granting.remove(&entity);
        let Some(lineage) = self.store.entities.get(&entity) else { return };
        let (epoch, owner, last_tick) = (lineage.epoch, lineage.owner, lineage.last_tick);
        self.event(Event::FirstStep { entity, epoch, owner, first_tick });
        // An earlier life of this base may have sent the grant, and this one not yet.
        let ran = self.ran;
        let now = self.now.entry(entity).or_default();
        if now.granted.is_none() {
            now.granted = Some(ran);
            self.resend(entity);
        }
        self.order_reported(entity, (last_tick, first_tick), lsn);
    }

    /// Grants whose first step did not come in time go to somebody else; the copy of who did not
    /// report is fenced by its epoch, so no verdict is needed.
    pub(crate) fn check_grant_deadlines(&mut self) {
        let late: Vec<EntityId> = self
            .granting
            .iter()
            // Where its entities stand still nobody can report.
            .filter(|id| !self.gives.contains_key(&id.slot()))
            .filter(|id| {
                let granted = self.now.get(id).and_then(|now| now.granted);
                granted.is_some_and(|at| self.ran > at + self.config.grant_deadline)
            })
            .copied()
            .collect();
        for entity in late {
            self.give_up_target(entity);
        }
    }

    /// Something leaves now if what it rests on is durable, and waits at the gate if not.
    pub(crate) fn leave(&mut self, needs: Lsn, what: Held) {
        if let Held::Fence { node, .. } = &what {
            // The window of a life must not move on before it can hear that a claim of it ended.
            self.peers.at(*node).rests_on(needs);
        }
        if self.gate.is_durable(needs) {
            self.let_go(what);
        } else {
            self.gate.hold(needs, what);
        }
    }
}
