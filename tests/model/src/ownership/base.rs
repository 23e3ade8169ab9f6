//! The base: the one place that every effect must pass.
//!
//! Accepting, logging, syncing and answering are one action here. That is exact for the protocol,
//! in which nothing leaves before the sync: a crash in between is a message that never arrived.
//! What happens when something does leave early is the business of two mutants.

use super::Ownership;
use super::mutant::Mutant;
use super::state::{Attempt, Cluster, Epoch, Msg, Who, refusal};
use crate::lineage::Lineage;

impl Ownership {
    /// Takes a step of `from`, or answers why not.
    pub(super) fn on_step(&self, s: &mut Cluster, from: Who, epoch: Epoch, lineage: Lineage) {
        if self.may_write(s, from, epoch) {
            self.accept(s, from, epoch, lineage);
        } else {
            self.refuse_stale(s, from, epoch);
        }
    }

    /// Takes a last step with the request to hand over. `accepting` is what the base knows of the
    /// target at this moment: heard lately, not draining, with room.
    pub(super) fn on_prepare(
        &self,
        s: &mut Cluster,
        (from, epoch): (Who, Epoch),
        lineage: Lineage,
        attempt: Attempt,
        accepting: bool,
    ) {
        let by_message = self.params.mutant == Mutant::EpochFromMessage;
        if !self.may_write(s, from, epoch) && !by_message {
            self.refuse_stale(s, from, epoch);
            return;
        }
        self.accept(s, from, epoch, lineage);
        let known_refused =
            attempt.number <= s.base.refused && self.params.mutant != Mutant::RefusalForgotten;
        if known_refused || !accepting || s.dead.contains(attempt.to) {
            s.base.refused = s.base.refused.max(attempt.number);
            s.history.refused |= refusal(epoch, attempt.number);
            s.send(Msg::Abort { to: from, epoch, number: attempt.number });
            return;
        }
        s.history.refused_committed |= s.history.refused & refusal(epoch, attempt.number) != 0;
        let next = if by_message { epoch + 1 } else { s.base.epoch + 1 };
        if self.params.mutant == Mutant::ReleaseAtCommit {
            s.send(Msg::Release { to: from, epoch });
        } else {
            s.base.previous = Some((from, epoch));
        }
        self.own(s, next, attempt.to);
    }

    /// Re-owns the entity because its owner was declared dead, if somebody can take it.
    pub(super) fn restore(&self, s: &mut Cluster) {
        if !s.dead.contains(s.base.owner) {
            return;
        }
        // Which candidate is picked does not matter for safety: the first keeps the space small.
        if let Some(to) = self.candidates(s).first().copied() {
            let keeps = self.params.mutant == Mutant::RestoreKeepsEpoch;
            let epoch = s.base.epoch + u8::from(!keeps);
            self.own(s, epoch, to);
        }
    }

    /// The Grant deadline: no first step came, somebody else gets the entity.
    pub(super) fn give_up_target(&self, s: &mut Cluster, to: Who) {
        let (first, epoch) = (s.base.owner, s.base.epoch);
        match self.params.mutant {
            Mutant::DeadlineDropsPrevious => s.base.previous = None,
            Mutant::DeadlineMovesPrevious => s.base.previous = Some((first, epoch)),
            _ => {}
        }
        // The first target may be alive and active, and has not been declared dead: it has to be
        // told. Its own stream carries this before anything later that would let it run on.
        if self.params.mutant != Mutant::SilentDeadline {
            s.send(Msg::Fenced { to: first, epoch });
        }
        let reuses = self.params.mutant == Mutant::DeadlineReusesEpoch;
        self.own(s, epoch + u8::from(!reuses), to);
    }

    /// Incarnations that could take the entity from its present owner.
    pub(super) fn candidates(&self, s: &Cluster) -> Vec<Who> {
        (0..self.params.cells)
            .map(|cell| s.who(cell))
            .filter(|who| *who != s.base.owner && !s.dead.contains(*who))
            .collect()
    }

