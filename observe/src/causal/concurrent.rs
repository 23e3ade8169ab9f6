//! Why neither of two facts comes first: the newest that each process had heard of the other.

use super::fact::Fact;
use super::graph::Graph;
use super::id::Names;

/// The rule, for people.
pub(super) fn rule(graph: &Graph, names: &Names, [a, b]: [&Fact; 2]) -> String {
    let knew = [heard(graph, names, a, b), heard(graph, names, b, a)];
    format!(
        "concurrent: no path; they may appear in either order. Only bundles between processes make \
         an order: {}; {}",
        knew[0], knew[1]
    )
}

/// What the process of `at` knew of the process of `other`, when `at` happened.
fn heard(graph: &Graph, names: &Names, at: &Fact, other: &Fact) -> String {
    let (me, them) = (names.node(at.id.node), names.node(other.id.node));
    let (id, named) = (names.event(at.id), names.event(other.id));
    let newest = graph.past_through(at.id).get(&other.id.node).copied();
    match newest {
        Some(n) => {
            let newest = super::EventId { node: other.id.node, n };
            let tick = graph.tick(graph.at(newest));
            let before = other.id.n.saturating_sub(n);
            format!(
                "the newest that {me} knew of {them} at {id} was {} of tick {tick}, {before} before \
                 {named}",
                names.event(newest)
            )
        }
        None => format!("{me} had heard nothing of {them} near {id}"),
    }
}
