//! The bounds that the tests and the deep runs go through, each with the name that tables use.

use crate::lead::{self, Lead};
use crate::order::{self, Order};
use crate::ownership::{Budget, Ownership, Params};
use crate::slots::{self, Slots};
use crate::takeover::{self, Takeover};
use crate::term::{self, Term};
use crate::transfer::Transfer;
use crate::window::{self, SETTLE_TICKS, Window};

/// A model within bounds, and what is special about them.
pub type Run<M> = (&'static str, M);

/// Runs of the ownership model that take a second or so together.
#[must_use]
pub fn ownership_short() -> Vec<Run<Ownership>> {
    let (small, budget) = (Params::small(), Params::small().budget);
    let runs = [
        ("small", small.clone()),
        ("begins with birth", Params { born: true, ..small.clone() }),
        ("timer", Params { timer: true, ..small.clone() }),
        ("2 handoffs", Params { budget: Budget { handoffs: 2, ..budget }, ..small.clone() }),
        ("2 deadlines", Params { budget: Budget { deadlines: 2, ..budget }, ..small.clone() }),
        ("2 false verdicts", Params { budget: Budget { verdicts: 2, ..budget }, ..small.clone() }),
        ("2 crashes", Params { budget: Budget { crashes: 2, ..budget }, ..small.clone() }),
        ("refused handoff", Params { budget: Budget { refusals: 1, ..budget }, ..small.clone() }),
        ("a target takes no Grant", Params { sick: Some(1), ..small.clone() }),
        ("3 cellapps", Params { cells: 3, ..small.clone() }),
        ("commands, expiry, base restart", commands(Budget { crashes: 0, ..budget })),
    ];
    runs.map(|(name, params)| (name, Ownership { params })).into()
}

/// Runs of the ownership model for a quiet hour.
#[must_use]
pub fn ownership_deep() -> Vec<Run<Ownership>> {
    let (small, budget) = (Params::small(), Params::small().budget);
    let two = Budget { handoffs: 2, deadlines: 2, ..budget };
    let runs = [
        ("2 commands, timer", Params { commands: 2, timer: true, ..small.clone() }),
        (
            "3 commands, 2 handoffs, 2 deadlines",
            Params { commands: 3, budget: two, ..small.clone() },
        ),
        (
            "2 handoffs, 2 deadlines, 2 false verdicts",
            Params { budget: Budget { verdicts: 2, ..two }, ..small.clone() },
        ),
        (
            "2 each of crash, false verdict, handoff, deadline",
            Params { budget: Budget { crashes: 2, verdicts: 2, ..two }, ..small.clone() },
        ),
        (
            "2 handoffs, 2 deadlines, refused handoff",
            Params { budget: Budget { refusals: 1, ..two }, ..small.clone() },
        ),
        (
            "3 cellapps, 2 deadlines",
            Params { cells: 3, budget: Budget { deadlines: 2, ..budget }, ..small.clone() },
        ),
        ("3 cellapps, one takes no Grant", Params { cells: 3, sick: Some(1), ..small.clone() }),
        ("commands, expiry, base restart, crash", commands(budget)),
        (
            "one of everything",
            Params { timer: true, budget: Budget { refusals: 1, restarts: 1, ..budget }, ..small },
        ),
    ];
    runs.map(|(name, params)| (name, Ownership { params })).into()
}

fn commands(budget: Budget) -> Params {
    Params {
        late_commands: 1,
        expiry: true,
        budget: Budget { restarts: 1, ..budget },
        ..Params::small()
    }
}

/// Runs of the window model that take a second or so together.
#[must_use]
pub fn window_short() -> Vec<Run<Window>> {
    let small = Window::small();
    let lossy = window::Budget { losses: 2, restarts: 1, ..window::Budget::default() };
    vec![
        ("W = 2, 6 ticks, active", small.clone()),
        ("W = 3, 6 ticks, active", Window { window_ticks: 3, ..small.clone() }),
        ("W = 2, 5 ticks, granted", Window { ticks_max: 5, begins_granted: true, ..small.clone() }),
        ("W = 2, 5 ticks, 2 losses", Window { ticks_max: 5, budget: lossy, ..small }),
    ]
}

/// Runs of the window model in which it is asked whether everything can settle: short, with time
/// left at their end.
#[must_use]
pub fn window_settling_short() -> Vec<Run<Window>> {
    let small = Window { ticks_max: 3, settle_ticks: SETTLE_TICKS, ..Window::small() };
    let lossy = window::Budget { deadlines: 1, losses: 1, ..window::Budget::default() };
    vec![
        ("W = 2, 3 ticks and 5 more, active", small.clone()),
        (
            "W = 2, 3 ticks and 5 more, granted, 1 loss",
            Window { begins_granted: true, budget: lossy, ..small },
        ),
    ]
}

/// Runs of the window model for a quiet hour.
#[must_use]
pub fn window_deep() -> Vec<Run<Window>> {
    let small = Window::small();
    let budget = window::Budget { deadlines: 2, grants: 2, ..small.budget };
    let lossy = window::Budget { losses: 1, ..small.budget };
    vec![
        ("W = 2, 6 ticks, granted", Window { begins_granted: true, ..small.clone() }),
        ("W = 3, 8 ticks, active", Window { window_ticks: 3, ticks_max: 8, ..small.clone() }),
        ("W = 4, 10 ticks, active", Window { window_ticks: 4, ticks_max: 10, ..small.clone() }),
        (
            "W = 3, 8 ticks, granted",
            Window { window_ticks: 3, ticks_max: 8, begins_granted: true, ..small.clone() },
        ),
        ("W = 2, 6 ticks, active, 1 loss", Window { budget: lossy, ..small.clone() }),
        (
            "W = 2, 5 ticks, granted, 1 loss",
            Window { ticks_max: 5, begins_granted: true, budget: lossy, ..small.clone() },
        ),
        (
            "W = 2, 5 ticks, granted, 2 deadlines",
            Window { ticks_max: 5, begins_granted: true, budget, ..small },
        ),
    ]
}

/// Runs of the window model in which it is asked whether everything can settle, for a quiet hour.
#[must_use]
pub fn window_settling_deep() -> Vec<Run<Window>> {
    let small = Window { ticks_max: 4, settle_ticks: SETTLE_TICKS, ..Window::small() };
    let lossy = window::Budget { losses: 1, restarts: 1, ..window::Budget::default() };
    vec![
        ("W = 2, 4 ticks and 5 more, active", small.clone()),
        (
            "W = 2, 4 ticks and 5 more, granted, 1 loss, 1 base restart",
            Window { begins_granted: true, budget: lossy, ..small },
        ),
    ]
}

/// Runs of the transfer model that take a second or so together.
#[must_use]
pub fn transfer_short() -> Vec<Run<Transfer>> {
    let small = Transfer::small();
    vec![
        ("2 transfers", small.clone()),
        ("2 transfers, settled", Transfer { settles: true, ..small.clone() }),
        ("2 transfers, destroyed", Transfer { destroys: true, ..small.clone() }),
        ("2 transfers, both", Transfer { settles: true, destroys: true, ..small.clone() }),
        ("3 transfers", Transfer { units: 3, ..small.clone() }),
        ("2 transfers, 2 replacements", Transfer { replacements: 2, ..small }),
    ]
}

/// Runs of the transfer model for a quiet hour.
#[must_use]
pub fn transfer_deep() -> Vec<Run<Transfer>> {
    let small = Transfer::small();
    vec![
        ("3 transfers, 2 replacements", Transfer { units: 3, replacements: 2, ..small.clone() }),
        ("3 transfers, settled", Transfer { units: 3, settles: true, ..small.clone() }),
        (
            "2 transfers, destroyed, 2 replacements",
            Transfer { destroys: true, replacements: 2, ..small },
        ),
    ]
}

/// Runs of the order model that take a second or so together.
#[must_use]
pub fn order_short() -> Vec<Run<Order>> {
    let small = Order::small();
    let calm = order::Budget { refusals: 0, restarts: 0, ..small.budget };
    vec![
        ("2 messages", small.clone()),
        ("3 messages, room for all, no restart", Order { messages: 3, budget: calm, ..small }),
    ]
}

/// Runs of the order model for a quiet hour.
#[must_use]
pub fn order_deep() -> Vec<Run<Order>> {
    let small = Order::small();
    let two = order::Budget { reconnects: 2, migrations: 2, ..small.budget };
    vec![
        ("3 messages", Order { messages: 3, ..small.clone() }),
        ("2 messages, 2 reconnects, 2 migrations", Order { budget: two, ..small }),
    ]
}

/// Runs of the term model that take a second or so together.
#[must_use]
pub fn term_short() -> Vec<Run<Term>> {
    vec![("3 lives", Term::small())]
}

/// Runs of the term model for a quiet hour.
#[must_use]
pub fn term_deep() -> Vec<Run<Term>> {
    let small = Term::small();
    let two = term::Budget { kills: 2, host_losses: 2, retirements: 1, store_losses: 2 };
    vec![
        ("5 lives, 3 effects", Term { lives: 5, effects: 3, ..small.clone() }),
        ("5 lives, 2 of each fault", Term { lives: 5, budget: two, ..small }),
    ]
}

/// Runs of the slots model that take a second or so together.
#[must_use]
pub fn slots_short() -> Vec<Run<Slots>> {
    let small = Slots::small();
    let again = slots::Budget { moves: 2, crashes: 1, losses: 0 };
    vec![
        ("1 move, 2 crashes, 1 loss", Slots { effects: 1, ..small.clone() }),
        ("2 moves, 1 crash", Slots { effects: 1, budget: again, ..small }),
    ]
}

/// Runs of the slots model for a quiet hour.
#[must_use]
pub fn slots_deep() -> Vec<Run<Slots>> {
    let small = Slots::small();
    let two = slots::Budget { moves: 2, crashes: 2, losses: 1 };
    let three = slots::Budget { moves: 2, crashes: 3, losses: 1 };
    vec![
        ("2 effects", small.clone()),
        ("2 moves, 2 crashes, 1 loss", Slots { effects: 1, budget: two, ..small.clone() }),
        ("2 moves, 3 crashes, 1 loss", Slots { effects: 1, budget: three, ..small }),
    ]
}

/// Runs of the takeover model that take a second or so together.
#[must_use]
pub fn takeover_short() -> Vec<Run<Takeover>> {
    let small = Takeover::small();
    let lossy = takeover::Budget { orders: 1, crashes: 2, losses: 1 };
    vec![
        ("2 takeovers, 2 crashes", small.clone()),
        ("1 takeover, 2 crashes, 1 loss", Takeover { budget: lossy, ..small }),
    ]
}

/// Runs of the takeover model for a quiet hour.
#[must_use]
pub fn takeover_deep() -> Vec<Run<Takeover>> {
    let small = Takeover::small();
    let three = takeover::Budget { orders: 2, crashes: 3, losses: 1 };
    let four = takeover::Budget { orders: 3, crashes: 4, losses: 0 };
    vec![
        ("2 takeovers, 3 crashes, 1 loss", Takeover { budget: three, ..small.clone() }),
        ("3 takeovers, 4 crashes", Takeover { budget: four, ..small }),
    ]
}

/// Runs of the lead model that take a second or so together.
#[must_use]
pub fn lead_short() -> Vec<Run<Lead>> {
    let small = Lead::small();
    let calm = lead::Budget { crashes: 0, ..small.budget };
    let well = lead::Budget { lapses: 0, ..small.budget };
    vec![
        ("1 of each but crash", Lead { budget: calm, ..small.clone() }),
        ("1 of each but lapse", Lead { budget: well, ..small }),
    ]
}

/// Runs of the lead model for a quiet hour.
#[must_use]
pub fn lead_deep() -> Vec<Run<Lead>> {
    let small = Lead::small();
    let leases = lead::Budget { leases: 2, crashes: 0, ..small.budget };
    let lives = lead::Budget { leases: 1, lapses: 2, verdicts: 2, crashes: 0 };
    vec![
        ("1 of each", small.clone()),
        ("2 leases end, no crash", Lead { budget: leases, ..small.clone() }),
        ("2 lapses, 2 verdicts, no crash", Lead { budget: lives, ..small }),
    ]
}
