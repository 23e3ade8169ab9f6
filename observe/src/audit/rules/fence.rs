//! What is tagged with an ended epoch has no effect.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Node, SessionId, Tick};
use rustc_hash::FxHashMap;

/// Somebody was told that its epoch ended.
struct Told {
    at: At,
    /// The tick of its first step that it made knowing that.
    knew: Option<Tick>,
}

pub struct Fence {
    window: u64,
    /// The highest epoch that each process showed or owned of an entity.
    shown: FxHashMap<(u32, EntityId), (Epoch, At)>,
    /// The highest epoch that a client saw of an entity.
    seen: FxHashMap<(u32, SessionId, EntityId), (Epoch, At)>,
    told: FxHashMap<(Node, EntityId, Epoch), Told>,
}

impl Fence {
    pub fn new(options: &AuditOptions) -> Self {
        Self {
            window: options.window,
            shown: FxHashMap::default(),
            seen: FxHashMap::default(),
            told: FxHashMap::default(),
        }
    }

    fn accepted(here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Accepted { entity, epoch, owner, .. } = *here.event else { return };
        let Some(line) = cx.state.lines.get(&entity).filter(|_| cx.sees_line(here, entity)) else {
            return;
        };
        let holds = line.epoch();
        let last = line.owners.last();
        let witness = last.map(|last| last.at).or(line.born.map(|born| born.at));
        out.check(epoch >= holds, entity, &[witness, Some(here.at)], || {
            format!("{} accepted a step of epoch {epoch} under epoch {holds}", here.node)
        });
        let foreign = last.filter(|last| last.epoch == epoch && last.to != owner);
        if let Some(last) = foreign {
            out.accuse(entity, &[Some(last.at), Some(here.at)], || {
                let to = last.to;
                format!("a step of {owner} was accepted under epoch {epoch}, which is {to}'s")
            });
        }
        if epoch > holds && holds > Epoch::NONE {
            out.accuse(entity, &[witness, Some(here.at)], || {
                format!("a step of epoch {epoch} was accepted; the base had granted {holds}")
            });
        }
    }

    fn shows(&mut self, here: &Here<'_>, entity: EntityId, epoch: Epoch, out: &mut Findings) {
        let last = self.shown.entry((here.at.proc, entity)).or_insert((epoch, here.at));
        let (highest, at) = *last;
        if epoch > highest {
            *last = (epoch, here.at);
        }
        out.check(epoch >= highest, entity, &[Some(at), Some(here.at)], || {
            format!("{} applied epoch {epoch} after epoch {highest}", here.node)
        });
    }

    fn saw(&mut self, here: &Here<'_>, out: &mut Findings) {
        let Event::ClientSaw { session, entity, epoch, .. } = *here.event else { return };
        let key = (here.at.proc, session, entity);
        let last = self.seen.entry(key).or_insert((epoch, here.at));
        let (highest, at) = *last;
        if epoch > highest {
            *last = (epoch, here.at);
        }
        out.check(epoch >= highest, entity, &[Some(at), Some(here.at)], || {
            format!("session {session} was shown epoch {epoch} after epoch {highest}")
        });
    }

    fn stepped(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Stepped { entity, epoch, .. } = *here.event else { return };
        if self.told.is_empty() {
            return;
        }
        let Some(told) = self.told.get_mut(&(here.node, entity, epoch)) else { return };
        if !cx.before(told.at, here.at) {
            return;
        }
        let knew = *told.knew.get_or_insert(here.tick);
        let stops = here.tick.0 < knew.0.saturating_add(self.window);
        out.check(stops, entity, &[Some(told.at), Some(here.at)], || {
            let ticks = here.tick.0.saturating_sub(knew.0);
            format!("{} went on under epoch {epoch} for {ticks} ticks after its fence", here.node)
        });
    }
}

impl Watch for Fence {
    fn kinds(&self) -> &'static [Kind] {
        &[
            Kind::Accepted,
            Kind::GhostApplied,
            Kind::Activated,
            Kind::ClientSaw,
            Kind::FencedSent,
            Kind::Stepped,
        ]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::Accepted { .. } => Self::accepted(here, cx, out),
            Event::GhostApplied { entity, epoch, .. } | Event::Activated { entity, epoch, .. } => {
                self.shows(here, entity, epoch, out);
            }
            Event::ClientSaw { .. } => self.saw(here, out),
            Event::FencedSent { entity, epoch, to, .. } => {
                self.told.entry((to, entity, epoch)).or_insert(Told { at: here.at, knew: None });
            }
            Event::Stepped { .. } => self.stepped(here, cx, out),
            _ => {}
        }
    }
}
