//! The manager that leads is lost.

use super::orders::order;
use super::{Figure, Told};
use crate::drill::field::Field;
use crate::exit::Failure;
use marchland_common::order::{Incarnation, Node};
use nix::sys::signal::Signal;
use tokio::time::Instant;

/// Handoffs that are ordered once another one leads.
const ORDERS: u32 = 6;

pub(super) async fn kill(field: &mut Field) -> Result<Told, Failure> {
    let leads = field.until(|status| {
        let leader = status.members.iter().find(|m| m.name == status.leader)?;
        let node =
            Node { name: leader.name.parse().ok()?, incarnation: Incarnation(leader.incarnation) };
        status.ready.then_some((node, status.tick))
    });
    let (leader, before) =
        leads.await?.ok_or_else(|| Failure::internal("no manager is known to lead"))?;
    let mut told = Told::of(Some(leader));
    field.signal(&leader.name.to_string(), Signal::SIGKILL).await?;
    let killed = Instant::now();
    field.say(format!("killed {leader}, which led, about tick {before}"));
    // Only a leader says that nothing is missing.
    let Some(after) = field.until(|status| status.ready.then_some(status.tick)).await? else {
        field.say("nobody led after it".to_owned());
        return Ok(told);
    };
    let leaderless = u64::try_from(killed.elapsed().as_millis()).unwrap_or(u64::MAX);
    told.figures.insert(Figure::LeaderlessMs, leaderless);
    told.span = Some((before, after));
    field.say(format!("another one led {leaderless} ms later, about tick {after}"));
    order(field, ORDERS, &mut told).await?;
    Ok(told)
}
