//! How bots end when gateways do not help, in virtual time.

use super::bot::{Account, Bot, END_WITHIN};
use super::{BotsOptions, Brain, run};
use crate::session::{Ask, Session, Told};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, KindId, Seq, SessionId, Tick};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

const LONG: Duration = Duration::from_secs(3600);

/// A bot that plays over a gateway that is the test.
struct Played {
    bot: JoinHandle<Account>,
    asked: mpsc::Receiver<Ask>,
    tell: mpsc::Sender<Told>,
    stop: watch::Sender<bool>,
    facts: mpsc::Receiver<(Tick, Event)>,
}

fn a_welcomed_bot(facts_max: usize) -> Played {
    let (asks, asked) = mpsc::channel(64);
    let (tell, told) = mpsc::channel(64);
    let (stop, stopped) = watch::channel(false);
    let (note, facts) = mpsc::channel(facts_max);
    let bot = Bot::new(Brain::new(7, 1), note);
    tell.try_send(welcome(false, 1)).expect("the queue is empty");
    let bot = tokio::spawn(bot.play_over(Session::over(asks), told, stopped));
    Played { bot, asked, tell, stop, facts }
}

fn welcome(resumed: bool, tick: u64) -> Told {
    Told::Welcome {
        session: SessionId(1),
        entity: EntityId(256),
        kind: KindId(1),
        resumed,
        tick: Tick(tick),
        step: Duration::from_millis(50),
    }
}

impl Played {
    /// Waits for the next command and gives it a number.
    async fn take_command(&mut self, n: u64) {
        loop {
            let ask = timeout(LONG, self.asked.recv()).await.expect("it does things");
            if let Some(Ask::Command { number, .. }) = ask {
                return number.send(n).expect("it waits for its number");
            }
        }
    }

    /// Asks it to end; what it counted, and how long that took.
    async fn end(self) -> (Account, Duration) {
        let since = Instant::now();
        self.stop.send_replace(true);
        let account = timeout(LONG, self.bot).await.expect("it ends").expect("it does not die");
        (account, since.elapsed())
    }
}

#[tokio::test(start_paused = true)]
async fn a_bot_whose_gateway_falls_silent_ends_in_time_and_says_what_stayed_unanswered() {
    let mut played = a_welcomed_bot(64);
    played.take_command(1).await;
    played.take_command(2).await;
    let (account, took) = played.end().await;
    assert_eq!((account.sent, account.open()), (2, 2));
    assert!(took <= END_WITHIN, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_bot_that_waits_for_the_number_of_a_command_ends_in_time() {
    let mut played = a_welcomed_bot(64);
    // The session is coming back: it takes nothing from its queue.
    tokio::time::sleep(LONG).await;
    assert!(!played.bot.is_finished());
    assert!(played.asked.try_recv().is_ok(), "it asked");
    let (account, took) = played.end().await;
    assert_eq!((account.sent, account.open()), (0, 0), "nothing left the house");
    assert!(took <= END_WITHIN, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_bot_whose_journal_is_stuck_ends_in_time() {
    let mut played = a_welcomed_bot(1);
    played.take_command(1).await;
    let (account, took) = played.end().await;
    assert_eq!((account.sent, account.open()), (1, 1));
    assert!(account.first_error.is_some_and(|error| error.contains("1 commands unanswered")));
    assert!(took <= END_WITHIN, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_bot_with_all_its_answers_waits_only_for_the_goodbye() {
    let mut played = a_welcomed_bot(64);
    while played.facts.try_recv().is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    played.tell.try_send(Told::Notice(bytes::Bytes::new())).expect("it listens");
    let (account, took) = played.end().await;
    assert_eq!(account, Account::default());
    assert!(took <= Duration::from_millis(1_200), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_confirmed_to_a_resumed_bot_stands_beside_the_view_that_it_has() {
    let mut played = a_welcomed_bot(64);
    let view = |tick| Told::View {
        epoch: Epoch(3),
        tick: Tick(tick),
        fresh: false,
        body: bytes::Bytes::new(),
    };
    let own = Told::Own { epoch: Epoch(3), seq: Seq(7), props: Vec::new() };
    // The base stood still; views that were on their way to it come after it said its tick.
    for told in [view(40), welcome(true, 90), own, view(41)] {
        played.tell.send(told).await.expect("it listens");
    }
    let mut saw = Vec::new();
    while saw.len() < 3 {
        let (_, fact) = timeout(LONG, played.facts.recv()).await.expect("it tells").expect("it is");
        if let Event::ClientSaw { tick, .. } = fact {
            saw.push(tick.0);
        }
    }
    assert_eq!(saw, [40, 40, 41]);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_without_gateways_ends_in_time() {
    // Nobody listens on the one; the other lets in and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = silent.local_addr().expect("it is bound");
    let options = BotsOptions {
        count: 5,
        seed: 7,
        gateways: vec!["http://127.0.0.1:1".to_owned(), format!("http://{address}")],
        radius: 0,
        prefix: "bot".to_owned(),
    };
    let (stop, stopped) = watch::channel(false);
    let crowd = tokio::spawn(run(options, stopped, |_, _| {}));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let since = Instant::now();
    stop.send_replace(true);
    let report = timeout(LONG, crowd).await.expect("it ends").expect("it does not die");
    assert_eq!((report.sent, report.unanswered), (0, 0));
    assert!(since.elapsed() <= END_WITHIN, "{:?}", since.elapsed());
}
