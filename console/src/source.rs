//! What the router asks of a cluster, live or recorded.

use crate::frame::{ClusterFrame, EventJson, EventName, Hello, Item, World};
use axum::body::Bytes;
use marchland_common::journal::TickRecord;
use marchland_common::order::{EntityId, Node, NodeName};
use serde::Serialize;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Why something was not answered. Nothing changed, unless it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The HTTP status.
    pub status: u16,
    /// A stable word for programs.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Whether everything is as before; not if nobody knows what became of an order.
    pub unchanged: bool,
}

impl Trouble {
    /// A trouble.
    #[must_use]
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, unchanged: true }
    }

    /// The question makes no sense.
    #[must_use]
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(400, "bad-request", message)
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not-found", message)
    }

    /// Not possible with what this program has.
    #[must_use]
    pub fn not_here(message: impl Into<String>) -> Self {
        Self::new(501, "not-available", message)
    }

    /// A rule forbids it.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(409, "refused", message)
    }

    /// Too much at once.
    #[must_use]
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(503, "busy", message)
    }

    /// What to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// Which events are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventsAsk {
    /// From this tick on.
    pub from: Option<u64>,
    /// Up to this tick.
    pub to: Option<u64>,
    /// Only about this entity.
    pub entity: Option<EntityId>,
    /// Only of this process, all its lives.
    pub process: Option<NodeName>,
    /// Only of these kinds; empty is all.
    pub kinds: Vec<String>,
    /// Only what is wrong.
    pub anomalies: bool,
    /// At most so many.
    pub limit: usize,
    /// Only what comes after: the `next` of the page before.
    pub after: Option<Cursor>,
}

impl EventsAsk {
    /// Whether something of the right time and process is what is asked for.
    #[must_use]
    pub fn takes(&self, item: Item<'_>) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == item.kind()))
            && self.entity.is_none_or(|entity| item.concerns(entity))
            && (!self.anomalies || item.is_anomaly())
    }
}

/// Where a page ended: so many events of this tick, in the order in which pages tell them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The tick.
    pub tick: u64,
    /// How many of it were told, whether they were asked for or not.
    pub told: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.tick, self.told)
    }
}

impl std::str::FromStr for Cursor {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (tick, told) = text.split_once('.').unwrap_or((text, "0"));
        Ok(Self { tick: tick.parse()?, told: told.parse()? })
    }
}

/// Facts that are not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapSpan {
    /// Whose.
    pub process: String,
    /// Of which life.
    pub incarnation: String,
    /// The first tick.
    pub from: u64,
    /// The last one.
    pub to: u64,
    /// Why.
    pub why: String,
}

/// A page of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EventsPage {
    /// By tick, moment and name; in its own order within a process.
    pub events: Vec<EventJson>,
    /// Whether there are more: ask again with `after` = `next`.
    pub more: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// What is missing in the span that was looked at.
    pub gaps: Vec<GapSpan>,
}

/// The world at one tick, a frame a cellapp and space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Worlds {
    /// The tick that was asked for.
    pub tick: u64,
    /// What each cellapp had then.
    pub worlds: Vec<World>,
}

/// A record as it came from a process.
#[derive(Clone, Debug, PartialEq)]
pub struct FreshRecord {
    /// Whose.
    pub node: Node,
    /// The record.
    pub record: TickRecord,
    /// The number of its first fact.
    pub first: u64,
}

/// A frame that was made once for all who listen.
#[derive(Clone, Debug)]
pub enum SentFrame {
    /// As text: world, cluster, act.
    Text(Bytes),
    /// Newest facts of one process; each listener tells what is wanted of it.
    Record(Arc<FreshRecord>),
    /// Facts of a process that nobody has.
    Gap(crate::frame::GapFrame),
}

/// What a browser hears while it listens. Dropping it says that it listens no more.
pub struct Following {
    /// Pictures: a newer one replaces an older one.
    pub pictures: broadcast::Receiver<SentFrame>,
    /// Everything else.
    pub facts: broadcast::Receiver<SentFrame>,
    /// Says that it listens, until it is dropped.
    pub guard: Box<dyn Any + Send>,
}

/// A cluster, live or recorded.
#[tonic::async_trait]
pub trait Source: Send + Sync + 'static {
    /// What a browser hears first.
    async fn hello(&self) -> Result<Hello, Trouble>;
    /// How everybody is.
    async fn cluster(&self) -> Result<ClusterFrame, Trouble>;
    /// A page of events.
    async fn events(&self, ask: EventsAsk) -> Result<EventsPage, Trouble>;
    /// What an event follows from, and what follows from it.
    async fn past(&self, event: EventName, limit: usize) -> Result<Value, Trouble>;
    /// How two events are to each other.
    async fn explain(&self, a: EventName, b: EventName) -> Result<Value, Trouble>;
    /// Who owned an entity, and when.
    async fn ownership(
        &self,
        entity: EntityId,
        from: Option<u64>,
        to: Option<u64>,
    ) -> Result<Value, Trouble>;
    /// An entity as each process has it.
    async fn entity(&self, entity: EntityId, tick: Option<u64>) -> Result<Value, Trouble>;
    /// The world at a tick.
    async fn worlds(&self, tick: u64) -> Result<Worlds, Trouble>;
    /// Listens to what is new; none where nothing is.
    fn follow(&self) -> Option<Following>;
}

/// What an operator may do from a browser.
#[tonic::async_trait]
pub trait Acts: Send + Sync + 'static {
    /// Does something, or says what it would do. `who` is the address of the browser.
    async fn act(&self, what: &str, args: Value, who: &str) -> Result<Value, Trouble>;
    /// Everything that was done, oldest first.
    fn list(&self) -> Vec<Value>;
}
