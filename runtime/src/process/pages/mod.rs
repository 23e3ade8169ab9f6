//! What a process shows on its port beside gRPC, in plain HTTP/1.1: `/metrics` for Prometheus,
//! `/livez` and `/readyz` for whoever looks after it. Nothing asked here reaches the tick thread.
//!
//! Invariants: at most [`AT_ONCE_MAX`] are answered at once, each within [`ANSWER_MAX`]; metrics are
//! put together at most once in [`FRESH_FOR`], however often they are asked for.

mod doorway;
mod shown;

pub use doorway::Doorway;
pub use shown::LeaseSource;

use super::door::Introduction;
use crate::telemetry::metrics::{Sheet, Source};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text};
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

/// Askers that are answered at once; whoever comes on top is hung up on.
pub const AT_ONCE_MAX: usize = 8;
/// How long an answer may take, from the first byte of the question to the last of the answer.
pub const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long the head of a question may take.
const HEAD_MAX: Duration = Duration::from_secs(2);
/// How long metrics are shown again before they are put together anew.
pub const FRESH_FOR: Duration = Duration::from_millis(100);
/// For how long an asker's place stays taken after the answer: so nobody is answered more than some
/// hundred times a second.
const BREATH: Duration = Duration::from_millis(10);
/// Most bytes of the head of a question.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// The text form of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is shown. Clones share it.
#[derive(Clone)]
pub struct Pages(Arc<Inner>);

struct Inner {
    about: Introduction,
    shown: Arc<Mutex<Vec<Box<dyn Source>>>>,
    registry: Registry,
    /// The newest metrics, and when they were put together.
    newest: Mutex<Option<(Instant, String)>>,
    places: Arc<Semaphore>,
}

/// Everything that is known of a process, for the registry.
struct Known {
    about: Introduction,
    more: Arc<Mutex<Vec<Box<dyn Source>>>>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Known").field(&self.about.node).finish()
    }
}

impl Collector for Known {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut sheet = Sheet::default();
        self.about.show(&mut sheet);
        locked(&self.more).iter().for_each(|source| source.show(&mut sheet));
        sheet.encode(encoder)
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pages").field(&self.0.about.node).finish()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    /// The pages of a process that says this of itself.
    #[must_use]
    pub fn new(about: Introduction) -> Self {
        let shown: Arc<Mutex<Vec<Box<dyn Source>>>> = Arc::default();
        let mut registry = Registry::default();
        let known = Known { about: about.clone(), more: shown.clone() };
        registry.register_collector(Box::new(known));
        let places = Arc::new(Semaphore::new(AT_ONCE_MAX));
        Self(Arc::new(Inner { about, shown, registry, newest: Mutex::default(), places }))
    }

    /// Shows what somebody else knows as well.
    pub fn show(&self, source: impl Source + 'static) {
        locked(&self.0.shown).push(Box::new(source));
    }

    /// All metrics, as Prometheus reads them.
    #[must_use]
    pub fn metrics(&self) -> String {
        let mut newest = locked(&self.0.newest);
        if let Some((at, text)) = &*newest
            && at.elapsed() < FRESH_FOR
        {
            return text.clone();
        }
        let mut text = String::new();
        // A string takes everything.
        let _ = prometheus_text::encode(&mut text, &self.0.registry);
        *newest = Some((Instant::now(), text.clone()));
        text
    }

    /// Answers one asker, on a connection of its own.
    fn answer(&self, stream: TcpStream) {
        let Ok(place) = self.0.places.clone().try_acquire_owned() else {
            return;
        };
        let router = self.router();
        tokio::spawn(async move {
            let mut builder = Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_MAX)
                .max_buf_size(HEAD_BYTES_MAX)
                .keep_alive(false);
            let service = TowerToHyperService::new(router);
            let answered = builder.serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = timeout(ANSWER_MAX, answered).await {
                tracing::debug!(%error, "a page was not shown");
            }
            sleep(BREATH).await;
            drop(place);
        });
    }

    fn router(&self) -> Router {
        Router::new()
            .route("/metrics", get(metrics))
            .route("/livez", get(livez))
            .route("/readyz", get(readyz))
            .with_state(self.clone())
    }
}

async fn metrics(State(pages): State<Pages>) -> Response {
    ([(CONTENT_TYPE, METRICS_TYPE)], pages.metrics()).into_response()
}

/// Whoever answers lives. Neither etcd nor anybody else has a part in it.
async fn livez(State(pages): State<Pages>) -> Response {
    let about = &pages.0.about;
    let (name, incarnation) = (about.node.name.to_string(), about.node.incarnation.0);
    let body = serde_json::json!({ "alive": true, "name": name, "incarnation": incarnation });
    json(StatusCode::OK, &body)
}

/// Whether it may take work; if not, why.
async fn readyz(State(pages): State<Pages>) -> Response {
    let reply = pages.0.about.reply();
    let body = serde_json::json!({
        "ready": reply.ready,
        "name": reply.name,
        "incarnation": reply.incarnation,
        "tick": reply.tick,
        "drained": reply.drained,
        "reasons": reply.reasons,
    });
    json(if reply.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &body)
}

fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests;
