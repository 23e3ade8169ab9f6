//! A second explorer, for what a safety checker cannot say: that from every reachable state,
//! without one more disturbance, the system can still settle.
//!
//! It visits every state once, keeps the steps that are no disturbance, and walks back from the
//! settled states. What the walk does not reach is stuck. "Can" is not "will": the schedule that
//! gets there exists, and retries with deadlines make the runtime try it again and again.

use std::collections::BTreeSet;
use std::hash::{BuildHasherDefault, Hash};
use std::time::{Duration, Instant};

use indexmap::IndexSet;
use rustc_hash::FxHasher;
use stateright::Model;

type States<S> = IndexSet<S, BuildHasherDefault<FxHasher>>;

/// A model that knows which actions are disturbances and when it has settled.
pub trait Converges: Model {
    /// True if the action is something that goes wrong, or that somebody orders; convergence is
    /// asked for without any more of it.
    fn is_disturbance(&self, state: &Self::State, action: &Self::Action) -> bool;
    /// True if nothing is left to do.
    fn has_converged(&self, state: &Self::State) -> bool;
    /// True if convergence is asked for from here. A model whose time is bounded needs time that
    /// is left: nothing is asked of the states after that time has begun.
    fn is_asked(&self, _: &Self::State) -> bool {
        true
    }
}

/// What a full exploration found.
#[derive(Clone, Debug)]
pub struct Convergence<S> {
    /// Reachable states.
    pub states: usize,
    /// Transitions between them.
    pub transitions: usize,
    /// Settled states among them.
    pub settled: usize,
    /// States from which no settled state can be reached without a further disturbance.
    pub stuck: usize,
    /// The first of those that was found, if any: the least disturbed.
    pub first_stuck: Option<S>,
    /// Wall time, for the report only.
    pub elapsed: Duration,
}

/// Explores everything, then walks back from the settled states. `None` if there are more than
/// `states_max` states: all of them stay in memory.
pub fn convergence<M>(model: &M, states_max: usize) -> Option<Convergence<M::State>>
where
    M: Converges,
    M::State: Clone + Eq + Hash,
{
    let begin = Instant::now();
    let mut states: States<M::State> = model.init_states().into_iter().collect();
    let mut transitions = 0;
    // (to, from) of each transition that is no disturbance.
    let mut calm: Vec<(u32, u32)> = Vec::new();
    let (mut at, mut actions) = (0, Vec::new());
    while at < states.len() {
        let state = states[at].clone();
        model.actions(&state, &mut actions);
        for action in actions.drain(..) {
            let disturbs = model.is_disturbance(&state, &action);
            if let Some(next) = model.next_state(&state, action) {
                let (to, _) = states.insert_full(next);
                transitions += 1;
                if !disturbs {
                    calm.push((to as u32, at as u32));
                }
            }
        }
        if states.len() > states_max {
            return None;
        }
        at += 1;
    }
    let settled: Vec<bool> = states.iter().map(|state| model.has_converged(state)).collect();
    let mut saved = walk_back(&settled, calm);
    for (index, state) in states.iter().enumerate() {
        saved[index] |= !model.is_asked(state);
    }
    Some(Convergence {
        states: states.len(),
        transitions,
        settled: settled.iter().filter(|is| **is).count(),
        stuck: saved.iter().filter(|is| !**is).count(),
        first_stuck: saved.iter().position(|is| !is).map(|index| states[index].clone()),
        elapsed: begin.elapsed(),
    })
}

fn walk_back(settled: &[bool], mut calm: Vec<(u32, u32)>) -> Vec<bool> {
    calm.sort_unstable();
    let mut saved = settled.to_vec();
    let mut open: Vec<u32> =
        (0..settled.len() as u32).filter(|index| settled[*index as usize]).collect();
    while let Some(to) = open.pop() {
        let first = calm.partition_point(|(t, _)| *t < to);
        for (_, from) in calm[first..].iter().take_while(|(t, _)| *t == to) {
            if !std::mem::replace(&mut saved[*from as usize], true) {
                open.push(*from);
            }
        }
    }
    saved
}

/// A shortest way to a state that `is_bad`, if there is one among the first `states_max` states.
pub fn shortest_to<M>(
    model: &M,
    states_max: usize,
    is_bad: impl Fn(&M::State) -> bool,
) -> Option<Vec<M::Action>>
where
    M: Model,
    M::State: Clone + Eq + Hash,
    M::Action: Clone,
{
    let mut states: States<M::State> = model.init_states().into_iter().collect();
    let mut ways: Vec<Option<(usize, M::Action)>> = vec![None; states.len()];
    let mut at = 0;
    while at < states.len().min(states_max) {
        let state = states[at].clone();
        if is_bad(&state) {
            let mut actions = Vec::new();
            let mut back = at;
            while let Some((from, action)) = &ways[back] {
                actions.push(action.clone());
                back = *from;
            }
            actions.reverse();
            return Some(actions);
        }
        for (action, next) in model.next_steps(&state) {
            if model.within_boundary(&next) && states.insert(next) {
                ways.push(Some((at, action)));
            }
        }
        at += 1;
    }
    None
}

/// The set of what `view` sees of every reachable state.
///
/// # Panics
/// If there are more than `states_max` states.
pub fn views<M, V>(model: &M, states_max: usize, view: impl Fn(&M::State) -> V) -> BTreeSet<V>
where
    M: Model,
    M::State: Clone + Eq + Hash,
    V: Ord,
{
    let mut states: States<M::State> = model.init_states().into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut at = 0;
    while at < states.len() {
        let state = states[at].clone();
        seen.insert(view(&state));
        states.extend(model.next_states(&state));
        assert!(states.len() <= states_max, "more than {states_max} states");
        at += 1;
    }
    seen
}
