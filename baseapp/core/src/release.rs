//! What became durable takes effect: the only place from which results, messages and answers
//! leave.

use crate::core::BaseCore;
use crate::gate::{Held, StepEffects};
use crate::io::{BaseBug, BaseOutput, ToClient};
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Bundle, Header, Moment, Msg, Outgoing};
use marchland_common::order::{EntityId, Lsn, Node, NodeKind, SlotId};
use std::collections::BTreeSet;

impl BaseCore {
    /// Holds a step's effects until its record is durable.
    pub(crate) fn hold_step(&mut self, lsn: Lsn, mut effects: StepEffects) {
        self.note_closing(effects.entity, &effects.answered);
        let at = (effects.epoch, effects.seq);
        if self.has_bug(BaseBug::ReleaseEarly) {
            for (session, n, outcome) in std::mem::take(&mut effects.commands) {
                self.confirm(effects.entity, (session, n), outcome, at);
            }
        }
        if self.has_bug(BaseBug::SendBeforeDurable) {
            self.release_messages(effects.entity, &std::mem::take(&mut effects.sent));
        }
        if self.has_bug(BaseBug::AnswerEarly) {
            self.answer_sources(effects.entity, std::mem::take(&mut effects.received));
        }
        self.leave(lsn, Held::Step(Box::new(effects)));
    }

    /// Lets out everything that may leave now.
    pub(crate) fn let_out(&mut self, moment: Moment) {
        while let Some(what) = self.gate.next_free() {
            self.let_go(what);
        }
        self.send_grants(moment);
    }

    pub(crate) fn let_go(&mut self, what: Held) {
        match what {
            Held::Step(effects) => self.step_is_durable(*effects),
            Held::Cell(node, msg) => self.send_cell(node, msg),
            Held::Base(slot, msg) => self.send_base(slot, msg),
            Held::Life(node, msg) => self.peers.at(node).out.push(Msg::BaseToBase(msg)),
            Held::Client(frame) => self.tell_client(frame),
            Held::Answer(answer) => self.out.answers.push(answer),
            Held::Fence { node, entity, epoch } => {
                let spared = self.store.entities.get(&entity).is_some_and(|lineage| {
                    lineage.owner == node || lineage.is_fallback(node, epoch)
                });
                if !spared {
                    self.say_fenced(node, entity, epoch);
                }
            }
            Held::Welcome { session, request, resumed, own } => {
                self.welcome(session, request, resumed, own);
            }
            Held::Alone { entity, session, n, outcome } => {
                self.answered_alone(entity, (session, n), outcome);
            }
            Held::SessionEnd { entity, session } => {
                self.event(Event::SessionClosed { entity, session });
            }
            Held::Carried { entity } => self.push(entity),
            Held::Outcome { entity, out_seq, outcome } => {
                self.answer_is_known(entity, out_seq, outcome);
            }
            Held::SlotTaken { slot } => self.slot_is_taken(slot),
            Held::Spawned { source, out_seq } => self.spawn_is_durable(source, out_seq),
            Held::Closed { source, out_seq, to } => {
                self.messages_are_closed(source, vec![(out_seq, to)]);
            }
        }
    }

    fn step_is_durable(&mut self, effects: StepEffects) {
        let StepEffects { entity, owner, epoch, seq, .. } = effects;
        self.acks.insert((owner, entity), (epoch, seq));
        for (session, n, outcome) in effects.commands {
            self.confirm(entity, (session, n), outcome, (epoch, seq));
        }
        if let Some((node, epoch)) = effects.release {
            self.send_cell(node, BaseToCell::Release { entity, epoch });
        }
        if !effects.own.is_empty() {
            self.tell_own(entity, (epoch, seq), effects.own);
        }
        self.release_messages(entity, &effects.sent);
        self.answer_sources(entity, effects.received);
        self.messages_are_closed(entity, effects.answered);
        if effects.destroyed {
            self.destruction_is_durable(entity);
        }
    }

    fn send_cell(&mut self, node: Node, msg: BaseToCell) {
        let fenced = matches!(msg, BaseToCell::Fenced { .. });
        if fenced || !self.map.is_dead(node) {
            self.peers.at(node).out.push(Msg::BaseToCell(msg));
        }
    }

    /// Sends to the base of a slot. Without one it is lost here, and its sender says it again
    /// when the slot has a base.
    pub(crate) fn send_base(&mut self, slot: SlotId, msg: marchland_common::msg::BaseToBase) {
        match self.map.base_of(slot) {
            Some(base) if base == self.config.node => self.loopback.push(msg),
            Some(base) => self.peers.at(base).out.push(Msg::BaseToBase(msg)),
            None => self.refusals.add(Refused::NotHere, None, None),
        }
    }

    pub(crate) fn tell_client(&mut self, frame: ToClient) {
        self.out.clients.push(frame);
    }

