//! The clocks of a graph's units.

use super::graph::{At, Edge, Graph, Life};
use super::holes::Holes;
use super::span::Span;
use marchland_common::order::{Node, Tick};
use std::collections::BTreeMap;

/// How far the units of each life have their clocks.
struct Progress {
    /// The next unit.
    next: Vec<usize>,
    /// How many facts lie before it.
    done: Vec<u32>,
    /// How many edges into the life come from facts that are done.
    met: Vec<usize>,
}

/// Gives every unit its clock and its turn.
pub(super) fn build(mut lives: Vec<Life>, holes: Holes, span: Span) -> Graph {
    let mut units = 0;
    for life in &mut lives {
        life.row = units;
        units += life.units.len();
    }
    let columns = lives.len();
    let mut graph = Graph::new(lives, holes, span);
    graph.rows = vec![0; units * columns];
    graph.turns = vec![u32::MAX; units];
    let mut progress =
        Progress { next: vec![0; columns], done: vec![0; columns], met: vec![0; columns] };
    for turn in 0..units as u32 {
        let Some((life, in_turn)) = progress.choose(&graph.lives) else { break };
        if !in_turn {
            graph.holes_mut().circle();
            progress.drop_unmet(&mut graph.lives[life], life);
        }
        let unit = progress.next[life];
        let row = graph.lives[life].row + unit;
        graph.turns[row] = turn;
        fill(&mut graph, life, unit);
        progress.next[life] += 1;
        progress.done[life] = graph.lives[life].end_of(unit);
    }
    graph.channels = channels(&graph.lives);
    graph
}

impl Progress {
    /// Whose unit comes next, and whether all that it waits for is there.
    fn choose(&mut self, lives: &[Life]) -> Option<(usize, bool)> {
        let mut best: Option<(bool, Tick, Node, usize)> = None;
        for (life, of) in lives.iter().enumerate() {
            let Some(unit) = of.units.get(self.next[life]) else { continue };
            let waits = !self.is_ready(of, life);
            let key = (waits, unit.tick, of.node, life);
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        best.map(|(waits, _, _, life)| (life, !waits))
    }

    fn is_met(&self, edge: &Edge) -> bool {
        self.done[edge.from.life as usize] > edge.from.fact
    }

    fn is_ready(&mut self, of: &Life, life: usize) -> bool {
        let end = of.end_of(self.next[life]);
        while let Some(edge) = of.incoming.get(self.met[life]) {
            if edge.to.fact >= end {
                return true;
            }
            if !self.is_met(edge) {
                return false;
            }
            self.met[life] += 1;
        }
        true
    }

    /// Leaves out edges from what comes later: they would close a circle.
    fn drop_unmet(&mut self, of: &mut Life, life: usize) {
        let end = of.end_of(self.next[life]);
        of.incoming.retain(|edge| edge.to.fact >= end || self.is_met(edge));
        self.met[life] = of.incoming.partition_point(|edge| edge.to.fact < end);
    }
}

/// The clock of a unit: that of the one before it, and whatever its messages brought.
fn fill(graph: &mut Graph, life: usize, unit: usize) {
    let end = graph.lives[life].end_of(unit);
    let at = At { life: life as u32, fact: end.saturating_sub(1) };
    let known = graph.gather(at, unit);
    let (columns, row) = (graph.lives.len(), graph.lives[life].row + unit);
    graph.rows[row * columns..(row + 1) * columns].copy_from_slice(&known);
}

impl Graph {
    fn row(&self, life: usize, unit: usize) -> &[u32] {
        let (columns, row) = (self.lives.len(), self.lives[life].row + unit);
        &self.rows[row * columns..(row + 1) * columns]
    }

    /// For each life: how many of its facts a fact comes after, itself included.
    pub(super) fn known(&self, at: At) -> Vec<u32> {
        let mut known = vec![0; self.lives.len()];
        self.learn(at, &mut known);
        known
    }

    fn learn(&self, at: At, known: &mut [u32]) {
        let me = at.life as usize;
        let unit = self.lives[me].unit_of(at.fact);
        let last = self.lives[me].edges_into(unit).last();
        if last.is_some_and(|edge| edge.to.fact > at.fact) {
            merge(known, &self.gather(at, unit));
        } else {
            let mine = known[me];
            merge(known, self.row(me, unit));
            known[me] = mine.max(at.fact + 1);
        }
    }

    /// What a fact knows, from what came before its unit and into it.
    fn gather(&self, at: At, unit: usize) -> Vec<u32> {
        let me = at.life as usize;
        let mut known = match unit.checked_sub(1) {
            Some(before) => self.row(me, before).to_vec(),
            None => vec![0; self.lives.len()],
        };
        let edges = self.lives[me].edges_into(unit).iter();
        for edge in edges.take_while(|edge| edge.to.fact <= at.fact) {
            self.learn(edge.from, &mut known);
        }
        known[me] = at.fact + 1;
        known
    }
}

fn merge(mine: &mut [u32], theirs: &[u32]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

fn channels(lives: &[Life]) -> BTreeMap<(u32, u32), Vec<(Edge, u32)>> {
    let mut channels: BTreeMap<(u32, u32), Vec<(Edge, u32)>> = BTreeMap::new();
    for edge in lives.iter().flat_map(|life| &life.incoming) {
        channels.entry((edge.from.life, edge.to.life)).or_default().push((*edge, 0));
    }
    for edges in channels.values_mut() {
        edges.sort_unstable_by_key(|(edge, _)| (edge.from.fact, edge.to.fact));
        let mut best = edges.len().saturating_sub(1);
        for at in (0..edges.len()).rev() {
            if edges[at].0.to.fact <= edges[best].0.to.fact {
                best = at;
            }
            edges[at].1 = best as u32;
        }
    }
    channels
}
