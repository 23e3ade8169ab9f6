//! One bot: its session, its picture, and its account of what it said and heard.

use super::brain::{Brain, Wish};
use crate::session::{Outcome, Session, SessionEnd, SessionOptions, Told};
use crate::view::WorldView;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, SessionId, Tick};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

/// How often a bot thinks.
const THINK_EVERY: Duration = Duration::from_millis(200);
/// How long a bot waits for its last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(8);

/// What one bot counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) sent: u64,
    pub(super) applied: u64,
    pub(super) rejected: u64,
    pub(super) expired: u64,
    pub(super) resumed: u64,
    pub(super) views: u64,
    pub(super) view_errors: u64,
    pub(super) first_error: Option<String>,
}

/// What a bot journals: facts in its own order, with the newest tick that it heard of.
pub(super) type Facts = mpsc::Sender<(Tick, Event)>;

pub(super) struct Bot {
    brain: Brain,
    view: WorldView,
    account: Account,
    facts: Facts,
    session: SessionId,
    entity: EntityId,
    tick: Tick,
}

impl Bot {
    pub(super) fn new(brain: Brain, facts: Facts) -> Self {
        Self {
            brain,
            view: WorldView::default(),
            account: Account::default(),
            facts,
            session: SessionId(0),
            entity: EntityId(0),
            tick: Tick(0),
        }
    }

    /// Plays until told to stop, then waits for its last answers and leaves.
    pub(super) async fn play(
        mut self,
        options: SessionOptions,
        mut stop: watch::Receiver<bool>,
    ) -> Account {
        let (session, mut told) = Session::open(options);
        let mut think = tokio::time::interval(THINK_EVERY);
        think.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut until: Option<Instant> = None;
        loop {
            let over = until.is_some_and(|u| Instant::now() >= u || self.is_answered());
            if over && session.logout().is_err() {
                break;
            }
            tokio::select! {
                what = told.recv() => match what {
                    Some(Told::Ended(end)) => {
                        self.ended(&end, over);
                        break;
                    }
                    Some(what) => self.hear(what).await,
                    None => break,
                },
                _ = think.tick() => {
                    if until.is_none() && self.entity != EntityId(0) {
                        self.act(&session).await;
                    }
                }
                _ = stop.changed(), if until.is_none() => {
                    until = Some(Instant::now() + LAST_ANSWERS);
                }
            }
        }
        self.account
    }

    const fn is_answered(&self) -> bool {
        let a = &self.account;
        a.applied + a.rejected + a.expired == a.sent
    }

    fn ended(&mut self, end: &SessionEnd, wanted: bool) {
        if !wanted {
            self.account.first_error.get_or_insert_with(|| end.to_string());
        }
    }

    async fn act(&mut self, session: &Session) {
        for wish in self.brain.wishes(&self.view) {
            match wish {
                Wish::Walk(sector) => {
                    // A full queue loses nothing that counts: the next direction replaces it.
                    let _ = session.input(marchland_frontier_core::encode(&sector));
                }
                Wish::Do(method) => {
                    if let Ok(n) = session.command(method.name(), method.args(), 0).await {
                        self.account.sent += 1;
                        let (session, entity) = (self.session, self.entity);
                        self.note(Event::ClientSent { session, entity, n }).await;
                    }
                }
            }
        }
    }

    async fn hear(&mut self, what: Told) {
        match what {
            Told::Welcome { session, entity, resumed, tick, .. } => {
                (self.session, self.entity, self.tick) = (session, entity, tick);
                self.account.resumed += u64::from(resumed);
                self.note(Event::ClientWelcome { session, entity, resumed }).await;
            }
            Told::Answer { n, outcome, .. } => {
                match outcome {
                    Outcome::Applied(_) => self.account.applied += 1,
                    Outcome::Rejected { .. } => self.account.rejected += 1,
                    Outcome::Expired => self.account.expired += 1,
                }
                let (session, entity) = (self.session, self.entity);
                let outcome = outcome.to_domain();
                self.note(Event::ClientAnswered { session, entity, n, outcome }).await;
            }
            Told::View { epoch, tick, fresh, body } => {
                self.tick = tick;
                self.account.views += 1;
                if let Err(bad) = self.view.take_in(epoch, tick, fresh, &body) {
                    self.account.view_errors += 1;
                    self.account.first_error.get_or_insert_with(|| bad.to_string());
                }
                let (session, entity) = (self.session, self.entity);
                let saw = Event::ClientSaw { session, entity, epoch, tick, fresh, confirmed: None };
                self.note(saw).await;
            }
            Told::Own { epoch, seq, .. } => {
                let (session, entity, tick) = (self.session, self.entity, self.tick);
                let confirmed = Some(seq);
                let saw =
                    Event::ClientSaw { session, entity, epoch, tick, fresh: false, confirmed };
                self.note(saw).await;
            }
            Told::Reset { .. } | Told::Notice(_) | Told::Ended(_) => {}
        }
    }

    /// Journals a fact. The journal's queue is bounded; a bot waits for it rather than lose one.
    async fn note(&self, event: Event) {
        // Without a journal nobody listens, and nothing is missed.
        let _ = self.facts.send((self.tick, event)).await;
    }
}
