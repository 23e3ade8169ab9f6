//! Causes, for whoever draws them: the past of an event, why one came after another, and who owned
//! an entity when. The answers are those of `march order`; lives are named in full, so that every
//! name is the one that the events themselves have, and every answer is bounded and says what it
//! leaves out.

use crate::frame::{EventJson, EventName, Item, Recorded};
use crate::source::Trouble;
use marchland_common::journal::TickRecord;
use marchland_common::order::{EntityId, Node, Tick};
use marchland_observe::Journals;
use marchland_observe::causal::{
    AROUND, Catalog, EventId, ExplainError, Fact, Hop, NoEvent, OwnerSpan, PastEdge, Span, Via,
    What, explain, message_key, ownership, past,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The most edges of a past, hops of an explanation, and spans of an owner.
const EDGES_MAX: usize = 20_000;
const HOPS_MAX: usize = 2_000;
const SPANS_MAX: usize = 10_000;
/// The most ticks of all journals that are read for who owned an entity: an hour.
const OWNED_TICKS_MAX: u64 = 72_000;

/// Journals with the catalogue of their facts.
#[derive(Clone, Copy)]
pub(crate) struct Causes<'a> {
    pub(crate) journals: &'a Journals,
    pub(crate) catalog: &'a Catalog,
}

impl Causes<'_> {
    /// The past and the future of an event.
    pub(crate) fn past(self, event: EventName, limit: usize) -> Result<Value, Trouble> {
        let fact = self.catalog.fact(self.journals, id_of(event)).map_err(|e| no_event(&e))?;
        let mut past =
            past(self.journals, self.catalog, fact.id, AROUND, limit).map_err(|e| no_event(&e))?;
        if past.edges.len() > EDGES_MAX {
            let more = past.edges.len() - EDGES_MAX;
            past.edges.truncate(EDGES_MAX);
            past.left_out.push(format!("{more} edges more: ask for fewer events"));
            past.truncated = true;
        }
        Ok(json!({
            "root": event_of(&fact),
            "span": [past.span.from.0, past.span.to.0],
            "past": texts(&past.past),
            "future": texts(&past.future),
            "edges": past.edges.iter().map(edge).collect::<Vec<_>>(),
            "past_through": by_life(&past.past_through),
            "future_from": by_life(&past.future_from),
            "truncated": past.truncated,
            "left_out": past.left_out,
        }))
    }

    /// How two events are to each other, and the chain between them.
    pub(crate) fn explain(self, a: EventName, b: EventName) -> Result<Value, Trouble> {
        let told = explain(self.journals, self.catalog, id_of(a), id_of(b));
        let mut told = told.map_err(|error| match error {
            ExplainError::NoEvent(e) => no_event(&e),
            far @ ExplainError::TooFar(..) => Trouble::refused(far.to_string())
                .hint("ask about two events that are fewer ticks apart"),
        })?;
        if told.hops.len() > HOPS_MAX {
            let more = told.hops.len() - HOPS_MAX;
            told.hops.truncate(HOPS_MAX);
            told.left_out.push(format!("the last {more} hops"));
        }
        Ok(json!({
            "relation": told.relation,
            "a": event_of(&told.a),
            "b": event_of(&told.b),
            "rule": told.rule,
            "hops": told.hops.iter().map(hop).collect::<Vec<_>>(),
            "ticks": told.ticks,
            "left_out": told.left_out,
        }))
    }

    /// Who owned an entity from one tick to another, or for as long as the journals tell.
    pub(crate) fn ownership(self, entity: EntityId, from: Option<u64>, to: Option<u64>) -> Value {
        let (first, last) = self.catalog.ticks().unwrap_or((Tick(0), Tick(0)));
        let to = to.unwrap_or(u64::MAX).min(last.0);
        let asked = from.unwrap_or(0).max(first.0);
        let from = asked.max(to.saturating_sub(OWNED_TICKS_MAX));
        let mut left_out = Vec::new();
        if from > asked {
            left_out.push(format!("ticks {asked} to {}: ask for fewer at once", from - 1));
        }
        let span = Span { from: Tick(from), to: Tick(to) };
        let mut spans = ownership(self.journals, self.catalog, entity, span);
        if spans.len() > SPANS_MAX {
            left_out.push(format!("the last {} spans", spans.len() - SPANS_MAX));
            spans.truncate(SPANS_MAX);
        }
        json!({ "spans": spans.iter().map(owner).collect::<Vec<_>>(), "left_out": left_out })
    }
}

const fn id_of(event: EventName) -> EventId {
    EventId { node: event.node, n: event.n }
}

fn texts(ids: &[EventId]) -> Vec<String> {
    ids.iter().map(EventId::to_string).collect()
}

fn by_life(numbers: &BTreeMap<Node, u64>) -> Map<String, Value> {
    numbers.iter().map(|(node, n)| (node.to_string(), json!(n))).collect()
}

/// A fact in the form that all events have.
fn event_of(fact: &Fact) -> EventJson {
    let EventId { node, n } = fact.id;
    let moment = fact.moment;
    let record = TickRecord { moment, ..TickRecord::without_core(fact.tick, Vec::new()) };
    Recorded { node, record: &record, first: n }.json(match &fact.what {
        What::Received(bundle) => Item::Received(n, bundle),
        What::Event(event) => Item::Fact(n, event),
        What::Sent(bundle) => Item::Sent(n, bundle),
    })
}

fn edge(edge: &PastEdge) -> Value {
    let via = match edge.via {
        None => "program".to_owned(),
        Some(Via::Bundle(n)) => {
            format!("message:{}", message_key(edge.from.node, edge.to.node, n))
        }
        Some(Via::Command(session, n)) => format!("message:command {n} of session {session}"),
        Some(Via::Answer(session, n)) => {
            format!("message:the answer to command {n} of session {session}")
        }
        Some(Via::Log) => format!("message:the log of {}", edge.from.node),
    };
    json!([edge.from.to_string(), edge.to.to_string(), via])
}

fn hop(hop: &Hop) -> Value {
    json!({
        "event": event_of(&hop.fact),
        "via": hop.via,
        "rule": hop.rule,
        "ticks": hop.ticks,
        "on_path": hop.on_path,
    })
}

fn owner(span: &OwnerSpan) -> Value {
    json!({
        "process": span.node.name.to_string(),
        "incarnation": span.node.incarnation.to_string(),
        "epoch": span.epoch.grant(),
        "from": span.from.0,
        "to": span.to.map(|tick| tick.0),
        "began": span.began.map(|id| id.to_string()),
        "ended": span.ended.map(|id| id.to_string()),
        "why": span.why,
    })
}

fn no_event(error: &NoEvent) -> Trouble {
    Trouble::not_found(error.to_string()).hint("/api/events gives the names of events")
}
