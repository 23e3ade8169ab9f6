//! A browser that listens. It has one frame under way at a time; what it does not take in time is
//! replaced, or told as a gap, and whoever takes nothing is hung up on. Nobody waits for it.

use super::{Console, api, guard};
use crate::frame::{EventJson, EventsFrame, GapFrame, Item, Recorded, to_text};
use crate::source::{Following, FreshRecord, SentFrame, Trouble};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::Response;
use marchland_common::order::{EntityId, Node};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Most sockets at once.
pub(super) const SOCKETS_MAX: usize = 64;
/// Longest message of a browser.
const MESSAGE_BYTES: usize = 4 * 1024;
/// Most messages of a browser in a second.
const MESSAGES_A_SECOND: u32 = 50;
/// How long one frame may be under way before the browser is hung up on.
const SEND_MAX: Duration = Duration::from_secs(10);
/// Most events in one frame.
const EVENTS_A_FRAME: usize = 500;
/// How often a socket is told that it stands.
const PING_EVERY: Duration = Duration::from_secs(15);
/// Facts of every tick and entity: only for whoever asks for them.
const ROUTINE: [&str; 6] =
    ["Stepped", "Accepted", "GhostFlushed", "GhostApplied", "Durable", "TimerFired"];

/// The places of sockets.
#[derive(Clone)]
pub(super) struct Sockets(Arc<Semaphore>);

impl Default for Sockets {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(SOCKETS_MAX)))
    }
}

/// What a browser wants to hear.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watch {
    #[allow(dead_code, reason = "what kind of message it is; there is one kind")]
    t: WatchTag,
    #[serde(default)]
    world: bool,
    #[serde(default)]
    events: bool,
    #[serde(default)]
    entity: Option<Text>,
    #[serde(default)]
    kinds: Option<Vec<String>>,
}

/// An entity's id, which travels as text.
#[derive(Clone, Copy, Debug)]
struct Text(EntityId);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WatchTag {
    Watch,
}

pub(super) async fn live(
    State(console): State<Console>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Trouble> {
    let upgrade = upgrade.map_err(|e| {
        Trouble::bad(e.body_text()).hint("open it as a WebSocket; /api/hello answers once")
    })?;
    guard::check_origin(&headers)?;
    let permit = console.sockets.0.clone().try_acquire_owned().map_err(|_| {
        Trouble::busy(format!("{SOCKETS_MAX} browsers listen already"))
            .hint("close one of their pages")
    })?;
    let upgrade = upgrade.max_message_size(MESSAGE_BYTES).max_frame_size(MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| listen(console, socket, permit)))
}

/// Why a socket ends.
enum End {
    /// The browser left, or does not take what it is sent.
    Gone,
    /// It is told to leave.
    Told(&'static str),
}

async fn listen(console: Console, mut socket: WebSocket, _permit: OwnedSemaphorePermit) {
    let end = Listener::new(&console).run(&mut socket).await;
    if let End::Told(why) = end {
        let told = to_text(&serde_json::json!({"t": "end", "why": why}));
        let _ = timeout(SEND_MAX, socket.send(Message::text(told))).await;
    }
    let _ = timeout(SEND_MAX, socket.send(Message::Close(None))).await;
}

struct Listener<'a> {
    console: &'a Console,
    watch: Option<Watch>,
    /// The newest tick that each process told here.
    told: BTreeMap<Node, u64>,
    /// Whose facts were missed since.
    missed: BTreeSet<Node>,
    second: Instant,
    heard: u32,
}

impl<'a> Listener<'a> {
    fn new(console: &'a Console) -> Self {
        let second = Instant::now();
        Self {
            console,
            watch: None,
            told: BTreeMap::new(),
            missed: BTreeSet::new(),
            second,
            heard: 0,
        }
    }

    async fn run(&mut self, socket: &mut WebSocket) -> End {
        let mut following = self.console.source.follow();
        if let Err(end) = self.greet(socket).await {
            return end;
        }
        loop {
            let next = tokio::select! {
                message = socket.recv() => self.hear(message),
                frame = next_frame(&mut following, self.watch.is_some()) => self.tell(frame),
                () = tokio::time::sleep(PING_EVERY) => {
                    Ok(vec![Message::Ping(Bytes::new())])
                }
            };
            let sent = match next {
                Ok(messages) => send_all(socket, messages).await,
                Err(end) => Err(end),
            };
            if let Err(end) = sent {
                return end;
            }
        }
    }

    async fn greet(&self, socket: &mut WebSocket) -> Result<(), End> {
        let hello = api::greeting(self.console).await.map(|hello| to_text(&hello));
        let cluster = self.console.source.cluster().await.map(|cluster| to_text(&cluster));
        let first = hello.map_err(|_| End::Told("the cluster cannot be read at present"))?;
        let frames = [Some(first), cluster.ok()].into_iter().flatten().map(Message::text);
        send_all(socket, frames.collect()).await
    }

