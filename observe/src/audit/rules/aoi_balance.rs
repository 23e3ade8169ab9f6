//! Enter, leave, enter, leave.
//!
//! A client's view moves with its entity: the next owner of a handoff goes on with it. After a
//! restore nobody knows what the client saw, and its view begins anew. So the view is followed
//! along the epochs of its witness; what an ended owner still says about it reaches nobody.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::{Event, OwnerWhy};
use marchland_common::order::{EntityId, Epoch, SessionId};
use rustc_hash::FxHashMap;

struct View {
    epoch: Epoch,
    seen: FxHashMap<EntityId, At>,
}

pub struct AoiBalance {
    views: FxHashMap<(EntityId, SessionId), View>,
}

impl AoiBalance {
    pub fn new(_: &AuditOptions) -> Self {
        Self { views: FxHashMap::default() }
    }

    /// The view of a session as the speaker has it; none if the speaker owns the witness no more.
    fn view(
        &mut self,
        here: &Here<'_>,
        witness: EntityId,
        session: SessionId,
        cx: &Cx<'_>,
    ) -> Option<&mut View> {
        let epoch = cx.state.reals.get(&(here.at.proc, witness))?.epoch;
        let begin = || View { epoch, seen: FxHashMap::default() };
        let view = self.views.entry((witness, session)).or_insert_with(begin);
        if epoch < view.epoch {
            return None;
        }
        if epoch > view.epoch {
            let owners = cx.state.lines.get(&witness).map(|line| line.owners.iter());
            let between = owners
                .into_iter()
                .flatten()
                .filter(|owner| owner.epoch > view.epoch && owner.epoch <= epoch);
            let mut moved = between.map(|owner| matches!(owner.why, OwnerWhy::Handoff(_)));
            if !moved.all(|moved| moved) {
                view.seen.clear();
            }
            view.epoch = epoch;
        }
        Some(view)
    }
}

impl Watch for AoiBalance {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Entered, Kind::Left, Kind::ViewRestarted]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        if cx.is_blind() {
            return;
        }
        match *here.event {
            Event::Entered { witness, session, entity } => {
                let Some(view) = self.view(here, witness, session, cx) else { return };
                let before = view.seen.insert(entity, here.at);
                out.check(before.is_none(), entity, &[before, Some(here.at)], || {
                    format!("entered the view of session {session} twice without leaving it")
                });
            }
            Event::Left { witness, session, entity } => {
                let Some(view) = self.view(here, witness, session, cx) else { return };
                let before = view.seen.remove(&entity);
                out.check(before.is_some(), entity, &[Some(here.at)], || {
                    format!("left the view of session {session}, in which it was not")
                });
            }
            Event::ViewRestarted { witness, session } => {
                if let Some(view) = self.view(here, witness, session, cx) {
                    view.seen.clear();
                }
            }
            _ => {}
        }
    }
}
