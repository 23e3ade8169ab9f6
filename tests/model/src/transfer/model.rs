//! What can happen next to a transfer.

use stateright::{Model, Property};

use super::state::{A, Epoch, Msg, Number, World, X};
use super::{Mutant, Transfer, properties};
use crate::explore::Converges;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Action {
    /// A copy of A gives one unit away.
    Debit(Epoch, A),
    /// A base sends what it keeps (again).
    Resend(Msg),
    /// A message arrives at a base.
    Arrives(Msg),
    /// A message arrives at a copy of A.
    ArrivesAtA(Msg, Epoch, A),
    /// A message arrives at a copy of X.
    ArrivesAtX(Msg, Epoch, X),
    /// The owner of A is replaced from A's image.
    ReplaceA,
    /// The owner of X is replaced from X's image.
    ReplaceX,
    /// A copy of X ends its life.
    Destroy(Epoch, X),
}

impl Transfer {
    fn change_a(s: &mut World, epoch: Epoch, old: A, new: A) {
        let new = A { seq: old.seq + 1, ..new };
        s.a_copies.remove(&(epoch, old));
        s.a_copies.insert((epoch, new));
        s.net.insert(Msg::StepA(epoch, new));
    }

    fn change_x(s: &mut World, epoch: Epoch, old: X, new: X) {
        let new = X { seq: old.seq + 1, ..new };
        s.x_copies.remove(&(epoch, old));
        s.x_copies.insert((epoch, new));
        s.net.insert(Msg::StepX(epoch, new));
    }

    fn step_of_a(&self, s: &mut World, epoch: Epoch, a: A) {
        let (current, durable) = s.a;
        let is_next = epoch == current && a.seq > durable.seq;
        if is_next || self.mutant == Mutant::NoFenceAtA {
            for number in durable.sent..a.sent {
                s.outbox |= 1 << number;
            }
            s.a.1 = a;
            s.returning &= !a.returned;
        }
    }

    fn step_of_x(&self, s: &mut World, epoch: Epoch, x: X) {
        let (current, durable) = s.x;
        let is_next = epoch == current && x.seq > durable.seq;
        if is_next || self.mutant == Mutant::NoFenceAtX {
            s.x.1 = x;
            if let Some(mark) = x.mark {
                s.net.insert(Msg::Credited(mark));
            }
        }
    }

    fn at_base(&self, s: &mut World, msg: Msg) {
        match msg {
            Msg::StepA(epoch, a) => self.step_of_a(s, epoch, a),
            Msg::StepX(epoch, x) => self.step_of_x(s, epoch, x),
            Msg::Credited(below) => {
                s.outbox &= !((1 << below) - 1);
                s.done = s.done.max(below);
            }
            Msg::Deliver { number, .. } => {
                let x = s.x.1;
                let credited = x.mark.is_some_and(|mark| number < mark);
                if x.destroyed && !credited {
                    s.net.insert(Msg::Undeliverable(number));
                }
            }
            Msg::Undeliverable(number) => {
                if s.outbox & 1 << number != 0 {
                    s.outbox &= !(1 << number);
                    s.returning |= 1 << number;
                }
            }
            Msg::Return(_) | Msg::Settled(_) => {}
        }
    }

    fn at_copy_of_a(&self, s: &mut World, number: Number, epoch: Epoch, a: A) {
        let known = a.returned & 1 << number != 0;
        let again = self.mutant == Mutant::ReturnNotDeduped && a.units < self.units * 2;
        if !known || again {
            let new = A { units: a.units + 1, returned: a.returned | 1 << number, ..a };
            Self::change_a(s, epoch, a, new);
            if self.mutant == Mutant::ReturnDroppedEarly {
                s.returning &= !(1 << number);
            }
        }
    }

    fn at_copy_of_x(&self, s: &mut World, msg: Msg, epoch: Epoch, x: X) {
        match msg {
            Msg::Deliver { number, first_open } => {
                let next = match (self.mutant, x.mark) {
                    (Mutant::NoDedup, _) => x.units < self.units * 2,
                    (Mutant::GapAccepted, Some(mark)) => number >= mark,
                    (Mutant::GapAccepted, None) => true,
                    (_, Some(mark)) => number == mark,
                    (_, None) => number == first_open,
                };
                if next && !x.destroyed {
                    let mark = Some(x.mark.unwrap_or(0).max(number + 1));
                    let credited = x.credited | 1 << number;
                    let new = X { units: x.units + 1, credited, mark, ..x };
                    Self::change_x(s, epoch, x, new);
                    if self.mutant == Mutant::AckBeforePersist {
                        s.net.insert(Msg::Credited(number + 1));
                    }
                } else if x.destroyed && self.mutant == Mutant::UndeliverableBeforePersist {
                    s.net.insert(Msg::Undeliverable(number));
                }
            }
            Msg::Settled(below) if x.mark == Some(below) && !x.destroyed => {
                Self::change_x(s, epoch, x, X { mark: None, ..x });
                // It came in order on the streams that the transfers came on: none of them can
                // follow it.
                if self.mutant != Mutant::SettledOvertakes {
                    s.net.retain(
                        |msg| !matches!(msg, Msg::Deliver { number, .. } if *number < below),
                    );
                }
            }
            _ => {}
        }
    }

