//! A crowd of bots, and what they counted together.

use super::bot::{Account, Bot};
use super::brain::Brain;
use crate::session::SessionOptions;
use marchland_common::journal::Event;
use marchland_common::order::Tick;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// How a crowd plays.
#[derive(Clone, Debug)]
pub struct BotsOptions {
    /// How many.
    pub count: u64,
    /// What decides their wishes.
    pub seed: u64,
    /// Any gateways of the cluster, as `http://host:port`.
    pub gateways: Vec<String>,
    /// How far they see, in millimetres.
    pub radius: i32,
    /// The prefix of their accounts; `bot` gives `bot-1`, `bot-2`, …
    pub prefix: String,
}

/// What a crowd counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BotsReport {
    /// Commands sent.
    pub sent: u64,
    /// Answered: applied.
    pub applied: u64,
    /// Answered: rejected.
    pub rejected: u64,
    /// Answered: expired.
    pub expired: u64,
    /// Without an answer at the end.
    pub unanswered: u64,
    /// Streams that went on after a break.
    pub resumed: u64,
    /// Pieces of view.
    pub views: u64,
    /// Pieces of view that did not fit.
    pub view_errors: u64,
    /// The first thing that went wrong, in words.
    pub first_error: Option<String>,
}

impl BotsReport {
    fn add(&mut self, account: Account) {
        self.sent += account.sent;
        self.applied += account.applied;
        self.rejected += account.rejected;
        self.expired += account.expired;
        self.unanswered += account.open();
        self.resumed += account.resumed;
        self.views += account.views;
        self.view_errors += account.view_errors;
        if self.first_error.is_none() {
            self.first_error = account.first_error;
        }
    }
}

/// Most facts that wait for the journal.
const FACTS_MAX: usize = 8_192;
/// Bots log in a few at a time, not all in the same tick.
const LOGIN_EVERY: Duration = Duration::from_millis(5);

/// Runs a crowd until `stop` becomes true and the last answers are in, or nine seconds later at
/// most: gateways that are gone answer nobody, and what they owe is reported as unanswered.
/// Everything that bots say and hear goes to `journal`, in each bot's own order.
pub async fn run(
    options: BotsOptions,
    stop: watch::Receiver<bool>,
    mut journal: impl FnMut(Tick, Event) + Send + 'static,
) -> BotsReport {
    let (facts, mut heard) = mpsc::channel(FACTS_MAX);
    let writer = tokio::spawn(async move {
        while let Some((tick, event)) = heard.recv().await {
            journal(tick, event);
        }
    });
    let mut bots = JoinSet::new();
    for number in 1..=options.count {
        // A crowd that is asked to end grows no further.
        if *stop.borrow() {
            break;
        }
        let bot = Bot::new(Brain::new(options.seed, number), facts.clone());
        bots.spawn(bot.play(session_of(&options, number), stop.clone()));
        tokio::time::sleep(LOGIN_EVERY).await;
    }
    drop(facts);
    let mut report = BotsReport::default();
    while let Some(account) = bots.join_next().await {
        match account {
            Ok(account) => report.add(account),
            Err(died) => {
                report.first_error.get_or_insert_with(|| format!("a bot died: {died}"));
                report.unanswered += 1;
            }
        }
    }
    // The writer ends when the last bot dropped its end.
    let _ = writer.await;
    report
}

fn session_of(options: &BotsOptions, number: u64) -> SessionOptions {
    let mut gateways = options.gateways.clone();
    if !gateways.is_empty() {
        let first = number as usize % gateways.len();
        gateways.rotate_left(first);
    }
    SessionOptions {
        gateways,
        account: format!("{}-{number}", options.prefix),
        kind: "avatar".to_owned(),
        radius: options.radius,
        give_up: Duration::from_secs(30),
    }
}