    /// Ends the moment: bundles, counts, and what was refused.
    pub(crate) fn finish(&mut self, moment: Moment) -> BaseOutput {
        for ((owner, entity), (epoch, seq)) in std::mem::take(&mut self.acks) {
            self.send_cell(owner, BaseToCell::Ack { entity, epoch, seq });
        }
        self.bundle(moment);
        self.out.stats = self.stats();
        self.out.events.extend(self.refusals.take());
        std::mem::take(&mut self.out)
    }

    fn bundle(&mut self, moment: Moment) {
        if moment == Moment::Flush {
            for member in self.map.members() {
                let is_peer = matches!(member.node.name.kind, NodeKind::Cell | NodeKind::Base);
                if is_peer && member.node != self.config.node && !self.map.is_dead(member.node) {
                    self.peers.at(member.node).due = true;
                }
            }
        }
        let shut: BTreeSet<Node> =
            self.peers.nodes().filter(|node| self.may_run_frozen(*node)).collect();
        for (node, peer) in self.peers.iter_mut() {
            let due = std::mem::take(&mut peer.due);
            let msgs = std::mem::take(&mut peer.out);
            if !due && msgs.is_empty() {
                continue;
            }
            peer.sent += 1;
            let header = match node.name.kind {
                NodeKind::Cell if shut.contains(&node) => {
                    Header::BaseToCell { durable_tick: peer.told_durable() }
                }
                NodeKind::Cell => {
                    Header::BaseToCell { durable_tick: peer.durable_tick(self.gate.durable) }
                }
                _ => Header::Peer,
            };
            let (n, src_tick) = (peer.sent, self.tick);
            let bundle = Bundle { n, src_tick, moment, phase_us: 0, header, msgs };
            self.out.bundles.push(Outgoing { to: node, bundle });
        }
    }

    /// What waits for a later look: see [`BaseCore::retry_due`].
    pub(crate) fn schedule(&mut self, entity: EntityId) {
        let Some(now) = self.now.get_mut(&entity) else { return };
        if now.retry.is_none() {
            let at = self.ran + crate::queue::AGAIN;
            now.retry = Some(at);
            self.retries.insert((at, entity));
        }
    }

    /// Looks after unfinished business: whatever a lost link, a full table or a restarted process
    /// swallowed is said again.
    pub(crate) fn retry_due(&mut self) {
        while let Some((at, entity)) = self.retries.first().copied()
            && at <= self.ran
        {
            self.retries.pop_first();
            if let Some(now) = self.now.get_mut(&entity) {
                now.retry = None;
            }
            if self.store.leaving.contains_key(&entity.slot()) {
                self.schedule(entity);
                continue;
            }
            let unsettled = self.send_messages_again(entity);
            let (unattached, blind) = (self.is_unattached(entity), self.is_blind(entity));
            if self.is_overdue(entity) || unattached {
                self.resend(entity);
            } else {
                if blind {
                    self.attach_again(entity);
                }
                self.push(entity);
            }
            let behind = self.now.get(&entity).is_some_and(|now| now.asked.is_some());
            if behind {
                self.need_snapshot(entity);
            }
            if unsettled || unattached || blind || behind || self.queues.contains_key(&entity) {
                self.schedule(entity);
            }
        }
    }

    /// Has said again what may be missing, here or there.
    pub(crate) fn ask_peers(&mut self) {
        let members = self.map.members().iter().map(|m| m.node);
        let within = self.config.heard_within;
        let heard = self.peers.nodes().filter(|n| self.peers.is_heard(*n, self.ran, within));
        let all: BTreeSet<Node> = members.chain(heard).collect();
        for node in all {
            if node == self.config.node || self.map.is_dead(node) || self.is_outlived(node) {
                continue;
            }
            match node.name.kind {
                NodeKind::Cell => self.ask_what_it_holds(node),
                NodeKind::Base if self.map.is_live(node) => self.say_again_what_is_open(node),
                _ => {}
            }
        }
    }

    /// A cellapp is asked what it holds until it has said so, see [`crate::peers::Listing`].
    fn ask_what_it_holds(&mut self, node: Node) {
        let ran = self.ran;
        let peer = self.peers.at(node);
        if !peer.listing.is_whole() {
            peer.asked = Some(ran);
            let question = peer.listing.question();
            peer.out.push(Msg::BaseToCell(BaseToCell::Resync { question }));
        }
    }

    /// A base whose link began anew gets everything that is open again, and so does each of them
    /// once after a restart of this one.
    fn say_again_what_is_open(&mut self, node: Node) {
        let peer = self.peers.at(node);
        let is_new = self.asks_all && peer.asked.is_none();
        if std::mem::take(&mut peer.ask) || is_new {
            peer.asked = Some(self.ran);
            self.send_again_to(node);
        }
    }
}
