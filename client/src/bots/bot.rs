//! One bot: its session, its picture, and its account of what it said and heard.

use super::brain::{Brain, Wish};
use crate::session::{Outcome, Session, SessionEnd, SessionOptions, Told};
use crate::view::WorldView;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, SessionId, Tick};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// How often a bot thinks.
const THINK_EVERY: Duration = Duration::from_millis(200);
/// How long a bot waits for its last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(8);
/// How long it then waits for the gateway to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
/// Within this time after it was asked to end a bot has ended, whatever gateways do.
pub(super) const END_WITHIN: Duration = Duration::from_secs(9);
const _: () = assert!(END_WITHIN.as_millis() == LAST_ANSWERS.as_millis() + GOODBYE.as_millis());

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

impl Account {
    /// Commands that have no answer yet.
    pub(super) const fn open(&self) -> u64 {
        self.sent.saturating_sub(self.applied + self.rejected + self.expired)
    }
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
    /// The newest tick that it heard of.
    tick: Tick,
    /// That of the newest view.
    viewed: Tick,
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
            viewed: Tick(0),
        }
    }

    /// Plays until told to stop, then waits for its last answers and leaves, all in all at most
    /// [`END_WITHIN`]. What is unanswered by then stays so in the account.
    pub(super) async fn play(
        self,
        options: SessionOptions,
        stop: watch::Receiver<bool>,
    ) -> Account {
        let (session, told) = Session::open(options);
        self.play_over(session, told, stop).await
    }

    /// Plays over a session. Whatever it waits for in there, the end does not wait for.
    pub(super) async fn play_over(
        mut self,
        session: Session,
        told: mpsc::Receiver<Told>,
        stop: watch::Receiver<bool>,
    ) -> Account {
        let mut asked = stop.clone();
        let latest = async {
            asked_to_end(&mut asked).await;
            tokio::time::sleep(END_WITHIN).await;
        };
        // What can still be noted is noted before the end.
        let left = tokio::select! {
            biased;
            () = self.follow(session, told, stop) => true,
            () = latest => false,
        };
        if !left {
            let open = self.account.open();
            let text = format!(
                "no gateway answered within {END_WITHIN:?} of being asked to end, {open} commands \
                 unanswered"
            );
            self.account.first_error.get_or_insert(text);
        }
        self.account
    }

    /// Plays, waits for the last answers and leaves. Takes the session: it is over when this is.
    async fn follow(
        &mut self,
        session: Session,
        mut told: mpsc::Receiver<Told>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut thinks = Instant::now();
        let (mut until, mut leaving): (Option<Instant>, bool) = (None, false);
        loop {
            let over = until.is_some_and(|u| Instant::now() >= u || self.account.open() == 0);
            if over && !leaving {
                leaving = true;
                until = Some(Instant::now() + GOODBYE);
                if session.logout().is_err() {
                    return;
                }
            }
            tokio::select! {
                what = told.recv() => match what {
                    Some(Told::Ended(end)) => return self.ended(&end, leaving),
                    Some(what) => self.hear(what).await,
                    None => return,
                },
                () = sleep_until(thinks) => {
                    thinks = Instant::now() + THINK_EVERY;
                    if until.is_none() && self.entity != EntityId(0) {
                        self.act(&session).await;
                    }
                    if leaving && until.is_some_and(|u| Instant::now() >= u) {
                        return;
                    }
                }
                () = asked_to_end(&mut stop), if until.is_none() => {
                    until = Some(Instant::now() + LAST_ANSWERS);
                }
            }
        }
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
                (self.tick, self.viewed) = (tick, tick);
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
                // It stands beside the view that is shown. A welcome says the base's tick, and when
                // that base stood still, older views than that are still on their way.
                let (session, entity, tick) = (self.session, self.entity, self.viewed);
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

async fn asked_to_end(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody is left who could ask: that is asking.
    let _ = stop.wait_for(|stop| *stop).await;
}
