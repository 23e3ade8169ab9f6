//! Facts of two recordings side by side, whatever their processes' lives were called.

use crate::causal::{Fact, What};
use crate::facts::Kind;
use crate::journals::Journals;
use marchland_common::journal::BundleRef;
use marchland_common::order::{Node, NodeName};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FieldDiff {
    /// Its name; what is nested has dots.
    pub name: String,
    /// In the first recording.
    pub first: String,
    /// In the second.
    pub second: String,
}

/// Which life of its name each life of a recording is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lives(BTreeMap<NodeName, Vec<u64>>);

impl Lives {
    pub fn of(journals: &Journals) -> Self {
        let mut lives: BTreeMap<NodeName, Vec<u64>> = BTreeMap::new();
        for Node { name, incarnation } in journals.processes().iter().map(|p| p.node()) {
            lives.entry(name).or_default().push(incarnation.0);
        }
        lives.values_mut().for_each(|lives| lives.sort_unstable());
        Self(lives)
    }

    /// A life by its place among those of its name.
    fn name(&self, node: Node) -> String {
        let lives = self.0.get(&node.name);
        let at = lives.and_then(|lives| lives.iter().position(|life| *life == node.incarnation.0));
        match at {
            Some(at) => format!("{} (life {at})", node.name),
            None => node.to_string(),
        }
    }
}

/// The fields in which two facts differ, none of them when they are equal; nothing to compare when
/// one is missing or they are of different kinds.
pub(super) fn differ(
    a: Option<&Fact>,
    b: Option<&Fact>,
    (in_a, in_b): (&Lives, &Lives),
) -> Option<Vec<FieldDiff>> {
    let (a, b) = (a?, b?);
    if a.what == b.what && in_a == in_b {
        return Some(Vec::new());
    }
    let fields = match (&a.what, &b.what) {
        (What::Received(first), What::Received(second))
        | (What::Sent(first), What::Sent(second)) => (bundle(first, in_a), bundle(second, in_b)),
        (What::Event(first), What::Event(second)) if Kind::of(first) == Kind::of(second) => {
            let value = |event, lives| flat(serde_json::to_value(event).unwrap_or_default(), lives);
            (value(first, in_a), value(second, in_b))
        }
        _ => return None,
    };
    Some(compare(&fields.0, &fields.1))
}

fn bundle(bundle: &BundleRef, lives: &Lives) -> BTreeMap<String, String> {
    [
        ("peer".to_owned(), lives.name(bundle.peer)),
        ("n".to_owned(), bundle.n.to_string()),
        ("src_tick".to_owned(), bundle.src_tick.to_string()),
    ]
    .into()
}

fn compare(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<FieldDiff> {
    let mut out = Vec::new();
    let none = || "nothing".to_owned();
    for (name, first) in a {
        let second = b.get(name);
        if second != Some(first) {
            let second = second.cloned().unwrap_or_else(none);
            out.push(FieldDiff { name: name.clone(), first: first.clone(), second });
        }
    }
    for (name, second) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
        out.push(FieldDiff { name: name.clone(), first: none(), second: second.clone() });
    }
    out
}

/// The fields of an event by their paths, as text.
fn flat(event: Value, lives: &Lives) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    // An event is one variant with its fields.
    let inner = match event {
        Value::Object(variant) => {
            variant.into_iter().next().map_or(Value::Null, |(_, inner)| inner)
        }
        other => other,
    };
    put(&mut out, String::new(), inner, lives);
    out
}

fn put(out: &mut BTreeMap<String, String>, path: String, value: Value, lives: &Lives) {
    let below = |name: &str| match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    };
    match value {
        Value::Object(fields) => match node_of(&fields) {
            Some(node) => {
                out.insert(path, lives.name(node));
            }
            None => fields.into_iter().for_each(|(name, value)| {
                put(out, below(&name), value, lives);
            }),
        },
        Value::Array(items) if items.len() <= 16 => {
            for (at, item) in items.into_iter().enumerate() {
                put(out, below(&at.to_string()), item, lives);
            }
        }
        Value::Array(items) => {
            let text = Value::Array(items).to_string();
            out.insert(path, text);
        }
        Value::String(text) => {
            out.insert(path, text);
        }
        other => {
            out.insert(path, other.to_string());
        }
    }
}

fn node_of(fields: &Map<String, Value>) -> Option<Node> {
    if fields.len() != 2 || !fields.contains_key("incarnation") {
        return None;
    }
    serde_json::from_value(Value::Object(fields.clone())).ok()
}
