//! Whether a broken rule comes to light in the way that it states, and all of them in one list.

use crate::check::{Checkable, Until, check};
use crate::explore::convergence;
use crate::fate::{BrokenRule, Fate};
use crate::{lead, order, ownership, slots, takeover, term, transfer, window};

/// States up to which convergence is asked for: all of them stay in memory.
const STATES_MAX: usize = 2_000_000;

/// Says what a run with the broken rule found.
///
/// # Errors
/// If that is not what the rule states.
pub fn judge<R: BrokenRule>(rule: R) -> Result<String, String> {
    let (fate, bounds) = (rule.fate(), rule.bounds());
    let found = match fate {
        Fate::Violates(properties) => violates(&bounds, properties)?,
        Fate::NeverSees(sight) => never_sees(&bounds, sight)?,
        Fate::Harmless => keeps_every_promise(&bounds)?,
        Fate::GetsStuck => gets_stuck(&bounds)?,
    };
    Ok(format!("{} | {rule:?} | {fate} | {found}", R::MODEL))
}

fn violates<M: Checkable>(model: &M, properties: &[&'static str]) -> Result<String, String> {
    let mut found = Vec::new();
    for property in properties {
        let outcome = check(model.clone(), 1, Until::Violated(property));
        if !outcome.violations.contains_key(property) {
            return Err(format!("{property} did not notice it: {outcome}"));
        }
        found.push(format!("{} states", outcome.unique_states));
    }
    Ok(found.join(", "))
}

fn never_sees<M: Checkable>(model: &M, sight: &str) -> Result<String, String> {
    let outcome = check(model.clone(), 1, Until::Exhausted);
    match outcome.complete && outcome.unseen.contains(sight) {
        true => Ok(format!("{} states", outcome.unique_states)),
        false => Err(format!("it was seen: {outcome}")),
    }
}

fn gets_stuck<M: Checkable>(model: &M) -> Result<String, String> {
    let found = convergence(model, STATES_MAX).ok_or("too many states")?;
    match found.stuck {
        0 => Err(format!("none of {} states is stuck", found.states)),
        stuck => Ok(format!("{stuck} of {} states stuck", found.states)),
    }
}

/// Explores a model to its end and asks for everything that it promises.
///
/// # Errors
/// What it does not keep, with a way to it.
pub fn keeps_every_promise<M: Checkable>(model: &M) -> Result<String, String> {
    let outcome = check(model.clone(), 1, Until::Exhausted);
    if let Some((property, trace)) = outcome.violations.first_key_value() {
        return Err(format!("{property} is violated: {trace}"));
    }
    if !outcome.complete {
        return Err(format!("not explored to the end: {outcome}"));
    }
    let settling = settles(model)?;
    Ok(format!("{outcome}; {settling}"))
}

/// Asks that everything can settle from everywhere without one more disturbance.
///
/// # Errors
/// The first state that is stuck.
pub fn settles<M: Checkable>(model: &M) -> Result<String, String> {
    let found = convergence(model, STATES_MAX).ok_or("too many states")?;
    if found.settled == 0 {
        return Err("nothing settles at all".to_owned());
    }
    match &found.first_stuck {
        Some(state) => Err(format!("{} states are stuck: {state:#?}", found.stuck)),
        None => Ok(format!("{} of {} states are settled", found.settled, found.states)),
    }
}

/// Somebody who looks at every broken rule of every model.
pub trait Visitor {
    /// Looks at one.
    fn visit<R: BrokenRule>(&mut self, rule: R);
}

/// Shows every broken rule of every model.
pub fn each_rule(visitor: &mut impl Visitor) {
    each_rule_of::<ownership::Mutant>(visitor);
    each_rule_of::<window::Mutant>(visitor);
    each_rule_of::<transfer::Mutant>(visitor);
    each_rule_of::<order::Mutant>(visitor);
    each_rule_of::<term::Mutant>(visitor);
    each_rule_of::<slots::Mutant>(visitor);
    each_rule_of::<takeover::Mutant>(visitor);
    each_rule_of::<lead::Mutant>(visitor);
}

fn each_rule_of<R: BrokenRule>(visitor: &mut impl Visitor) {
    for rule in R::all() {
        visitor.visit(*rule);
    }
}
