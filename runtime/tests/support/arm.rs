//! Runs the same bodies against one kind of server, all at once.

use super::server::{Kind, Server};
use futures::future::BoxFuture;
use marchland_runtime::coord::{CoordClient, CoordOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// A body with its name.
pub type Case = (&'static str, fn(Arm) -> BoxFuture<'static, ()>);

/// What a body gets: a server that all share, and the way to one of its own.
#[derive(Clone)]
pub struct Arm {
    kind: Kind,
    shared: Arc<Server>,
    clusters: Arc<AtomicU32>,
}

impl Arm {
    /// The shared server: no compactions, no signals.
    pub fn server(&self) -> &Server {
        &self.shared
    }

    /// A server that nobody else uses.
    pub async fn own_server(&self) -> Server {
        Server::start(self.kind).await
    }

    /// A name that no other body uses.
    pub fn unique(&self) -> String {
        format!("c{}", self.clusters.fetch_add(1, Ordering::Relaxed))
    }

    /// A connection to the shared server, for a cluster of its own.
    pub async fn client(&self) -> CoordClient {
        self.client_of(&self.shared.endpoint(), &self.unique()).await
    }

    /// A connection to any address.
    pub async fn client_of(&self, endpoint: &str, cluster: &str) -> CoordClient {
        CoordClient::connect(&[endpoint], CoordOptions::new(cluster)).await.unwrap()
    }
}

/// Runs all bodies concurrently; panics with the list of those that failed. `MARCH_CASE` selects by
/// a part of the name.
pub async fn run(kind: Kind, cases: Vec<Case>) {
    let wanted = std::env::var("MARCH_CASE").unwrap_or_default();
    let shared = Arc::new(Server::start(kind).await);
    let arm = Arm { kind, shared, clusters: Arc::default() };
    let mut tasks = JoinSet::new();
    for (name, body) in cases.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let arm = arm.clone();
        tasks.spawn(async move {
            let started = Instant::now();
            let body = tokio::spawn(body(arm));
            let ended = tokio::time::timeout(Duration::from_secs(120), body).await;
            let failed = !matches!(ended, Ok(Ok(())));
            (name, started.elapsed(), failed)
        });
    }
    assert!(!tasks.is_empty(), "no case is called like `{wanted}`");
    let mut failures = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        let (name, took, failed) = ended.unwrap();
        println!("{kind:?}: {name} ... {} ({took:.1?})", if failed { "FAILED" } else { "ok" });
        failures.extend(failed.then_some(name));
    }
    assert!(failures.is_empty(), "{kind:?} fails: {failures:?}");
}