    /// A browser says what it wants; too often, or what makes no sense, and it is hung up on.
    fn hear(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<Vec<Message>, End> {
        if self.second.elapsed() >= Duration::from_secs(1) {
            (self.second, self.heard) = (Instant::now(), 0);
        }
        self.heard += 1;
        if self.heard > MESSAGES_A_SECOND {
            return Err(End::Told("too many messages"));
        }
        match message {
            None | Some(Err(_) | Ok(Message::Close(_))) => Err(End::Gone),
            Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                Ok(watch) => {
                    self.watch = Some(watch);
                    Ok(Vec::new())
                }
                Err(_) => Err(End::Told("this is no watch message")),
            },
            Some(Ok(Message::Binary(_))) => Err(End::Told("this is no watch message")),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(Vec::new()),
        }
    }

    fn tell(&mut self, frame: Option<Next>) -> Result<Vec<Message>, End> {
        let wants_world = self.watch.as_ref().is_some_and(|watch| watch.world);
        match frame {
            None => Err(End::Told("the cluster is gone")),
            Some(Next::Missed) => {
                self.missed.extend(self.told.keys());
                Ok(Vec::new())
            }
            Some(Next::Picture(SentFrame::Text(text))) if wants_world => Ok(vec![whole(text)]),
            Some(Next::Fact(SentFrame::Text(text))) => Ok(vec![whole(text)]),
            Some(Next::Fact(SentFrame::Record(fresh))) => Ok(self.facts(&fresh)),
            Some(Next::Fact(SentFrame::Gap(gap))) => {
                let wants = self.watch.as_ref().is_some_and(|watch| watch.events);
                Ok(if wants { vec![Message::text(to_text(&gap))] } else { Vec::new() })
            }
            Some(Next::Picture(_) | Next::Replaced) => Ok(Vec::new()),
        }
    }

    /// Facts of one process, as far as they are wanted, behind what was missed of it.
    fn facts(&mut self, fresh: &FreshRecord) -> Vec<Message> {
        let (node, tick) = (fresh.node, fresh.record.tick.0);
        let before = self.told.insert(node, tick);
        let was_missed = self.missed.remove(&node);
        let Some(watch) = self.watch.as_ref().filter(|watch| watch.events) else {
            return Vec::new();
        };
        let mut messages = Vec::new();
        if was_missed {
            let (process, from) = (node.name.to_string(), before.unwrap_or(tick));
            let gap = GapFrame { t: "gap", process, from, to: tick, lost: 0 };
            messages.push(Message::text(to_text(&gap)));
        }
        let recorded = Recorded { node, record: &fresh.record, first: fresh.first };
        let wanted = || recorded.items().filter(|item| watch.wants(*item));
        let count = wanted().count();
        if count == 0 {
            return messages;
        }
        // The newest are shown; how many were not is said.
        let skip = count.saturating_sub(EVENTS_A_FRAME);
        let events: Vec<EventJson> = wanted().skip(skip).map(|item| recorded.json(item)).collect();
        let left_out = (recorded.items().count() - events.len()) as u64;
        let frame = EventsFrame { t: "events", events: &events, left_out };
        messages.push(Message::text(to_text(&frame)));
        messages
    }
}

impl Watch {
    fn wants(&self, item: Item<'_>) -> bool {
        if self.entity.is_some_and(|Text(entity)| !item.concerns(entity)) {
            return false;
        }
        match &self.kinds {
            Some(kinds) => kinds.iter().any(|kind| kind == "*" || kind == item.kind()),
            None => self.entity.is_some() || !ROUTINE.contains(&item.kind()),
        }
    }
}

enum Next {
    Picture(SentFrame),
    Fact(SentFrame),
    Missed,
    Replaced,
}

/// The next frame; none when there will be no more. Waits for ever where nothing is new.
async fn next_frame(following: &mut Option<Following>, watches: bool) -> Option<Next> {
    let Some(following) = following else { return std::future::pending().await };
    tokio::select! {
        biased;
        fact = following.facts.recv() => match fact {
            Ok(frame) => Some(Next::Fact(frame)),
            Err(RecvError::Lagged(_)) => Some(Next::Missed),
            Err(RecvError::Closed) => None,
        },
        picture = following.pictures.recv(), if watches => match picture {
            Ok(frame) => Some(Next::Picture(frame)),
            // Newer ones took their places.
            Err(RecvError::Lagged(_)) => Some(Next::Replaced),
            Err(RecvError::Closed) => None,
        },
    }
}

fn whole(text: Bytes) -> Message {
    Message::Text(Utf8Bytes::try_from(text).unwrap_or_default())
}

async fn send_all(socket: &mut WebSocket, messages: Vec<Message>) -> Result<(), End> {
    for message in messages {
        match timeout(SEND_MAX, socket.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(End::Gone),
        }
    }
    Ok(())
}
