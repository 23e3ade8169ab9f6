//! The most telling chain of facts between two: each could have caused the next one, and together
//! they say most about the question.

use super::graph::{At, Graph};
use super::story::Told;

/// Most facts between which the chain is chosen.
const STATIONS_MAX: usize = 400;
/// Longest chain.
const LINKS_MAX: usize = 48;

/// The places in `told` of the facts of the chain, `from` and `to` included; none if one of them is
/// not told.
pub(super) fn chain(graph: &Graph, told: &[Told], from: At, to: At) -> Option<Vec<usize>> {
    let mut least = 0;
    loop {
        let links = choose(graph, told, from, to, least)?;
        if links.len() <= LINKS_MAX {
            return Some(links);
        }
        // What tells least goes first.
        let inner = &links[1..links.len() - 1];
        least = inner.iter().map(|at| told[*at].weight.0).min()? + 1;
    }
}

fn choose(graph: &Graph, told: &[Told], from: At, to: At, least: u32) -> Option<Vec<usize>> {
    let at_ends = |at: At| at == from || at == to;
    let is_between = |at: At| at_ends(at) || (graph.before(from, at) && graph.before(at, to));
    let mut stations: Vec<usize> = (0..told.len())
        .filter(|at| told[*at].weight.0 >= least || at_ends(told[*at].at))
        .filter(|at| is_between(told[*at].at))
        .collect();
    stations.sort_by_key(|at| (!at_ends(told[*at].at), std::cmp::Reverse(told[*at].weight)));
    stations.truncate(STATIONS_MAX);
    stations.sort_by_key(|at| graph.turn(told[*at].at));
    let mut best: Vec<Best> = Vec::with_capacity(stations.len());
    for (here, station) in stations.iter().enumerate() {
        let Told { at, weight, .. } = told[*station];
        let known = graph.known(at);
        let earlier = (0..here).filter(|before| {
            let other = told[stations[*before]].at;
            known[other.life as usize] > other.fact
        });
        let last = earlier.max_by_key(|before| {
            let same = told[stations[*before]].at.life == at.life;
            (best[*before].weight, same, *before)
        });
        let before = last.map_or(0, |last| best[last].weight);
        best.push(Best { weight: before + u64::from(weight.0), last });
    }
    let mut links = Vec::new();
    let mut next = stations.iter().position(|station| told[*station].at == to);
    while let Some(here) = next {
        links.push(stations[here]);
        next = best[here].last;
    }
    links.reverse();
    let begins = links.first().is_some_and(|first| told[*first].at == from);
    begins.then_some(links)
}

/// The best chain that ends in a station.
struct Best {
    weight: u64,
    last: Option<usize>,
}
