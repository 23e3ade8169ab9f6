//! Handoffs by order: a few, to see that they are carried out, or a storm of them.

use super::{Figure, Told};
use crate::cli::{HandoffArgs, parsed};
use crate::drill::field::Field;
use crate::exit::Failure;
use crate::verbs::handoff::{self, ManyJson};
use futures::future::try_join_all;

/// How many order at once in a storm, each one after the other.
const SIDES: u64 = 8;
/// What each of them orders.
const EACH: u32 = 50;

pub(super) async fn storm(field: &mut Field) -> Result<Told, Failure> {
    let mut told = Told::of(None);
    let address = field.address().to_owned();
    let sides = (1..=SIDES).map(|side| at_random(&address, EACH, side));
    count(field, &try_join_all(sides).await?, &mut told);
    Ok(told)
}

/// Orders some handoffs.
pub(super) async fn order(field: &mut Field, wanted: u32, told: &mut Told) -> Result<(), Failure> {
    let sum = at_random(field.address(), wanted, 1).await?;
    count(field, &[sum], told);
    Ok(())
}

/// Orders some handoffs of entities from one cellapp to another, for each pair.
pub(super) async fn between(
    field: &mut Field,
    pairs: &[(&str, &str)],
    count_each: u32,
    told: &mut Told,
) -> Result<(), Failure> {
    let args: HandoffArgs = parsed(&["--random", "1", "--cluster", field.address(), "--json"])?;
    let mut sums = Vec::new();
    for (from, to) in pairs {
        sums.push(handoff::between(&args, from, to, count_each).await?);
    }
    count(field, &sums, told);
    Ok(())
}

async fn at_random(address: &str, count: u32, seed: u64) -> Result<ManyJson, Failure> {
    let (number, seed) = (count.to_string(), seed.to_string());
    let words = ["--random", &number, "--seed", &seed, "--cluster", address, "--json"];
    let args: HandoffArgs = parsed(&words)?;
    handoff::many(&args, count).await
}

fn count(field: &mut Field, sums: &[ManyJson], told: &mut Told) {
    let all = |of: fn(&ManyJson) -> u32| sums.iter().map(|sum| u64::from(of(sum))).sum::<u64>();
    let (committed, timeout) = (all(|sum| sum.committed), all(|sum| sum.timeout));
    told.figures.extend([(Figure::Committed, committed), (Figure::TimedOut, timeout)]);
    field.say(format!(
        "ordered {} handoffs: {committed} committed, {} aborted, {} refused, {timeout} timed out",
        all(|sum| sum.ordered),
        all(|sum| sum.aborted),
        all(|sum| sum.refused),
    ));
}
