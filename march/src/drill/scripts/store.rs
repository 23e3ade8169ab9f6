//! The store says nothing for longer than every lease.

use super::orders::order;
use super::{Figure, Told};
use crate::drill::field::Field;
use crate::exit::Failure;
use crate::verbs::status::StatusJson;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;

/// Handoffs that are ordered while it says nothing.
const ORDERS: u32 = 6;
/// Ticks after it came back, in which leases that ran out would be missed.
const AFTER_TICKS: u64 = 60;

pub(super) async fn stop(field: &mut Field) -> Result<Told, Failure> {
    let ready = |s: &StatusJson| s.ready.then(|| (lives(s), s.tick));
    let (before, from) = field.until(ready).await?.unwrap_or_default();
    let mut told = Told::of(None);
    let store = field.store();
    field.signal(store, Signal::SIGSTOP).await?;
    field.say(format!("stopped the store about tick {from}"));
    order(field, ORDERS, &mut told).await?;
    field.outlive_lease().await;
    field.signal(store, Signal::SIGCONT).await?;
    field.say("let it go on after every lease was over".to_owned());
    field.play(AFTER_TICKS).await?;
    let Some((after, to)) = field.until(ready).await? else {
        field.say("the cluster was not whole afterwards".to_owned());
        return Ok(told);
    };
    let same = before.iter().filter(|(name, life)| after.get(*name) == Some(life)).count();
    let changed = before.len().max(after.len()) - same;
    told.figures.insert(Figure::LivesChanged, changed as u64);
    told.span = Some((from, to));
    field.say(format!("everybody was there about tick {to}"));
    Ok(told)
}

/// Who is registered, as which life.
fn lives(status: &StatusJson) -> BTreeMap<String, u64> {
    status.members.iter().map(|m| (m.name.clone(), m.incarnation)).collect()
}
