//! First in, first out: bundles between lives, commands of a session, messages of a source.

use crate::audit::{AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Moments, Watch, What};
use crate::facts::Kind;
use crate::merge::{At, Oddity};
use marchland_common::journal::{BundleRef, Event, Refused};
use marchland_common::order::{EntityId, Node, NodeKind, SessionId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What one life took in from another.
#[derive(Default)]
struct Inbound {
    last: u64,
    /// Numbers that did not follow.
    odd: u64,
    /// How many of them it says it refused.
    refused: u64,
    first_odd: Option<At>,
}

pub struct Fifo {
    sent: FxHashMap<(Node, Node), (u64, At)>,
    /// Numbers that a life may leave out towards another, because it says that what was for it is
    /// dropped: that is how the other one learns of it.
    gone: FxHashMap<(Node, Node), u64>,
    inbound: BTreeMap<(Node, Node), Inbound>,
    commands: FxHashMap<(EntityId, SessionId), (u64, At)>,
    messages: FxHashMap<(EntityId, EntityId), (u64, At)>,
}

impl Fifo {
    pub fn new(_: &AuditOptions) -> Self {
        Self {
            sent: FxHashMap::default(),
            gone: FxHashMap::default(),
            inbound: BTreeMap::new(),
            commands: FxHashMap::default(),
            messages: FxHashMap::default(),
        }
    }

    fn sends(&mut self, moments: &Moments<'_>, bundle: &BundleRef, out: &mut Findings) {
        let key = (moments.node, bundle.peer);
        let last = self.sent.insert(key, (bundle.n, moments.at));
        let before = last.map_or(0, |(n, _)| n);
        let dropped = self.gone.remove(&key).unwrap_or(0);
        out.check(
            bundle.n > before && bundle.n - before - 1 <= dropped,
            None,
            &[last.map(|(_, at)| at), Some(moments.at)],
            || {
                let (from, to) = key;
                format!("{from} sent bundle {} to {to} after bundle {before}", bundle.n)
            },
        );
    }

    fn receives(&mut self, moments: &Moments<'_>, bundle: &BundleRef, out: &mut Findings) {
        out.checked += 1;
        let inbound = self.inbound.entry((moments.node, bundle.peer)).or_default();
        if inbound.last.checked_add(1) != Some(bundle.n) {
            inbound.odd += 1;
            inbound.first_odd.get_or_insert(moments.at);
        }
        inbound.last = inbound.last.max(bundle.n);
    }
}

/// Takes the next number of a row that must only grow.
fn next(row: &mut (u64, At), n: u64, at: At) -> Option<(u64, At)> {
    let before = *row;
    if n > before.0 {
        *row = (n, at);
        return None;
    }
    Some(before)
}

impl Watch for Fifo {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Refusal]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {
        let Event::Refusal { reason, from: Some(from), count, .. } = *here.event else { return };
        match reason {
            Refused::BundleGap => {
                self.inbound.entry((here.node, from)).or_default().refused += u64::from(count);
            }
            Refused::PeerGone => *self.gone.entry((here.node, from)).or_default() += 1,
            _ => {}
        }
    }

    fn on_record(&mut self, moments: &Moments<'_>, cx: &Cx<'_>, out: &mut Findings) {
        if moments.node.name.kind == NodeKind::Client || !cx.sees(moments.node) {
            return;
        }
        moments.moment.received.iter().for_each(|bundle| self.receives(moments, bundle, out));
        moments.moment.sent.iter().for_each(|bundle| self.sends(moments, bundle, out));
    }

    fn on_grown(&mut self, grown: &Grown<'_>, _: &Cx<'_>, out: &mut Findings) {
        let entity = grown.entity;
        for effect in &grown.step.effects {
            let at = effect.at;
            let none = (0, At::default());
            let (behind, what) = match effect.what {
                What::Command { session, n, .. } => {
                    let row = self.commands.entry((entity, session)).or_insert(none);
                    (next(row, n, at), (format!("command s{session}"), n))
                }
                What::Message { source, out_seq, .. } => {
                    let row = self.messages.entry((entity, source)).or_insert(none);
                    (next(row, out_seq, at), (format!("message of {source}"), out_seq))
                }
                What::Timer { .. } => continue,
            };
            let before = behind.map(|(_, at)| at);
            out.check(behind.is_none(), entity, &[before, Some(at)], || {
                let (what, n) = &what;
                let last = behind.map_or(0, |(last, _)| last);
                format!("{what} number {n} took effect after number {last}")
            });
        }
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        let CutWhat::Step(step) = &cut.what else { return };
        for effect in &step.effects {
            let (row, n) = match effect.what {
                What::Command { session, n, .. } => {
                    (self.commands.get_mut(&(cut.entity, session)), n)
                }
                What::Message { source, out_seq, .. } => {
                    (self.messages.get_mut(&(cut.entity, source)), out_seq)
                }
                What::Timer { .. } => continue,
            };
            if let Some(row) = row {
                row.0 = row.0.min(n.saturating_sub(1));
            }
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        for ((node, peer), inbound) in &self.inbound {
            if inbound.odd > inbound.refused {
                out.accuse(None, &[inbound.first_odd], || {
                    let more = inbound.odd - inbound.refused;
                    format!("{node} took in {more} bundles of {peer} out of order")
                });
            }
        }
        for oddity in cx.oddities {
            let Oddity::NeverSent { at, peer, n } = oddity else { continue };
            if cx.sees(*peer) {
                out.accuse(None, &[Some(*at)], || {
                    let node = cx.state.procs[at.proc as usize].node;
                    format!("{node} took in bundle {n} of {peer}, which never sent it")
                });
            }
        }
    }
}
