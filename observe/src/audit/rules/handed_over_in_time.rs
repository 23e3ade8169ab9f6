//! Whoever strayed is handed over soon.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeName};
use std::collections::BTreeMap;

/// An entity on the wrong side.
struct Stray {
    at: At,
    /// The base that granted it.
    base: NodeName,
    /// In how many ticks it could have run then.
    ran: u64,
}

pub struct HandedOverInTime {
    within: u64,
    strays: BTreeMap<(u32, EntityId), Stray>,
}

impl HandedOverInTime {
    pub fn new(options: &AuditOptions) -> Self {
        Self { within: options.hand_over_within, strays: BTreeMap::new() }
    }

    fn ends(&mut self, here: &Here<'_>, entity: EntityId, cx: &Cx<'_>, out: &mut Findings) {
        let proc = here.at.proc;
        let Some(stray) = self.strays.remove(&(proc, entity)) else { return };
        if !cx.sees_here(here) {
            return;
        }
        let ticks = ran_since(cx, (proc, entity), &stray);
        out.check(ticks <= self.within, entity, &[Some(stray.at), Some(here.at)], || {
            format!("{} kept an entity for {ticks} ticks after it strayed", here.node)
        });
    }
}

/// Ticks in which the entity ran since it strayed.
fn ran_since(cx: &Cx<'_>, (proc, entity): (u32, EntityId), stray: &Stray) -> u64 {
    cx.state.procs[proc as usize].ran_of(entity, stray.base).saturating_sub(stray.ran)
}

impl Watch for HandedOverInTime {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Strayed, Kind::Returned, Kind::Frozen, Kind::Deactivated]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::Strayed { entity, .. } => {
                let proc = here.at.proc;
                let Some(real) = cx.state.reals.get(&(proc, entity)) else { return };
                let ran = cx.state.procs[proc as usize].ran_of(entity, real.base);
                let stray = Stray { at: here.at, base: real.base, ran };
                self.strays.entry((proc, entity)).or_insert(stray);
            }
            Event::Returned { entity, .. }
            | Event::Frozen { entity, .. }
            | Event::Deactivated { entity, .. } => self.ends(here, entity, cx, out),
            _ => {}
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        for ((proc, entity), stray) in &self.strays {
            let ticks = ran_since(cx, (*proc, *entity), stray);
            let node = cx.state.procs[*proc as usize].node;
            if ticks > self.within && cx.sees(node) {
                out.check(false, *entity, &[Some(stray.at)], || {
                    format!("{node} kept an entity for {ticks} ticks after it strayed")
                });
            }
        }
    }
}
