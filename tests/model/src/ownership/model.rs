//! What can happen next, and what it does.

use stateright::{Model, Property};

use super::mutant::Mutant;
use super::state::{Cluster, EPOCHS_MAX, Msg, Who};
use super::{Ownership, forget, properties};
use crate::explore::Converges;
use crate::lineage::Event;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// A cellapp applies an event to its copy and sends the step.
    Apply(u8, Event),
    /// A cellapp asks to hand its entity to another.
    Handoff(u8, u8),
    /// A message arrives.
    Deliver(Msg),
    /// A Prepare arrives while its target does not accept.
    DeliverRefused(Msg),
    /// A message arrives at the base, which sends something and dies before its sync (mutants).
    DeliverUnsynced(Msg),
    /// A cellapp dies and returns.
    Crash(u8),
    /// Somebody is declared dead.
    Declare(Who),
    /// A cellapp learns that it was declared dead and joins as a new incarnation.
    Rejoin(u8),
    /// The Grant deadline passes.
    Deadline(Who),
    /// The session sends its next command.
    Submit,
    /// The base sends its open commands.
    SendCommands,
    /// The base expires a command that no owner has seen.
    ExpireAlone(u8),
    /// The base dies and returns.
    RestartBase,
    /// The session is resumed and sends its commands again.
    Resubmit,
}

impl Ownership {
    fn cell_actions(&self, s: &Cluster, cell: u8, out: &mut Vec<Action>) {
        let budget = self.params.budget;
        let state = &s.cells[usize::from(cell)];
        if let Some(real) = &state.real {
            out.extend(self.applicable(real).into_iter().map(|event| Action::Apply(cell, event)));
            if real.frozen.is_none() && s.used.handoffs < budget.handoffs {
                let others = (0..self.params.cells).filter(|to| *to != cell);
                out.extend(others.map(|to| Action::Handoff(cell, to)));
            }
        }
        if s.used.crashes < budget.crashes {
            out.push(Action::Crash(cell));
        }
        if s.dead.contains(s.who(cell)) {
            out.push(Action::Rejoin(cell));
        } else if s.used.verdicts < budget.verdicts {
            out.push(Action::Declare(s.who(cell)));
        }
        // True verdicts: every life that ended is declared dead sooner or later.
        let past = (0..state.incarnation).map(|incarnation| Who { cell, incarnation });
        out.extend(past.filter(|who| !s.dead.contains(*who)).map(Action::Declare));
    }

    fn base_actions(&self, s: &Cluster, out: &mut Vec<Action>) {
        let (params, base) = (&self.params, &s.base);
        if !base.heard && params.mutant != Mutant::NoDeadline {
            let overdue = params.sick == Some(base.owner.cell);
            if overdue || s.used.deadlines < params.budget.deadlines {
                out.extend(self.candidates(s).into_iter().map(Action::Deadline));
            }
        }
        // A base takes the next command of a session only: one that follows an answered or an
        // open one. A session that is resumed therefore sends the unanswered ones first.
        let in_turn = self.unknown_to_base(s) == 0 || params.mutant == Mutant::TakesAnyCommand;
        if s.submitted != params.all_commands() && in_turn {
            out.push(Action::Submit);
        }
        if base.open & !base.sent != 0 {
            out.push(Action::SendCommands);
        }
        if params.expiry {
            let sent_too = params.mutant == Mutant::ExpiresWhatItSent;
            let may = base.open & if sent_too { u8::MAX } else { !base.sent };
            out.extend((0..8).filter(|n| may & 1 << n != 0).map(Action::ExpireAlone));
        }
        if s.used.restarts < params.budget.restarts {
            out.push(Action::RestartBase);
        }
        if self.unknown_to_base(s) != 0 {
            out.push(Action::Resubmit);
        }
    }

    fn network_actions(&self, s: &Cluster, out: &mut Vec<Action>) {
        let leaks =
            matches!(self.params.mutant, Mutant::AnswersBeforeSync | Mutant::GrantsBeforeSync);
        for msg in &s.net {
            out.push(Action::Deliver(*msg));
            let to_base = matches!(msg, Msg::Step { .. } | Msg::Prepare { .. });
            if to_base && leaks {
                out.push(Action::DeliverUnsynced(*msg));
            }
            // A stale request is answered as such, whether its target accepts or not.
            let refusable = matches!(msg, Msg::Prepare { epoch, .. } if *epoch == s.base.epoch);
            if refusable && s.used.refusals < self.params.budget.refusals {
                out.push(Action::DeliverRefused(*msg));
            }
        }
    }