    fn happen(&self, s: &mut World, action: Action) {
        match action {
            Action::Debit(epoch, a) => {
                let new = A { units: a.units - 1, sent: a.sent + 1, ..a };
                Self::change_a(s, epoch, a, new);
                if self.mutant == Mutant::SentBeforePersist {
                    s.net.insert(Msg::Deliver { number: a.sent, first_open: a.sent });
                }
            }
            Action::Resend(msg) => {
                s.net.insert(msg);
            }
            Action::Arrives(msg) => self.at_base(s, msg),
            Action::ArrivesAtA(msg, epoch, a) => {
                if let Msg::Return(number) = msg {
                    self.at_copy_of_a(s, number, epoch, a);
                }
            }
            Action::ArrivesAtX(msg, epoch, x) => self.at_copy_of_x(s, msg, epoch, x),
            Action::ReplaceA => {
                s.a.0 += 1;
                s.a_copies.insert(s.a);
            }
            Action::ReplaceX => {
                s.x.0 += 1;
                let mut image = s.x.1;
                if self.mutant == Mutant::MarkNotDurable {
                    image.mark = None;
                }
                s.x_copies.insert((s.x.0, image));
            }
            Action::Destroy(epoch, x) => {
                Self::change_x(s, epoch, x, X { destroyed: true, ..x });
            }
        }
    }

    fn resends(&self, s: &World, out: &mut Vec<Action>) {
        let first_open = s.outbox.trailing_zeros() as Number;
        let members = |set: u8| (0..8).filter(move |number| set & 1 << number != 0);
        out.extend(
            members(s.outbox).map(|number| Msg::Deliver { number, first_open }).map(Action::Resend),
        );
        out.extend(members(s.returning).map(|number| Action::Resend(Msg::Return(number))));
        if self.settles && s.outbox == 0 && s.done > 0 {
            out.push(Action::Resend(Msg::Settled(s.done)));
        }
    }

    fn arrivals(s: &World, out: &mut Vec<Action>) {
        for msg in &s.net {
            match msg {
                Msg::Return(_) => {
                    out.extend(s.a_copies.iter().map(|(e, a)| Action::ArrivesAtA(*msg, *e, *a)));
                }
                Msg::Deliver { .. } | Msg::Settled(_) => {
                    out.extend(s.x_copies.iter().map(|(e, x)| Action::ArrivesAtX(*msg, *e, *x)));
                    out.push(Action::Arrives(*msg));
                }
                _ => out.push(Action::Arrives(*msg)),
            }
        }
    }
}

impl Model for Transfer {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let (a, x) = (A { units: self.units, ..A::default() }, X::default());
        vec![World {
            a: (1, a),
            a_copies: [(1, a)].into(),
            x: (1, x),
            x_copies: [(1, x)].into(),
            outbox: 0,
            returning: 0,
            done: 0,
            net: [].into(),
        }]
    }

    fn actions(&self, s: &World, out: &mut Vec<Action>) {
        let debtors = s.a_copies.iter().filter(|(_, a)| a.units > 0 && a.sent < self.units);
        out.extend(debtors.map(|(epoch, a)| Action::Debit(*epoch, *a)));
        self.resends(s, out);
        Self::arrivals(s, out);
        if s.a.0 <= self.replacements {
            out.push(Action::ReplaceA);
        }
        if s.x.0 <= self.replacements && !s.x.1.destroyed {
            out.push(Action::ReplaceX);
        }
        if self.destroys {
            let alive = s.x_copies.iter().filter(|(_, x)| !x.destroyed);
            out.extend(alive.map(|(epoch, x)| Action::Destroy(*epoch, *x)));
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut next = last.clone();
        self.happen(&mut next, action);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Converges for Transfer {
    fn is_disturbance(&self, _: &World, action: &Action) -> bool {
        matches!(action, Action::ReplaceA | Action::ReplaceX | Action::Destroy(..))
    }

    fn has_converged(&self, s: &World) -> bool {
        properties::has_converged(self, s)
    }
}
