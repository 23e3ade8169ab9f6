//! Pages over a real socket, beside gRPC on the same port, with askers that misbehave.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::link::{LinkTimes, server};
use crate::process::{DrainOrder, HealthBoard, NoRecordsDoor};
use crate::telemetry::Counters;
use marchland_common::order::{Node, NodeKind};
use marchland_proto::operator::HealthRequest;
use marchland_proto::operator::process_client::ProcessClient;
use marchland_proto::operator::process_server::ProcessServer;
use std::future::pending;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const NODE: Node = Node::new(NodeKind::Cell, 3, 7);
/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(60);

struct Shop {
    at: SocketAddr,
    about: Introduction,
    listener: TcpListener,
}

async fn shop() -> Shop {
    let (health, counters) = (HealthBoard::default(), Counters::default());
    let about = Introduction { node: NODE, health, counters, drain: Some(DrainOrder::default()) };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    Shop { at: listener.local_addr().unwrap(), about, listener }
}

/// The port of a process that serves.
async fn served() -> (SocketAddr, Introduction) {
    let Shop { at, about, listener } = shop().await;
    let door = NoRecordsDoor { about: about.clone(), elsewhere: "" };
    let doorway = Doorway::new(listener, Pages::new(about.clone()));
    let serving = server(&LinkTimes::STANDARD)
        .add_service(ProcessServer::new(door))
        .serve_with_incoming(doorway.grpc());
    tokio::spawn(serving);
    (at, about)
}

async fn say(at: SocketAddr, what: &str) -> String {
    let asked = async {
        let mut stream = TcpStream::connect(at).await?;
        stream.write_all(what.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map(|_| answer)
    };
    // Whoever is hung up on hears nothing.
    timeout(PATIENCE, asked).await.unwrap().unwrap_or_default()
}

async fn ask(at: SocketAddr, path: &str) -> String {
    say(at, &format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n")).await
}

/// Until it is answered: a place is taken for a moment after an answer.
async fn ask_until_answered(at: SocketAddr, path: &str) -> String {
    loop {
        let answer = ask(at, path).await;
        if !answer.is_empty() {
            return answer;
        }
    }
}

async fn grpc_answers(at: SocketAddr) -> bool {
    let asked = async {
        let mut client = ProcessClient::connect(format!("http://{at}")).await.ok()?;
        client.health(HealthRequest {}).await.ok()
    };
    timeout(PATIENCE, asked).await.unwrap().is_some()
}

#[tokio::test]
async fn one_port_serves_grpc_and_pages_and_ready_says_what_is_missing() {
    let (at, about) = served().await;
    assert!(grpc_answers(at).await);
    assert!(ask(at, "/livez").await.starts_with("HTTP/1.1 200 OK\r\n"));
    about.health.figures(41, 5, 2, 0, 0);
    let ready = ask(at, "/readyz").await;
    assert!(
        ready.starts_with("HTTP/1.1 200 OK\r\n") && ready.contains("\"ready\":true"),
        "{ready}"
    );
    about.health.set("a disk is missing", true);
    let not = ask(at, "/readyz").await;
    assert!(not.starts_with("HTTP/1.1 503 "), "{not}");
    assert!(not.contains("\"reasons\":[\"a disk is missing\"]") && not.contains("\"tick\":41"));
    assert!(ask(at, "/livez").await.starts_with("HTTP/1.1 200 OK\r\n"));
    about.counters.counter("ticks_run").add(3);
    let metrics = ask(at, "/metrics").await;
    assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
    for line in [
        "march_process_incarnation 7.0",
        "march_ready 0.0",
        "march_entities{role=\"real\"} 5.0",
        "march_ticks_total 3.0",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn what_is_no_question_for_a_page_is_refused_and_hurts_nobody() {
    let (at, _) = served().await;
    assert!(ask(at, "/elsewhere").await.starts_with("HTTP/1.1 404 "));
    let delete = say(at, "DELETE /metrics HTTP/1.1\r\nHost: here\r\n\r\n").await;
    assert!(delete.starts_with("HTTP/1.1 405 "), "{delete}");
    let huge = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024));
    let huge = say(at, &huge).await;
    assert!(huge.is_empty() || huge.starts_with("HTTP/1.1 4"), "{huge}");
    let noise = say(at, "\x16\x03\x01 what is this\r\n\r\n").await;
    assert!(noise.is_empty() || noise.starts_with("HTTP/1.1 400 "), "{noise}");
    assert!(ask_until_answered(at, "/livez").await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(grpc_answers(at).await);
}

/// Some say nothing, some ask half a question, some never read: gRPC does not notice, and who asks
/// properly is answered once their time is over.
#[tokio::test]
async fn askers_that_stall_hold_up_neither_grpc_nor_for_long_other_askers() {
    let (at, _) = served().await;
    let mut stalled = Vec::new();
    for i in 0..600 {
        let Ok(mut stream) = TcpStream::connect(at).await else { continue };
        if i % 2 == 0 {
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHo").await;
        }
        stalled.push(stream);
    }
    assert!(grpc_answers(at).await);
    assert!(ask_until_answered(at, "/metrics").await.contains("march_ready 1.0"));
    assert!(stalled.len() > 500);
}

#[tokio::test]
async fn metrics_are_put_together_once_for_all_who_ask_at_the_same_moment() {
    struct Counting(Arc<Mutex<u64>>);
    impl Source for Counting {
        fn show(&self, _: &mut Sheet) {
            *locked(&self.0) += 1;
        }
    }
    let pages = Pages::new(shop().await.about);
    let times = Arc::new(Mutex::new(0));
    pages.show(Counting(times.clone()));
    tokio::time::pause();
    (0..1_000).for_each(|_| drop(pages.metrics()));
    assert_eq!(*locked(&times), 1);
    tokio::time::advance(FRESH_FOR).await;
    let _ = pages.metrics();
    assert_eq!(*locked(&times), 2);
}

#[tokio::test]
async fn whoever_speaks_grpc_before_the_door_is_open_waits_and_pages_are_shown_meanwhile() {
    let Shop { at, about, listener } = shop().await;
    about.health.set("waits for a manager", true);
    let mut doorway = Doorway::new(listener, Pages::new(about.clone()));
    let early = tokio::spawn(grpc_answers(at));
    let page = tokio::select! {
        () = doorway.meanwhile(pending::<()>()) => unreachable!("nothing is ever done"),
        page = ask(at, "/readyz") => page,
    };
    assert!(page.starts_with("HTTP/1.1 503 ") && page.contains("waits for a manager"), "{page}");
    doorway.meanwhile(tokio::task::yield_now()).await;
    let door = NoRecordsDoor { about, elsewhere: "" };
    let serving = server(&LinkTimes::STANDARD)
        .add_service(ProcessServer::new(door))
        .serve_with_incoming(doorway.grpc());
    tokio::spawn(serving);
    assert!(early.await.unwrap());
}
