//! Clients that send what they should not: their stream ends, everybody else plays on.

use crate::support::{Demo, last_json};
use marchland_proto::client::gateway_client::GatewayClient;
use marchland_proto::client::{Acknowledge, Command, Down, Login, Up, answer, down, up};
use std::io::{Read, Write};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

struct Client {
    up: mpsc::Sender<Up>,
    down: Streaming<Down>,
    entity: u64,
}

impl Client {
    async fn dial(gateway: &str, first: up::What) -> Self {
        let (up, ups) = mpsc::channel(16);
        up.send(Up { what: Some(first) }).await.unwrap();
        let mut gateway = GatewayClient::connect(gateway.to_owned()).await.unwrap();
        let down = gateway.play(ReceiverStream::new(ups)).await.unwrap().into_inner();
        Self { up, down, entity: 0 }
    }

    async fn login(gateway: &str, account: &str) -> Self {
        let login = Login { account: account.to_owned(), radius: 1_000, kind: "avatar".to_owned() };
        let mut client = Self::dial(gateway, up::What::Login(login.clone())).await;
        let mut first = client.next().await;
        if let Some(down::What::Redirect(there)) = first {
            client = Self::dial(&there.address, up::What::Login(login)).await;
            first = client.next().await;
        }
        match first {
            Some(down::What::Welcome(w)) => client.entity = w.entity,
            other => panic!("no welcome: {other:?}"),
        }
        client
    }

    /// The next message; none when the stream is over, however it ended.
    async fn next(&mut self) -> Option<down::What> {
        let limit = Duration::from_secs(30);
        let next = tokio::time::timeout(limit, self.down.message()).await;
        next.expect("a stream says something or ends").ok().flatten().and_then(|d| d.what)
    }

    async fn answer(&mut self) -> answer::Outcome {
        loop {
            if let Some(down::What::Answer(a)) = self.next().await {
                return a.outcome.unwrap();
            }
        }
    }
}

/// The stable word of a rejection, or how it ended otherwise.
fn code_of(outcome: &answer::Outcome) -> String {
    match outcome {
        answer::Outcome::Rejected(r) => r.code.clone(),
        other => format!("{other:?}"),
    }
}

fn command(n: u64, entity: u64, method: &str, args: Vec<u8>) -> Up {
    let command = Command {
        n,
        entity,
        method: method.to_owned(),
        args: args.into(),
        ttl: 0,
        acknowledged: 0,
    };
    Up { what: Some(up::What::Command(command)) }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn garbage_oversize_and_other_peoples_entities_hurt_nobody() {
    let demo = Demo::start(&["--bots", "5", "--wolves", "20", "--bases", "1", "--cells", "2"]);
    let gateway = demo.file()["gateways"][0].as_str().unwrap().to_owned();
    let address = gateway.trim_start_matches("http://").to_owned();
    let wolf = last_json(&demo.ask(&["entity", "ls", "--limit", "1", "--json"]));

    let mut raw = std::net::TcpStream::connect(&address).unwrap();
    raw.write_all(&[0xff; 4096]).unwrap();
    let mut sink = Vec::new();
    let _ = raw.read_to_end(&mut sink);

    runtime().block_on(async {
        let mut early = Client::dial(&gateway, up::What::Logout(Default::default())).await;
        assert!(matches!(early.next().await, Some(down::What::Ended(_)) | None));

        let bad = Login { account: String::new(), radius: 1, kind: "avatar".to_owned() };
        let mut nameless = Client::dial(&gateway, up::What::Login(bad)).await;
        assert!(matches!(nameless.next().await, Some(down::What::Refused(_))));

        let mut thief = Client::login(&gateway, "thief").await;
        thief.up.send(command(1, wolf["id"].as_u64().unwrap(), "heal", vec![])).await.unwrap();
        let stolen = thief.answer().await;
        assert_eq!(code_of(&stolen), "not-yours");

        let mut fat = Client::login(&gateway, "fat").await;
        fat.up.send(command(1, 0, "say", vec![7; 1 << 20])).await.unwrap();
        while fat.next().await.is_some() {}

        let mut honest = Client::login(&gateway, "honest").await;
        let own = honest.entity;
        honest.up.send(command(1, own, "smite", vec![])).await.unwrap();
        let hidden = honest.answer().await;
        assert_eq!(code_of(&hidden), "not-exposed");
        let heard = up::What::Acknowledge(Acknowledge { n: 1 });
        honest.up.send(Up { what: Some(heard) }).await.unwrap();
        honest.up.send(command(2, own, "attack", vec![0xff; 30])).await.unwrap();
        let garbled = honest.answer().await;
        assert_eq!(code_of(&garbled), "bad-arguments");
    });

    let status = last_json(&demo.ask(&["status", "--json"]));
    assert_eq!(status["ready"], true, "{status:#}");
    let (_, report) = demo.end();
    assert_ne!(report["audit"], "fail", "{report:#}");
}