    fn deliver(&self, s: &mut Cluster, msg: Msg, accepting: bool) {
        match msg {
            Msg::Step { from, epoch, lineage } => self.on_step(s, from, epoch, lineage),
            Msg::Prepare { from, epoch, lineage, attempt } => {
                self.on_prepare(s, (from, epoch), lineage, attempt, accepting);
            }
            Msg::Offload { to, epoch, lineage } => self.on_offload(s, to, epoch, lineage),
            Msg::Grant { to, epoch, image, open } => self.on_grant(s, (to, epoch), image, open),
            Msg::Ack { to, epoch, seq } => {
                if let Some(real) = Self::real_under(s, to, epoch) {
                    real.acked = real.acked.max(seq);
                }
            }
            Msg::Commands { to, epoch, open } => {
                if let Some(real) = Self::real_under(s, to, epoch) {
                    real.held |= open;
                }
            }
            Msg::Fenced { to, epoch } | Msg::Release { to, epoch } => self.on_fenced(s, to, epoch),
            Msg::Abort { to, epoch, number } => {
                if let Some(real) = Self::real_under(s, to, epoch)
                    && real.frozen.is_some_and(|attempt| attempt.number == number)
                {
                    real.frozen = None;
                }
            }
        }
    }

    fn deliver_unsynced(&self, s: &mut Cluster, msg: Msg) {
        let mut after = s.clone();
        self.deliver(&mut after, msg, true);
        match self.params.mutant {
            Mutant::AnswersBeforeSync => s.history.confirmed = after.history.confirmed,
            _ => {
                s.history = after.history;
                s.history.confirmed = s.base.image;
                after.net.retain(|msg| matches!(msg, Msg::Grant { .. }));
                after.net.into_iter().for_each(|grant| s.send(grant));
            }
        }
    }

    fn declare(&self, s: &mut Cluster, who: Who) {
        if s.is_current(who) {
            s.used.verdicts += 1;
        }
        s.dead.insert(who);
        self.restore(s);
    }

    fn happen(&self, s: &mut Cluster, action: Action) {
        match action {
            Action::Apply(cell, event) => self.apply(s, cell, event),
            Action::Handoff(cell, to) => {
                s.used.handoffs += 1;
                self.ask_handoff(s, cell, to);
            }
            Action::Deliver(msg) => self.deliver(s, msg, true),
            Action::DeliverRefused(msg) => {
                s.used.refusals += 1;
                self.deliver(s, msg, false);
            }
            Action::DeliverUnsynced(msg) => self.deliver_unsynced(s, msg),
            Action::Crash(cell) => {
                s.used.crashes += 1;
                self.begin_new_life(s, cell);
                self.restore(s);
            }
            Action::Declare(who) => self.declare(s, who),
            Action::Rejoin(cell) => {
                self.begin_new_life(s, cell);
                self.restore(s);
            }
            Action::Deadline(to) => {
                if self.params.sick != Some(s.base.owner.cell) {
                    s.used.deadlines += 1;
                }
                self.give_up_target(s, to);
            }
            Action::Submit => {
                let next = s.submitted + 1;
                s.submitted |= next;
                s.base.open |= next;
            }
            Action::SendCommands => self.send_commands(s),
            Action::ExpireAlone(command) => self.expire_alone(s, command),
            Action::RestartBase => {
                s.used.restarts += 1;
                self.restart_base(s);
            }
            Action::Resubmit => self.resubmit(s),
        }
    }
}

impl Model for Ownership {
    type State = Cluster;
    type Action = Action;

    fn init_states(&self) -> Vec<Cluster> {
        vec![Cluster::initial(&self.params)]
    }

    fn actions(&self, s: &Cluster, out: &mut Vec<Action>) {
        for cell in 0..self.params.cells {
            self.cell_actions(s, cell, out);
        }
        self.base_actions(s, out);
        self.network_actions(s, out);
    }

    fn next_state(&self, last: &Cluster, action: Action) -> Option<Cluster> {
        let mut next = last.clone();
        self.happen(&mut next, action);
        if self.params.forget {
            forget::dead_messages(&mut next);
        }
        (next != *last).then_some(next)
    }

    /// Only mutants can go on for ever: the protocol's epochs are bounded by its disturbances.
    fn within_boundary(&self, s: &Cluster) -> bool {
        usize::from(s.history.top) < EPOCHS_MAX - 1
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Converges for Ownership {
    fn is_disturbance(&self, s: &Cluster, action: &Action) -> bool {
        match action {
            Action::Crash(_) | Action::Handoff(..) | Action::RestartBase => true,
            Action::DeliverRefused(_) | Action::DeliverUnsynced(_) => true,
            Action::Declare(who) => s.is_current(*who),
            Action::Deadline(_) => self.params.sick != Some(s.base.owner.cell),
            _ => false,
        }
    }

    fn has_converged(&self, s: &Cluster) -> bool {
        properties::has_converged(self, s)
    }
}
