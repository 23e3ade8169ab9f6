//! Bundles of other processes: who may say what, and in which order it counts.

use crate::core::BaseCore;
use crate::io::BaseBug;
use crate::peers::Answered;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToBase, CellToBase, Frame, Msg};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind, Tick};

/// Where a message of a cellapp comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// The life.
    pub from: Node,
    /// Its tick.
    pub tick: Tick,
    /// Its step counter.
    pub steps: u64,
}

impl BaseCore {
    /// Works one bundle off. A repeated one has no effect. After a gap the link began anew: what
    /// comes counts no tick as durable until the other side has said what it holds.
    pub(crate) fn on_frame(&mut self, frame: Frame) {
        let Frame { from, bundle } = frame;
        if from.name.kind == NodeKind::Base && self.is_outlived(from) {
            // What an earlier life sent may be closed and forgotten by the word of the later one.
            return self.refusals.add(Refused::StaleIncarnation, Some(from), None);
        }
        let peer = self.peers.at(from);
        let follows = bundle.n == peer.got.saturating_add(1);
        if bundle.n <= peer.got {
            return self.refusals.add(Refused::BundleGap, Some(from), None);
        }
        if !follows {
            peer.ask = true;
            peer.listing.lose();
            self.refusals.add(Refused::BundleGap, Some(from), None);
            self.lose_views_of(from);
        }
        let peer = self.peers.at(from);
        peer.got = bundle.n;
        let source = Source { from, tick: bundle.src_tick, steps: peer.word.steps };
        let before = self.gate.last;
        for msg in bundle.msgs {
            match (from.name.kind, msg) {
                (NodeKind::Cell, Msg::CellToBase(msg)) => self.on_cell_msg(source, msg),
                (NodeKind::Base, Msg::BaseToBase(msg)) => self.on_base_msg(from, msg),
                _ => self.refusals.add(Refused::WrongDirection, Some(from), None),
            }
        }
        let wrote = (self.gate.last > before).then_some(self.gate.last);
        if !self.map.is_dead(from) {
            let early = self.has_bug(BaseBug::CountUnlisted);
            let peer = self.peers.at(from);
            let counts = early || peer.listing.is_whole();
            peer.worked_off(bundle.src_tick, wrote, counts);
        }
    }

    fn on_cell_msg(&mut self, source: Source, msg: CellToBase) {
        let (entity, epoch) = about(&msg);
        if self.map.is_dead(source.from) {
            self.refusals.add(Refused::StaleIncarnation, Some(source.from), entity);
            if let (Some(entity), Some(epoch)) = (entity, epoch) {
                self.fence_dead(source.from, entity, epoch);
            }
            return;
        }
        match msg {
            CellToBase::Step(step) => self.on_step(source, step),
            CellToBase::Prepare(prepare) => self.on_prepare(source, &prepare),
            CellToBase::OrderRefused { order, entity, reason } => {
                self.on_order_refused(source.from, order, entity, reason);
            }
            CellToBase::View(view) => self.on_view(source.from, view),
            CellToBase::GrantStale { entity, epoch, known } => {
                self.on_grant_stale(source.from, entity, epoch, known);
            }
            CellToBase::Holding { entity, epoch, seq, digest } => {
                self.on_holding(source.from, entity, epoch, (seq, digest));
            }
            CellToBase::Notice { entity, payload } => {
                self.on_notice(source.from, entity, payload);
            }
            CellToBase::Listed { question } => self.on_listed(source.from, question),
            CellToBase::SlotsClosed(slots) => self.on_slots_closed(source.from, &slots),
        }
    }

    /// A cellapp has said everything that it holds: from this bundle on its ticks count.
    fn on_listed(&mut self, from: Node, question: u64) {
        match self.peers.at(from).listing.answer(question) {
            Answered::Now => self.event(Event::Listed { cell: from }),
            Answered::Before => {}
            Answered::Unasked => self.refusals.add(Refused::Malformed, Some(from), None),
        }
    }

    /// A message of another base, or of this one.
    pub(crate) fn on_base_msg(&mut self, from: Node, msg: BaseToBase) {
        if self.map.is_dead(from) {
            return self.refusals.add(Refused::StaleIncarnation, Some(from), None);
        }
        match msg {
            BaseToBase::Deliver { to, source, out_seq, payload, value, origin, settled, after } => {
                let msg = marchland_common::msg::InboxMessage {
                    entity: to,
                    source,
                    out_seq,
                    payload,
                    value,
                    origin,
                    settled,
                };
                self.on_deliver(from, msg, after);
            }
            BaseToBase::Delivered { source, out_seq, to, outcome } => {
                self.on_delivered(from, source, (out_seq, to), outcome);
            }
            BaseToBase::Settled { source, to, through } => {
                self.on_settled(from, source, to, through)
            }
            BaseToBase::SlotChunk(chunk) => self.on_slot_chunk(from, chunk),
            BaseToBase::SlotGot { slot, term, next } => self.on_slot_got(from, slot, term, next),
            BaseToBase::SlotHeld { slot, term, digest } => {
                self.on_slot_held(from, slot, term, digest);
            }
        }
    }

    /// Whether a later life of the same process is known.
    pub(crate) fn is_outlived(&self, node: Node) -> bool {
        let registered = self.map.member(node.name).is_some_and(|m| m.node > node);
        registered || self.peers.was_later_heard(node)
    }
}

fn about(msg: &CellToBase) -> (Option<EntityId>, Option<Epoch>) {
    match msg {
        CellToBase::Step(step) => (Some(step.entity), Some(step.epoch)),
        CellToBase::Prepare(prepare) => (Some(prepare.entity), Some(prepare.epoch)),
        CellToBase::Holding { entity, epoch, .. } => (Some(*entity), Some(*epoch)),
        CellToBase::View(view) => (Some(view.entity), None),
        CellToBase::GrantStale { entity, .. }
        | CellToBase::Notice { entity, .. }
        | CellToBase::OrderRefused { entity, .. } => (Some(*entity), None),
        CellToBase::Listed { .. } | CellToBase::SlotsClosed(_) => (None, None),
    }
}
