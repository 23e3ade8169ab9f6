//! A client that speaks the wire's own words.

use marchland_proto::client::gateway_client::GatewayClient;
use marchland_proto::client::{Command, Down, Login, Up, answer, down, up};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

pub struct Client {
    pub up: mpsc::Sender<Up>,
    down: Streaming<Down>,
    pub entity: u64,
}

impl Client {
    pub async fn dial(gateway: &str, first: up::What) -> Self {
        let (up, ups) = mpsc::channel(16);
        up.send(Up { what: Some(first) }).await.unwrap();
        let mut gateway = GatewayClient::connect(gateway.to_owned()).await.unwrap();
        let down = gateway.play(ReceiverStream::new(ups)).await.unwrap().into_inner();
        Self { up, down, entity: 0 }
    }

    pub async fn login(gateway: &str, account: &str) -> Self {
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
    pub async fn next(&mut self) -> Option<down::What> {
        let limit = Duration::from_secs(30);
        let next = tokio::time::timeout(limit, self.down.message()).await;
        next.expect("a stream says something or ends").ok().flatten().and_then(|d| d.what)
    }

    pub async fn answer(&mut self) -> answer::Outcome {
        loop {
            if let Some(down::What::Answer(a)) = self.next().await {
                return a.outcome.unwrap();
            }
        }
    }
}

pub fn command(n: u64, entity: u64, method: &str, args: Vec<u8>) -> Up {
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

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
