//! The window: nobody runs far beyond what its base has made durable.
//!
//! A base's durable tick is at most the newest tick of the cell that the base had taken in when it
//! spoke; and where bundles of the cell are missing, or the base's life has just begun, at most
//! what it was before, until the cell has listed what it holds. So an upper bound of what the cell
//! may know follows from the bundles and the lists alone, and a step beyond it is a fault whatever
//! the bundles said.

use crate::audit::{AuditOptions, Cx, Findings, Here, Moments, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{Node, NodeKind, NodeName, Tick};
use rustc_hash::FxHashMap;

/// What a base life took in of a cell life.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// The newest bundle.
    n: u64,
    /// Its tick.
    newest: Tick,
    /// Whether the cell has said what it holds since the last bundle that is missing.
    is_listed: bool,
    /// The newest tick that may count as durable.
    counts: Option<Tick>,
}

pub struct BoundedSpeculation {
    window: u64,
    taken: FxHashMap<(Node, Node), Taken>,
    /// The newest tick that counted, as it was when a bundle to that cell left.
    echoed: FxHashMap<(Node, Node, u64), (Tick, At)>,
    /// The newest own tick that a cell has heard back, by base name.
    heard: FxHashMap<(Node, NodeName), (Tick, At)>,
}

impl BoundedSpeculation {
    pub fn new(options: &AuditOptions) -> Self {
        Self {
            window: options.window,
            taken: FxHashMap::default(),
            echoed: FxHashMap::default(),
            heard: FxHashMap::default(),
        }
    }

    fn base_record(&mut self, moments: &Moments<'_>) {
        let base = moments.node;
        for bundle in &moments.moment.received {
            let taken = self.taken.entry((bundle.peer, base)).or_default();
            if bundle.n > taken.n {
                taken.is_listed &= bundle.n == taken.n + 1;
                (taken.n, taken.newest) = (bundle.n, taken.newest.max(bundle.src_tick));
            }
        }
        for event in &moments.moment.events {
            if let Event::Listed { cell } = event {
                self.taken.entry((*cell, base)).or_default().is_listed = true;
            }
        }
        for bundle in &moments.moment.sent {
            let Some(taken) = self.taken.get_mut(&(bundle.peer, base)) else { continue };
            if taken.is_listed && taken.n > 0 {
                taken.counts = taken.counts.max(Some(taken.newest));
            }
            if let Some(counts) = taken.counts {
                self.echoed.insert((base, bundle.peer, bundle.n), (counts, moments.at));
            }
        }
    }

    fn cell_record(&mut self, moments: &Moments<'_>) {
        let cell = moments.node;
        for bundle in &moments.moment.received {
            let Some(echo) = self.echoed.remove(&(bundle.peer, cell, bundle.n)) else { continue };
            let heard = self.heard.entry((cell, bundle.peer.name)).or_insert(echo);
            *heard = (*heard).max(echo);
        }
    }
}

impl Watch for BoundedSpeculation {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Stepped]
    }

    fn on_record(&mut self, moments: &Moments<'_>, _: &Cx<'_>, _: &mut Findings) {
        match moments.node.name.kind {
            NodeKind::Base => self.base_record(moments),
            NodeKind::Cell => self.cell_record(moments),
            NodeKind::Manager | NodeKind::Client => {}
        }
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Stepped { entity, .. } = *here.event else { return };
        let granted_by = cx.state.reals.get(&(here.at.proc, entity)).map(|real| real.base);
        let kept_by = cx.state.lines.get(&entity).and_then(|line| line.log());
        if cx.is_blind() || (granted_by.is_none() && kept_by.is_none()) {
            return;
        }
        let proc = &cx.state.procs[here.at.proc as usize];
        let followed = granted_by.or(kept_by).and_then(|base| proc.base_of(entity, base));
        // Which of two bases keeps the entity now, its owner knows better than we do.
        let others = granted_by.into_iter().chain(kept_by).filter(|_| followed.is_none());
        let bases = followed.into_iter().chain(others);
        let heard = bases.filter_map(|base| self.heard.get(&(here.node, base))).max();
        let known = heard.map(|(tick, _)| *tick);
        let holds = known.is_some_and(|known| here.tick.0 < known.0.saturating_add(self.window));
        out.check(holds, entity, &[heard.map(|(_, at)| *at), Some(here.at)], || match known {
            Some(known) => format!(
                "{} ran tick {} while it had heard of nothing durable after tick {known}",
                here.node, here.tick
            ),
            None => format!("{} ran an entity whose base it had never heard", here.node),
        });
    }
}
