//! Everything that was taken in ends, once.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeKind, SessionId, SlotId, Tick};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A command: session and number.
type Command = (SessionId, u64);

/// Something that waits for its end at a base.
struct Open {
    entity: EntityId,
    at: At,
    tick: Tick,
}

pub struct Terminal {
    within: u64,
    sent: FxHashMap<Command, At>,
    answered: FxHashMap<Command, At>,
    queued: BTreeMap<Command, Open>,
    ended: FxHashSet<Command>,
    closed_sessions: FxHashSet<SessionId>,
    messages: BTreeMap<(EntityId, u64), Open>,
}

impl Terminal {
    pub fn new(options: &AuditOptions) -> Self {
        Self {
            within: options.answer_within,
            sent: FxHashMap::default(),
            answered: FxHashMap::default(),
            queued: BTreeMap::new(),
            ended: FxHashSet::default(),
            closed_sessions: FxHashSet::default(),
            messages: BTreeMap::new(),
        }
    }

    fn answer(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::ClientAnswered { session, entity, n, .. } = *here.event else { return };
        let before = self.answered.insert((session, n), here.at);
        out.check(before.is_none(), entity, &[before, Some(here.at)], || {
            format!("command s{session}/{n} was answered to its client twice")
        });
        if !self.sent.contains_key(&(session, n)) && cx.sees_here(here) {
            out.accuse(entity, &[Some(here.at)], || {
                format!("a client got an answer to s{session}/{n}, which it had not sent")
            });
        }
    }

    /// What waits for a slot that its base gave away is said again to the next keeper.
    fn send_on(&mut self, here: &Here<'_>, cx: &Cx<'_>, slot: SlotId) {
        let base = here.node.name;
        self.queued.retain(|_, open| {
            let taker = cx.state.procs[open.at.proc as usize].node.name;
            open.entity.slot() != slot || taker != base
        });
    }

    /// Whether a base ran on for so long after something that it should have ended; none if that
    /// life did not live so long.
    fn is_overdue(&self, cx: &Cx<'_>, open: &Open) -> bool {
        let base = &cx.state.procs[open.at.proc as usize];
        let lived = base.tick.0 > open.tick.0.saturating_add(self.within);
        let owner = cx.state.lines.get(&open.entity).and_then(|line| line.owners.last());
        let orphaned = owner.is_some_and(|owner| cx.options.killed.contains(&owner.to));
        lived && !orphaned && cx.sees(base.node)
    }

    fn judge_commands(&self, cx: &Cx<'_>, out: &mut Findings) {
        for ((session, n), open) in &self.queued {
            let over = self.ended.contains(&(*session, *n));
            let gone = self.closed_sessions.contains(session);
            if !over && (gone || !self.is_overdue(cx, open)) {
                continue;
            }
            out.check(over, open.entity, &[Some(open.at)], || {
                format!("command s{session}/{n} was taken in and never ended")
            });
        }
    }

    fn judge_messages(&self, cx: &Cx<'_>, out: &mut Findings) {
        // Where lives were killed on purpose a receiver may be out of reach for any time.
        if !cx.options.killed.is_empty() || !cx.sees_all(NodeKind::Base) {
            return;
        }
        for ((source, out_seq), open) in &self.messages {
            if self.is_overdue(cx, open) {
                out.check(false, *source, &[Some(open.at)], || {
                    format!("message {source}:{out_seq} left and was never closed")
                });
            }
        }
    }
}

impl Watch for Terminal {
    fn kinds(&self) -> &'static [Kind] {
        &[
            Kind::ClientSent,
            Kind::ClientAnswered,
            Kind::CommandQueued,
            Kind::CommandConfirmed,
            Kind::CommandAnswered,
            Kind::SessionClosed,
            Kind::MessageReleased,
            Kind::MessageClosed,
            Kind::SlotGiven,
        ]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let (at, tick) = (here.at, here.tick);
        match *here.event {
            Event::ClientSent { session, n, .. } => {
                self.sent.entry((session, n)).or_insert(at);
            }
            Event::ClientAnswered { .. } => self.answer(here, cx, out),
            Event::CommandQueued { entity, session, n } => {
                self.queued.insert((session, n), Open { entity, at, tick });
            }
            Event::CommandConfirmed { session, n, .. }
            | Event::CommandAnswered { session, n, .. } => {
                self.ended.insert((session, n));
            }
            Event::SlotGiven { slot, .. } => self.send_on(here, cx, slot),
            Event::SessionClosed { session, .. } => {
                self.closed_sessions.insert(session);
            }
            Event::MessageReleased { source, out_seq, .. } => {
                self.messages.insert((source, out_seq), Open { entity: source, at, tick });
            }
            Event::MessageClosed { source, out_seq } => {
                out.checked += u64::from(self.messages.remove(&(source, out_seq)).is_some());
            }
            _ => {}
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        self.judge_commands(cx, out);
        self.judge_messages(cx, out);
    }
}
