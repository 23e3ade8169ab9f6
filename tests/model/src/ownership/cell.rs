//! A cellapp's side: what it applies, and what it does with each message.

use super::Ownership;
use super::mutant::Mutant;
use super::state::{Attempt, Cluster, Epoch, Msg, Real, Who};
use crate::lineage::{Event, LINEAGE_EVENTS_MAX, Lineage};

impl Ownership {
    /// The events that an owner could apply now.
    pub(super) fn applicable(&self, real: &Real) -> Vec<Event> {
        let mutant = self.params.mutant;
        let speculative = real.lineage.len().saturating_sub(real.acked);
        let may_run = real.frozen.is_none() || mutant == Mutant::SourceRunsOn;
        let in_window = speculative < self.params.window || mutant == Mutant::NoWindow;
        if !may_run || !in_window || real.lineage.len() == LINEAGE_EVENTS_MAX {
            return Vec::new();
        }
        let mut events = Vec::with_capacity(3);
        if let Some(n) = self.next_command(real) {
            events.push(Event::Applied(n));
            if self.params.expiry {
                events.push(Event::Expired(n));
            }
        }
        if self.params.timer && !real.lineage.events().any(|event| event == Event::Timer) {
            events.push(Event::Timer);
        }
        events
    }

    fn next_command(&self, real: &Real) -> Option<u8> {
        let done = real.lineage.commands_after(real.unknown_events);
        // Every list of commands is complete from its first entry on, so nothing can be missing
        // between the highest command done and the lowest one held above it.
        let below_high = match self.params.mutant {
            Mutant::CommandsOneByOne => done,
            _ => u8::MAX.checked_shr(done.leading_zeros()).unwrap_or(0),
        };
        let waiting = real.held & !below_high;
        (waiting != 0).then(|| waiting.trailing_zeros() as u8)
    }

    /// Applies an event and sends the step.
    pub(super) fn apply(&self, s: &mut Cluster, cell: u8, event: Event) {
        let from = s.who(cell);
        if let Some(real) = &mut s.cell_mut(from).real {
            real.lineage = real.lineage.with(event);
            let (epoch, lineage) = (real.epoch, real.lineage);
            s.send(Msg::Step { from, epoch, lineage });
        }
    }

    /// Freezes the entity and asks the base to hand it over.
    pub(super) fn ask_handoff(&self, s: &mut Cluster, cell: u8, target: u8) {
        let (from, to) = (s.who(cell), s.who(target));
        if let Some(real) = &mut s.cell_mut(from).real {
            real.attempts += 1;
            let attempt = Attempt { to, number: real.attempts };
            real.frozen = Some(attempt);
            let (epoch, lineage) = (real.epoch, real.lineage);
            s.send(Msg::Prepare { from, epoch, lineage, attempt });
            if matches!(self.params.mutant, Mutant::ActivatesOnOffload | Mutant::ParkedUnverified) {
                s.send(Msg::Offload { to, epoch, lineage });
            }
        }
    }

    /// The process begins a new life with empty memory.
    pub(super) fn begin_new_life(&self, s: &mut Cluster, cell: u8) {
        let cell = &mut s.cells[usize::from(cell)];
        *cell = super::state::Cell { incarnation: cell.incarnation + 1, ..Default::default() };
    }

    pub(super) fn on_grant(
        &self,
        s: &mut Cluster,
        (to, epoch): (Who, Epoch),
        image: Lineage,
        open: u8,
    ) {
        let mutant = self.params.mutant;
        let cell = s.cells[usize::from(to.cell)];
        let mine = s.is_current(to) || mutant == Mutant::GrantIgnoresIncarnation;
        let again = mutant == Mutant::GrantTakenTwice && epoch == cell.top && cell.real.is_some();
        if !mine || (epoch <= cell.top && !again) || self.params.sick == Some(to.cell) {
            return;
        }
        let lineage = match (mutant, cell.real, cell.parked) {
            (Mutant::GrantKeepsOwnCopy, Some(own), _) => own.lineage,
            (Mutant::ParkedUnverified, _, Some((_, parked))) => parked,
            _ => image,
        };
        self.activate(s, (to, epoch), lineage, open);
    }

    pub(super) fn on_offload(&self, s: &mut Cluster, to: Who, epoch: Epoch, lineage: Lineage) {
        let top = s.cells[usize::from(to.cell)].top;
        if !s.is_current(to) || epoch <= top {
            return;
        }
        if self.params.mutant == Mutant::ActivatesOnOffload && epoch + 1 > top {
            let held = self.params.all_commands();
            self.activate(s, (to, epoch + 1), lineage, held);
        } else {
            s.cell_mut(to).parked = Some((epoch, lineage));
        }
    }

    fn activate(&self, s: &mut Cluster, (to, epoch): (Who, Epoch), lineage: Lineage, held: u8) {
        let forgets = self.params.mutant == Mutant::DedupStaysBehind;
        let unknown = if forgets { lineage.len() } else { 0 };
        s.activate(to, epoch, lineage, held, unknown);
        if self.params.mutant != Mutant::FirstStepOptional {
            s.send(Msg::Step { from: s.who(to.cell), epoch, lineage });
        }
    }

    /// The copy under `epoch` or an older one is over; so is a Grant of it that is still on its way.
    pub(super) fn on_fenced(&self, s: &mut Cluster, to: Who, epoch: Epoch) {
        if s.is_current(to) {
            let cell = s.cell_mut(to);
            cell.top = cell.top.max(epoch);
            if cell.real.is_some_and(|real| real.epoch <= epoch) {
                cell.real = None;
            }
        }
    }

    /// The real of an owner that lives and holds `epoch`, if it does.
    pub(super) fn real_under(s: &mut Cluster, to: Who, epoch: Epoch) -> Option<&mut Real> {
        if !s.is_current(to) {
            return None;
        }
        s.cell_mut(to).real.as_mut().filter(|real| real.epoch == epoch)
    }
}
