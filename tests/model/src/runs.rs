//! The bounds that the tests and the deep runs go through, each with the name that tables use.

use crate::ownership::{Budget, Ownership, Params};
use crate::transfer::Transfer;
use crate::window::{self, Window};

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
    vec![
        ("W = 2, 6 ticks, active", small.clone()),
        ("W = 2, 6 ticks, granted", Window { begins_granted: true, ..small.clone() }),
        ("W = 3, 8 ticks, active", Window { window_ticks: 3, ticks_max: 8, ..small }),
    ]
}

/// Runs of the window model for a quiet hour.
#[must_use]
pub fn window_deep() -> Vec<Run<Window>> {
    let small = Window::small();
    let budget = window::Budget { deadlines: 2, grants: 2, ..small.budget };
    vec![
        ("W = 4, 10 ticks, active", Window { window_ticks: 4, ticks_max: 10, ..small.clone() }),
        (
            "W = 3, 8 ticks, granted",
            Window { window_ticks: 3, ticks_max: 8, begins_granted: true, ..small.clone() },
        ),
        ("W = 2, 6 ticks, granted, 2 deadlines", Window { begins_granted: true, budget, ..small }),
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
