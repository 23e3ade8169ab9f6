//! The manager that leads is lost.

use super::orders::order;
use super::{Figure, Told};
use crate::drill::field::Field;
use crate::exit::Failure;
use marchland_common::order::{Node, NodeKind};
use nix::sys::signal::Signal;
use tokio::time::Instant;

/// The one that is started first leads.
const LEADER: &str = "manager-1";
/// Handoffs that are ordered once another one leads.
const ORDERS: u32 = 6;

pub(super) async fn kill(field: &mut Field) -> Result<Told, Failure> {
    let ready = field.until(|status| {
        let leader = status.members.iter().find(|m| m.name == LEADER);
        leader.filter(|_| status.ready).map(|m| (m.incarnation, status.tick))
    });
    let (life, before) =
        ready.await?.ok_or_else(|| Failure::internal(format!("{LEADER} is not there")))?;
    let mut told = Told::of(Some(Node::new(NodeKind::Manager, 1, life)));
    field.signal(LEADER, Signal::SIGKILL).await?;
    let killed = Instant::now();
    field.say(format!("killed {LEADER}, which led, about tick {before}"));
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
