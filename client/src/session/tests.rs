//! A session against gateways that are not there, or do not agree who serves it.

#![allow(clippy::unwrap_used)]

use super::{Session, SessionEnd, SessionOptions, Told};
use marchland_proto::client::gateway_server::{Gateway, GatewayServer};
use marchland_proto::client::{Down, Redirect, Refused, Up, Welcome, down};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

const GIVE_UP: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_its_handle_is_dropped_even_if_no_gateway_answers() {
    let options = SessionOptions {
        // Nobody listens there.
        gateways: vec!["http://127.0.0.1:1".to_owned()],
        account: "lost".to_owned(),
        kind: "avatar".to_owned(),
        radius: 0,
        give_up: GIVE_UP,
    };
    let (session, mut told) = Session::open(options);
    assert!(timeout(GIVE_UP / 2, told.recv()).await.is_err(), "it tries as long as it was told to");
    drop(session);
    assert_eq!(timeout(GIVE_UP / 4, told.recv()).await, Ok(Some(Told::Ended(SessionEnd::Closed))));
    assert_eq!(told.recv().await, None);
}

/// Sends everybody to another gateway, and refuses them for good once that many were sent away.
#[derive(Clone)]
struct Elsewhere {
    other: String,
    sent: Arc<AtomicU32>,
    most: u32,
}

#[tonic::async_trait]
impl Gateway for Elsewhere {
    type PlayStream = tokio_stream::Once<Result<Down, Status>>;

    async fn play(&self, _: Request<Streaming<Up>>) -> Result<Response<Self::PlayStream>, Status> {
        let what = if self.sent.fetch_add(1, Ordering::Relaxed) < self.most {
            down::What::Redirect(Redirect { address: self.other.clone() })
        } else {
            let (code, message) = ("enough".to_owned(), "nobody else is sent away".to_owned());
            down::What::Refused(Refused { code, message })
        };
        Ok(Response::new(tokio_stream::once(Ok(Down { what: Some(what), ..Down::default() }))))
    }
}

/// A session with the first of two gateways that send to each other.
async fn between_two(most: u32, give_up: Duration) -> (Option<Told>, u32) {
    let doors = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let addrs = [0, 1].map(|at: usize| format!("http://{}", doors[at].local_addr().unwrap()));
    let sent = Arc::new(AtomicU32::new(0));
    for (door, other) in doors.into_iter().zip([addrs[1].clone(), addrs[0].clone()]) {
        door.set_nonblocking(true).unwrap();
        let door = TcpListenerStream::new(TcpListener::from_std(door).unwrap());
        let gateway = GatewayServer::new(Elsewhere { other, sent: sent.clone(), most });
        let server = tonic::transport::Server::builder().add_service(gateway);
        tokio::spawn(server.serve_with_incoming(door));
    }
    let options = SessionOptions {
        gateways: vec![addrs[0].clone()],
        account: "sent about".to_owned(),
        kind: "avatar".to_owned(),
        radius: 0,
        give_up,
    };
    let (_session, mut told) = Session::open(options);
    let end = timeout(Duration::from_secs(60), told.recv()).await.expect("the session ends");
    (end, sent.load(Ordering::Relaxed))
}

#[tokio::test]
async fn gateways_that_do_not_agree_for_a_while_are_followed_again_after_a_pause() {
    let (end, sent) = between_two(30, GIVE_UP).await;
    assert!(matches!(end, Some(Told::Ended(SessionEnd::Refused { .. }))), "{end:?}");
    assert_eq!(sent, 31);
}

#[tokio::test]
async fn gateways_that_never_agree_are_given_up() {
    let (end, _) = between_two(u32::MAX, Duration::from_millis(300)).await;
    let Some(Told::Ended(SessionEnd::Unreachable(_, why))) = end else { panic!("{end:?}") };
    assert!(why.contains("one to the other"), "{why}");
}

/// Welcomes everybody as one who sent so many commands before.
#[derive(Clone)]
struct Confused(u64);

#[tonic::async_trait]
impl Gateway for Confused {
    type PlayStream = tokio_stream::Once<Result<Down, Status>>;

    async fn play(&self, _: Request<Streaming<Up>>) -> Result<Response<Self::PlayStream>, Status> {
        let welcome = Welcome { session: 1, last_n: self.0, ..Welcome::default() };
        let what = Some(down::What::Welcome(welcome));
        Ok(Response::new(tokio_stream::once(Ok(Down { what, ..Down::default() }))))
    }
}

#[tokio::test]
async fn a_gateway_that_took_in_what_was_never_sent_is_not_followed() {
    for last_n in [1, u64::MAX] {
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateways = vec![format!("http://{}", door.local_addr().unwrap())];
        let mut server = tonic::transport::Server::builder();
        let server = server.add_service(GatewayServer::new(Confused(last_n)));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(door)));
        let (account, kind) = ("ann".to_owned(), "avatar".to_owned());
        let options = SessionOptions { gateways, account, kind, radius: 0, give_up: GIVE_UP };
        let (_session, mut told) = Session::open(options);
        let end = timeout(Duration::from_secs(60), told.recv()).await.expect("the session ends");
        let Some(Told::Ended(SessionEnd::Protocol(why))) = end else { panic!("{end:?}") };
        assert!(why.contains(&last_n.to_string()), "{why}");
    }
}
