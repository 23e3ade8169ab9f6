//! What can happen next to messages of one sender.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::state::{Applied, Budget, Link, Message, Number, Path};
use super::{Mutant, Order, properties};
use crate::explore::Converges;

/// Frames that a link has under way before a sender stops saying things again.
const UNDER_WAY_MAX: i8 = 6;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// The next message is sent.
    Produce,
    /// Everything open is said again, in order.
    SayAgain,
    /// A frame is read, from the late connection or the newest.
    Read {
        /// From the late one.
        is_late: bool,
        /// There is room for what it carries.
        has_room: bool,
    },
    /// The late connection is closed.
    CloseLate,
    /// The connection breaks.
    Reconnect,
    /// The link begins anew.
    Reset,
    /// The owner applies the message at this place of what it holds.
    Apply(u8),
    /// What the owner applied becomes durable.
    Persist,
    /// An answer arrives.
    Answer(Number),
    /// The owner is replaced.
    Migrate,
    /// The receiver's base dies and comes back.
    Restart,
}

impl Order {
    fn say_open(s: &mut Path) {
        let mut after = 0;
        for number in s.outbox.clone() {
            Self::send(&mut s.link, Message { number, after });
            after = number;
        }
        s.owes = false;
    }

    fn begin_anew(&self, s: &mut Path) {
        Self::reset(&mut s.link);
        match self.mutant {
            Mutant::NothingSaidAgain => {}
            Mutant::NewBeforeOpen => s.owes = !s.outbox.is_empty(),
            _ => Self::say_open(s),
        }
    }

    fn at_base(&self, s: &mut Path, message: Message) {
        let Message { number, after } = message;
        if number <= s.durable.mark {
            s.answers.insert(number);
            return;
        }
        let newest = s.queue.last().copied().unwrap_or(s.durable.mark);
        let follows = after <= newest || self.mutant == Mutant::TakesAfterGap;
        if number > newest && follows {
            s.queue.push(number);
            s.held.push(number);
        }
    }

    fn apply(&self, s: &mut Path, at: u8) {
        let number = s.held.remove(usize::from(at));
        let known = match self.mutant {
            Mutant::OwnerPicksAny => s.owner.lineage.contains(&number),
            _ => number <= s.owner.mark,
        };
        if known {
            return;
        }
        s.owner.lineage.push(number);
        s.owner.mark = s.owner.mark.max(number);
        if self.mutant == Mutant::AnswersBeforePersist {
            s.answers.insert(number);
            s.queue.retain(|queued| *queued != number);
        }
    }

    fn persist(s: &mut Path) {
        s.durable = s.owner.clone();
        let mark = s.durable.mark;
        s.answers.extend(s.queue.iter().copied().filter(|number| *number <= mark));
        s.queue.retain(|number| *number > mark);
    }

    fn migrate(&self, s: &mut Path) {
        s.owner = s.durable.clone();
        s.held = s.queue.clone();
        match self.mutant {
            Mutant::MarkStaysBehind => s.owner.mark = 0,
            Mutant::QueueReversed => s.held.reverse(),
            Mutant::QueueNotSentAgain => s.held.clear(),
            _ => {}
        }
    }

    fn happen(&self, s: &mut Path, action: Action) {
        match action {
            Action::Produce => {
                s.sent += 1;
                let after = s.outbox.last().copied().unwrap_or(0);
                s.outbox.push(s.sent);
                let number = s.sent;
                Self::send(&mut s.link, Message { number, after });
            }
            Action::SayAgain => Self::say_open(s),
            Action::Read { is_late, has_room } => {
                s.used.refusals += u8::from(!has_room);
                if let Some(message) = self.take_frame(s, is_late)
                    && has_room
                {
                    self.at_base(s, message);
                }
            }
            Action::CloseLate => s.link.late = Default::default(),
            Action::Reconnect => {
                s.used.reconnects += 1;
                self.reconnect(&mut s.link);
            }
            Action::Reset => {
                s.used.resets += 1;
                self.begin_anew(s);
            }
            Action::Apply(at) => self.apply(s, at),
            Action::Persist => Self::persist(s),
            Action::Answer(number) => {
                s.answers.remove(&number);
                s.outbox.retain(|open| *open != number);
            }
            Action::Migrate => {
                s.used.migrations += 1;
                self.migrate(s);
            }
            Action::Restart => {
                s.used.restarts += 1;
                s.queue.clear();
                self.begin_anew(s);
            }
        }
    }

    fn disturbances(&self, s: &Path, out: &mut Vec<Action>) {
        let (used, budget) = (&s.used, &self.budget);
        if used.refusals < budget.refusals {
            let frames = [(true, &s.link.late.frames), (false, &s.link.newest.frames)];
            let any = frames.into_iter().filter(|(_, frames)| !frames.is_empty());
            out.extend(any.map(|(is_late, _)| Action::Read { is_late, has_room: false }));
        }
        if used.reconnects < budget.reconnects {
            out.push(Action::Reconnect);
        }
        if used.resets < budget.resets {
            out.push(Action::Reset);
        }
        if used.migrations < budget.migrations {
            out.push(Action::Migrate);
        }
        if used.restarts < budget.restarts {
            out.push(Action::Restart);
        }
    }
}

impl Model for Order {
    type State = Path;
    type Action = Action;

    fn init_states(&self) -> Vec<Path> {
        vec![Path {
            sent: 0,
            outbox: Vec::new(),
            owes: false,
            link: Link::default(),
            queue: Vec::new(),
            durable: Applied::default(),
            owner: Applied::default(),
            held: Vec::new(),
            answers: BTreeSet::new(),
            used: Budget::default(),
            link_failed: false,
        }]
    }

    fn actions(&self, s: &Path, out: &mut Vec<Action>) {
        if s.sent < self.messages {
            out.push(Action::Produce);
        }
        let quiet = s.link.newest.frames.is_empty() && s.link.sent <= UNDER_WAY_MAX;
        let may_again = self.mutant != Mutant::NothingSaidAgain;
        if !s.outbox.is_empty() && (quiet || s.owes) && may_again {
            out.push(Action::SayAgain);
        }
        if !s.link.late.frames.is_empty() {
            out.push(Action::Read { is_late: true, has_room: true });
            out.push(Action::CloseLate);
        }
        if !s.link.newest.frames.is_empty() {
            out.push(Action::Read { is_late: false, has_room: true });
        }
        let choices = match self.mutant {
            Mutant::OwnerPicksAny => s.held.len(),
            _ => s.held.len().min(1),
        };
        out.extend((0..choices as u8).map(Action::Apply));
        if s.owner != s.durable {
            out.push(Action::Persist);
        }
        out.extend(s.answers.iter().map(|number| Action::Answer(*number)));
        self.disturbances(s, out);
    }

    fn next_state(&self, last: &Path, action: Action) -> Option<Path> {
        let mut next = last.clone();
        self.happen(&mut next, action);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Converges for Order {
    fn is_disturbance(&self, _: &Path, action: &Action) -> bool {
        matches!(
            action,
            Action::Read { has_room: false, .. }
                | Action::Reconnect
                | Action::Reset
                | Action::Migrate
                | Action::Restart
        )
    }

    fn has_converged(&self, s: &Path) -> bool {
        properties::has_converged(self, s)
    }
}
