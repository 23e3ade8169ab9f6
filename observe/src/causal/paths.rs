//! The shortest way of messages from one fact to another.

use super::graph::{At, Edge, Graph, Leap};
use super::id::EventId;

/// The first fact of a life that was reached, and the message that reached it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub fact: u32,
    by: Option<Edge>,
}

impl Graph {
    /// What a fact reaches with no message, with one, and so on, until nothing earlier is reached or
    /// so many rounds were made: for each life the first fact.
    pub(super) fn reach(&self, from: At, rounds: usize) -> Vec<Vec<Option<Reached>>> {
        let mut first = vec![None; self.lives.len()];
        first[from.life as usize] = Some(Reached { fact: from.fact, by: None });
        let mut all = vec![first];
        for _ in 0..rounds.min(self.lives.len()) {
            let last = &all[all.len() - 1];
            let next = self.further(last);
            let is_news = |(a, b): (&Option<Reached>, &Option<Reached>)| {
                a.map(|reached| reached.fact) != b.map(|reached| reached.fact)
            };
            if !last.iter().zip(&next).any(is_news) {
                break;
            }
            all.push(next);
        }
        all
    }

    /// One message further.
    fn further(&self, last: &[Option<Reached>]) -> Vec<Option<Reached>> {
        let mut next = last.to_vec();
        for ((from, to), edges) in &self.channels {
            let Some(start) = last[*from as usize] else { continue };
            let at = edges.partition_point(|(edge, _)| edge.from.fact < start.fact);
            let Some((_, best)) = edges.get(at) else { continue };
            let edge = edges[*best as usize].0;
            let known = &mut next[*to as usize];
            if known.is_none_or(|known| edge.to.fact < known.fact) {
                *known = Some(Reached { fact: edge.to.fact, by: Some(edge) });
            }
        }
        next
    }

    /// The way with the fewest messages from one fact to another that comes after it; of several the
    /// one that arrives first. Empty within one life; none where there is no way.
    #[must_use]
    pub fn path(&self, from: EventId, to: EventId) -> Option<Vec<Leap>> {
        let (from, to) = (self.at(from)?, self.at(to)?);
        if !self.before(from, to) && from != to {
            return None;
        }
        let rounds = self.reach(from, usize::MAX);
        let arrives = |round: &Vec<Option<Reached>>| {
            round[to.life as usize].is_some_and(|reached| reached.fact <= to.fact)
        };
        let count = rounds.iter().position(arrives)?;
        let mut leaps = Vec::new();
        let mut at = to.life;
        // What was reached in one round came by a message from what was reached in the one before.
        for round in rounds[..=count].iter().rev() {
            let Some(edge) = round[at as usize].and_then(|reached| reached.by) else { break };
            leaps.push(self.leap(edge));
            at = edge.from.life;
        }
        leaps.reverse();
        Some(leaps)
    }

    fn leap(&self, edge: Edge) -> Leap {
        Leap { from: self.id(edge.from), to: self.id(edge.to), via: edge.via }
    }
}