    /// Sends the owner the commands that wait.
    pub(super) fn send_commands(&self, s: &mut Cluster) {
        let fresh = s.base.open & !s.base.sent;
        let open = match self.params.mutant {
            Mutant::CommandsOneByOne if fresh != 0 => fresh,
            _ => s.base.open,
        };
        s.base.sent |= s.base.open;
        s.send(Msg::Commands { to: s.base.owner, epoch: s.base.epoch, open });
    }

    /// Answers `expired` to a command that no owner has seen.
    pub(super) fn expire_alone(&self, s: &mut Cluster, command: u8) {
        s.history.told_expired |= 1 << command;
        if self.params.mutant != Mutant::ExpiresBeforeSync {
            s.base.open &= !(1 << command);
            s.base.expired |= 1 << command;
        }
    }

    /// The base's process dies and another one reads its log.
    pub(super) fn restart_base(&self, s: &mut Cluster) {
        s.base.open = 0;
        s.base.sent = 0;
        if self.params.mutant == Mutant::RefusalNotLogged {
            s.base.refused = 0;
        }
    }

    /// Commands that a session would send again: it does not know of any answer, while the base
    /// recognises those in its image and those that it has expired itself.
    pub(super) fn unknown_to_base(&self, s: &Cluster) -> u8 {
        let answered = match self.params.mutant {
            Mutant::DedupStaysBehind => 0,
            _ => s.base.image.commands_after(0),
        };
        s.submitted & !(s.base.open | s.base.expired | answered)
    }

    /// The session is resumed and sends its commands again. No base can know whether an owner has
    /// seen them, so they count as sent.
    pub(super) fn resubmit(&self, s: &mut Cluster) {
        let again = self.unknown_to_base(s);
        s.base.open |= again;
        if self.params.mutant != Mutant::RestartForgetsSent {
            s.base.sent |= again;
            self.send_commands(s);
        }
    }

    fn may_write(&self, s: &Cluster, from: Who, epoch: Epoch) -> bool {
        match self.params.mutant {
            Mutant::NoEpochCheck => true,
            Mutant::AcceptsTheDead => epoch == s.base.epoch && from == s.base.owner,
            _ => epoch == s.base.epoch && from == s.base.owner && !s.dead.contains(from),
        }
    }

    fn accept(&self, s: &mut Cluster, from: Who, epoch: Epoch, lineage: Lineage) {
        let takes_any = matches!(self.params.mutant, Mutant::TakesOldSteps | Mutant::NoEpochCheck);
        if lineage.len() > s.base.image.len() || takes_any {
            s.base.image = lineage;
            s.base.open &= !lineage.commands_after(0);
            s.base.sent &= s.base.open;
            s.history.dead_confirmed |= s.dead.contains(from);
        }
        if s.base.image.len() > s.history.confirmed.len() {
            s.history.confirmed = s.base.image;
        }
        s.send(Msg::Ack { to: from, epoch, seq: s.base.image.len() });
        s.base.heard = true;
        if let Some((to, epoch)) = s.base.previous.take() {
            s.send(Msg::Release { to, epoch });
        }
    }

    fn refuse_stale(&self, s: &mut Cluster, from: Who, epoch: Epoch) {
        // The frozen copy of the previous owner counts as the fallback until the new one was
        // heard; Release will end it.
        let is_fallback = s.base.previous == Some((from, epoch));
        if !is_fallback || self.params.mutant == Mutant::FencesPrevious {
            s.send(Msg::Fenced { to: from, epoch });
        }
    }

    fn own(&self, s: &mut Cluster, epoch: Epoch, to: Who) {
        s.base.epoch = epoch;
        s.base.owner = to;
        s.base.heard = false;
        s.base.refused = 0;
        let open = match self.params.mutant {
            Mutant::GrantWithoutCommands => 0,
            _ => s.base.open,
        };
        s.base.sent |= s.base.open;
        s.history.epoch_fell |= epoch <= s.history.top;
        s.history.top = s.history.top.max(epoch);
        s.send(Msg::Grant { to, epoch, image: s.base.image, open });
    }
}
