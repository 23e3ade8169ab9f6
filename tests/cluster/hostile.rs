//! Clients that send what they should not: their stream ends, everybody else plays on.

use crate::client::{Client, command, runtime};
use crate::support::{Demo, last_json};
use marchland_proto::client::{Acknowledge, Login, Up, answer, down, up};
use std::io::{Read, Write};

/// The stable word of a rejection, or how it ended otherwise.
fn code_of(outcome: &answer::Outcome) -> String {
    match outcome {
        answer::Outcome::Rejected(r) => r.code.clone(),
        other => format!("{other:?}"),
    }
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
