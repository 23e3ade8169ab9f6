//! Sockets of browsers: greeted, counted, and hung up on when they misbehave.

use crate::support::{console, journals, local};
use futures::{SinkExt, StreamExt};
use marchland_console::{Console, Recorded, Rules, serve};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub async fn served(console: Console) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, console, std::future::pending()));
    addr
}

pub async fn open(addr: SocketAddr) -> Result<Socket, Error> {
    connect_async(format!("ws://{addr}/api/live")).await.map(|(socket, _)| socket)
}

/// The next frame; none at the end.
pub async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.next().await? {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// The status with which a socket was refused.
fn refused(error: &Error) -> u16 {
    match error {
        Error::Http(response) => response.status().as_u16(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_browser_hears_who_is_there_first() {
    let mut socket = open(served(console()).await).await.unwrap();
    assert_eq!(next(&mut socket).await.unwrap()["t"], "hello");
    assert_eq!(next(&mut socket).await.unwrap()["t"], "cluster");
}

#[tokio::test]
async fn the_65th_socket_is_refused_and_its_place_is_free_again_when_another_one_leaves() {
    let addr = served(console()).await;
    let mut sockets = Vec::new();
    for _ in 0..64 {
        sockets.push(open(addr).await.unwrap());
    }
    assert_eq!(refused(&open(addr).await.unwrap_err()), 503);
    sockets.pop().unwrap().close(None).await.unwrap();
    let again = async {
        while open(addr).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), again).await.unwrap();
}

#[tokio::test]
async fn a_page_of_another_origin_may_not_listen() {
    let addr = served(console()).await;
    for (origin, is_own) in
        [("http://evil.example".to_owned(), false), (format!("http://{addr}"), true)]
    {
        let mut request = format!("ws://{addr}/api/live").into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        match connect_async(request).await {
            Ok(_) => assert!(is_own, "{origin}"),
            Err(error) => assert_eq!((refused(&error), is_own), (403, false), "{origin}"),
        }
    }
}

#[tokio::test]
async fn a_browser_that_talks_nonsense_is_told_why_it_is_hung_up_on() {
    let addr = served(console()).await;
    for nonsense in [
        Message::text("nonsense"),
        Message::text("{\"t\":\"watch\",\"bots\":true}"),
        Message::binary(vec![0, 1, 2]),
    ] {
        let mut socket = open(addr).await.unwrap();
        socket.send(nonsense).await.unwrap();
        let mut last = Value::Null;
        while let Some(frame) = next(&mut socket).await {
            last = frame;
        }
        assert_eq!((&last["t"], &last["why"]), (&"end".into(), &"this is no watch message".into()));
    }
}

#[tokio::test]
async fn a_browser_that_floods_its_socket_is_hung_up_on_and_others_are_not() {
    let addr = served(console()).await;
    let mut calm = open(addr).await.unwrap();
    let mut loud = open(addr).await.unwrap();
    let watch = Message::text("{\"t\":\"watch\",\"world\":true,\"events\":true}");
    for _ in 0..10_000 {
        if loud.send(watch.clone()).await.is_err() {
            break;
        }
    }
    while next(&mut loud).await.is_some() {}
    assert_eq!(next(&mut calm).await.unwrap()["t"], "hello");
    calm.send(watch).await.unwrap();
    assert_eq!(next(&mut calm).await.unwrap()["t"], "cluster");
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_its_socket() {
    let addr = served(console()).await;
    let mut socket = open(addr).await.unwrap();
    socket.send(Message::text("x".repeat(1 << 20))).await.ok();
    while next(&mut socket).await.is_some() {}
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_the_rest_is_served() {
    let rules = Rules::new(local(), None);
    let addr = served(Console::new(Arc::new(Recorded::of(journals())), None, rules)).await;
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(TcpStream::connect(addr).await.unwrap());
    }
    drop(idle);
    let served = async {
        while open(addr).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), served).await.unwrap();
}
