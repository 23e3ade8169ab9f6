//! The questions, and the acts.

use super::Console;
use super::params::Params;
use crate::frame::{ClusterFrame, EventName, Hello};
use crate::source::{Cursor, EventsAsk, EventsPage, Trouble, Worlds};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Extension, Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use marchland_common::order::{EntityId, NodeName};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::timeout;

/// How long a question may take.
const QUESTION_MAX: Duration = Duration::from_secs(10);
/// How long an act may take; an order ends by its own deadline before.
const ACT_MAX: Duration = Duration::from_secs(70);
/// Events on a page, if nothing else is said, and at most.
const LIMIT: usize = 2_000;
const LIMIT_MAX: usize = 10_000;
/// Events of a past, if nothing else is said, and at most.
const PAST: usize = 500;
const PAST_MAX: usize = 5_000;

type Words = Result<Query<BTreeMap<String, String>>, QueryRejection>;
type Answer<T> = Result<Json<T>, Trouble>;

fn params(words: Words) -> Result<Params, Trouble> {
    let Query(words) = words.map_err(|e| Trouble::bad(e.body_text()))?;
    Ok(Params::new(words))
}

async fn in_time<T>(
    within: Duration,
    answer: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let late = || Trouble::new(504, "timeout", "it took too long").hint("ask for less at once");
    timeout(within, answer).await.unwrap_or_else(|_| Err(late()))
}

async fn answer<T>(answer: impl Future<Output = Result<T, Trouble>>) -> Answer<T> {
    in_time(QUESTION_MAX, answer).await.map(Json)
}

/// What a browser hears first, whichever way it asks.
pub(super) async fn greeting(console: &Console) -> Result<Hello, Trouble> {
    let mut hello = console.source.hello().await?;
    hello.acts = console.may_act();
    hello.token = console.rules.needs_token();
    Ok(hello)
}

pub(super) async fn hello(State(console): State<Console>, words: Words) -> Answer<Hello> {
    params(words)?.end()?;
    answer(greeting(&console)).await
}

pub(super) async fn cluster(State(console): State<Console>, words: Words) -> Answer<ClusterFrame> {
    params(words)?.end()?;
    answer(console.source.cluster()).await
}

pub(super) async fn events(State(console): State<Console>, words: Words) -> Answer<EventsPage> {
    let mut params = params(words)?;
    let kinds: Option<String> = params.take("kind")?;
    let ask = EventsAsk {
        from: params.take("from")?,
        to: params.take("to")?,
        entity: params.take("entity")?,
        process: params.take::<NodeName>("process")?,
        kinds: kinds.map_or_else(Vec::new, |k| k.split(',').map(str::to_owned).collect()),
        anomalies: params.take::<u8>("anomalies")?.is_some_and(|n| n > 0),
        // Whoever asks for ten million gets the largest page, and is told that there is more.
        limit: params.take::<usize>("limit")?.unwrap_or(LIMIT).clamp(1, LIMIT_MAX),
        after: params.take::<Cursor>("after")?,
    };
    params.end()?;
    in_order(ask.from, ask.to)?;
    answer(console.source.events(ask)).await
}

fn in_order(from: Option<u64>, to: Option<u64>) -> Result<(), Trouble> {
    match from.zip(to) {
        Some((from, to)) if from > to => {
            Err(Trouble::bad("`from` is behind `to`: no tick is between them"))
        }
        _ => Ok(()),
    }
}

pub(super) async fn past(State(console): State<Console>, words: Words) -> Answer<Value> {
    let mut params = params(words)?;
    let event = params.need::<EventName>("event")?;
    let limit = params.take::<usize>("limit")?.unwrap_or(PAST).clamp(1, PAST_MAX);
    params.end()?;
    answer(console.source.past(event, limit)).await
}

pub(super) async fn explain(State(console): State<Console>, words: Words) -> Answer<Value> {
    let mut params = params(words)?;
    let (a, b) = (params.need("a")?, params.need("b")?);
    params.end()?;
    answer(console.source.explain(a, b)).await
}

pub(super) async fn ownership(State(console): State<Console>, words: Words) -> Answer<Value> {
    let mut params = params(words)?;
    let entity = params.need::<EntityId>("entity")?;
    let (from, to) = (params.take("from")?, params.take("to")?);
    params.end()?;
    in_order(from, to)?;
    answer(console.source.ownership(entity, from, to)).await
}

pub(super) async fn entity(
    State(console): State<Console>,
    Path(id): Path<String>,
    words: Words,
) -> Answer<Value> {
    let mut params = params(words)?;
    let tick = params.take("tick")?;
    params.end()?;
    let shown: String = id.chars().take(40).collect();
    let id: EntityId =
        id.parse().map_err(|e| Trouble::bad(format!("`{shown}` is no entity's id: {e}")))?;
    answer(console.source.entity(id, tick)).await
}

pub(super) async fn world(State(console): State<Console>, words: Words) -> Answer<Worlds> {
    let mut params = params(words)?;
    let tick = params.need("tick")?;
    params.end()?;
    answer(console.source.worlds(tick)).await
}

pub(super) async fn acts(State(console): State<Console>, words: Words) -> Answer<Value> {
    params(words)?.end()?;
    let acts = console.acts.as_ref().map_or_else(Vec::new, |acts| acts.list());
    Ok(Json(json!({ "acts": acts })))
}

/// The acts as a shell script that does them again.
pub(super) async fn acts_script(
    State(console): State<Console>,
    words: Words,
) -> Result<Response, Trouble> {
    params(words)?.end()?;
    let acts = console.acts.as_ref().map_or_else(Vec::new, |acts| acts.list());
    let mut script = String::from(
        "#!/bin/sh\n# What was done from the console, oldest first. MARCH_CLUSTER says to which cluster.\n\
         set -e\n",
    );
    for act in &acts {
        let word = |name: &str| act.get(name).and_then(Value::as_str).unwrap_or_default();
        let tick = act.get("at_tick").and_then(Value::as_u64).unwrap_or(0);
        script.push_str(&format!("\n# at tick {tick}: {}\n{}\n", word("state"), word("command")));
    }
    Ok(([(header::CONTENT_TYPE, "text/x-shellscript; charset=utf-8")], script).into_response())
}

pub(super) async fn act(
    State(console): State<Console>,
    Path(what): Path<String>,
    who: Option<Extension<ConnectInfo<SocketAddr>>>,
    body: Result<Json<Value>, JsonRejection>,
) -> Answer<Value> {
    let Some(acts) = &console.acts else {
        return Err(Trouble::not_here("nothing can be done to a recording")
            .hint("acts are for the console of a running cluster: march demo, march manager"));
    };
    let Json(args) = body.map_err(|e| Trouble::bad(e.body_text()))?;
    let who = who.map_or_else(|| "unknown".to_owned(), |Extension(who)| who.0.to_string());
    let acted = in_time(ACT_MAX, acts.act(&what, args, &who)).await;
    acted.map(Json).map_err(|trouble| match trouble.code {
        "timeout" => Trouble { unchanged: false, ..trouble }.hint("look who owns it now"),
        _ => trouble,
    })
}
