//! The HTTP side: routes, and what is asked of every request before it reaches one.

mod api;
mod guard;
mod params;
mod serve;
mod socket;
mod trouble;

pub use guard::Rules;
pub use serve::{ServeError, serve};

use crate::page;
use crate::source::{Acts, Source};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use socket::Sockets;
use std::sync::Arc;

/// Longest body of an act.
const BODY_MAX: usize = 16 * 1024;

/// What the routes share.
#[derive(Clone)]
pub struct Console {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) acts: Option<Arc<dyn Acts>>,
    pub(crate) rules: Arc<Rules>,
    pub(in crate::http) sockets: Sockets,
}

impl Console {
    /// A console over a source. Without `acts` nothing can be done from it.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, acts: Option<Arc<dyn Acts>>, rules: Rules) -> Self {
        Self { source, acts, rules: Arc::new(rules), sockets: Sockets::default() }
    }

    /// Whether acts are possible.
    pub(crate) fn may_act(&self) -> bool {
        self.acts.is_some() && self.rules.may_act()
    }
}

/// All routes.
pub fn router(console: Console) -> Router {
    Router::new()
        .route("/api/live", get(socket::live))
        .route("/api/hello", get(api::hello))
        .route("/api/cluster", get(api::cluster))
        .route("/api/events", get(api::events))
        .route("/api/past", get(api::past))
        .route("/api/explain", get(api::explain))
        .route("/api/ownership", get(api::ownership))
        .route("/api/entity/{id}", get(api::entity))
        .route("/api/world", get(api::world))
        .route("/api/acts", get(api::acts))
        .route("/api/acts.sh", get(api::acts_script))
        .route("/api/acts/{what}", post(api::act))
        .fallback(page)
        .method_not_allowed_fallback(trouble::wrong_method)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(console.clone(), guard::guard))
        .with_state(console)
}

/// A file of the pages; the first page for every address that names no file.
async fn page(State(_): State<Console>, uri: Uri) -> Response {
    let name = uri.path().trim_start_matches('/');
    let whole = match name {
        "" | "index.html" => Some(("text/html; charset=utf-8", page::index())),
        page::SCRIPTS => Some(("text/javascript; charset=utf-8", page::scripts())),
        _ => None,
    };
    if let Some((media, text)) = whole {
        return ([(header::CONTENT_TYPE, media)], text).into_response();
    }
    match crate::assets::asset(name) {
        Some(asset) => {
            let bytes = axum::body::Bytes::from(asset.bytes.into_owned());
            ([(header::CONTENT_TYPE, asset.media)], bytes).into_response()
        }
        None => trouble::nothing_there(&uri).into_response(),
    }
}
