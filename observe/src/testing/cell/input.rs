//! A cell of the model: what comes to it.

use super::*;

impl Cluster {
    pub(super) fn take_input(&mut self, cell: usize, events: &mut Vec<Event>) {
        for input in std::mem::take(&mut self.cells[cell].input) {
            match input {
                ToCell::Grant { entity, real, why, base } => {
                    self.activate(cell, entity, *real, (why, base), events);
                }
                ToCell::Release { entity, epoch } => {
                    self.drop_real(cell, (entity, epoch), EndWhy::Released, events);
                }
                ToCell::Fenced { entity, epoch } => {
                    self.drop_real(cell, (entity, epoch), EndWhy::Fenced, events);
                }
                ToCell::Abort { entity, epoch, reason } => {
                    let here = self.cells[cell].reals.get_mut(&entity);
                    if let Some(here) = here.filter(|here| here.real.epoch == epoch) {
                        here.frozen = false;
                        let seq = here.real.seq;
                        events.push(Event::Unfrozen { entity, epoch, seq, reason });
                    }
                }
                ToCell::Command { entity, .. }
                | ToCell::Inbox { entity, .. }
                | ToCell::Answer { entity, .. }
                | ToCell::Session { entity, .. } => {
                    let here = self.cells[cell].reals.get_mut(&entity);
                    if let Some(here) = here.filter(|here| !here.frozen) {
                        here.work.push(input);
                    }
                }
            }
        }
    }

    fn drop_real(
        &mut self,
        cell: usize,
        (entity, epoch): (EntityId, Epoch),
        why: EndWhy,
        events: &mut Vec<Event>,
    ) {
        let reals = &mut self.cells[cell].reals;
        if let Some(here) = reals.get(&entity).filter(|here| here.real.epoch == epoch) {
            let seq = here.real.seq;
            events.push(Event::Deactivated { entity, epoch, seq, why });
            reals.remove(&entity);
        }
    }

    fn activate(
        &mut self,
        cell: usize,
        entity: EntityId,
        real: Real,
        (why, base): (GrantWhy, Node),
        events: &mut Vec<Event>,
    ) {
        let Real { epoch, seq, digest, .. } = real;
        let seen = self.cells[cell].seen.entry(entity).or_default();
        if *seen >= epoch {
            return;
        }
        *seen = epoch;
        if let Some(old) = self.cells[cell].reals.get(&entity).map(|here| here.real.epoch) {
            self.drop_real(cell, (entity, old), EndWhy::Replaced, events);
        }
        events.push(Event::Activated { entity, epoch, seq, digest, base, why });
        let mut real = real;
        if let Some(session) = real.session.filter(|_| why == GrantWhy::Restore) {
            real.seen.clear();
            events.push(Event::ViewRestarted { witness: entity, session });
        }
        let here = Here { real, frozen: false, first: true, leaves: None, work: Vec::new() };
        self.cells[cell].reals.insert(entity, here);
    }

    pub(super) fn apply_ghosts(&mut self, cell: usize, events: &mut Vec<Event>) {
        let model = &mut self.cells[cell];
        for ghost in std::mem::take(&mut model.ghosts) {
            let GhostState { entity, owner, epoch, seq, digest } = ghost;
            let own = model.seen.get(&entity).copied().unwrap_or(Epoch::NONE);
            let last = model.shown.get(&entity).copied().unwrap_or_default();
            if epoch > own && (epoch, seq) >= last {
                model.shown.insert(entity, (epoch, seq));
                let seq = Seq(seq);
                events.push(Event::GhostApplied { entity, owner, epoch, seq, digest });
            }
        }
    }
}
