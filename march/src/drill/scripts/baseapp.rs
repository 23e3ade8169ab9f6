//! A baseapp is lost, or only stopped. Nobody takes its place: its entities wait for it.

use super::{Told, Victim, most, until_back};
use crate::drill::field::Field;
use crate::exit::Failure;
use marchland_common::order::NodeKind;
use nix::sys::signal::Signal;

/// For how long one stays away.
const AWAY_TICKS: u64 = 20;

pub(super) async fn kill(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Base, |m| m.entities).await?;
    field.signal(&node.name.to_string(), Signal::SIGKILL).await?;
    field.say(format!("killed {node} with {has} records about tick {tick}"));
    // For long enough that everybody whose record it keeps stands still.
    let away =
        field.until_alone(|status| (status.tick >= tick + AWAY_TICKS).then_some(status.tick));
    let again = away.await?.unwrap_or(tick);
    field.say(format!("its log is taken up again from tick {again} on"));
    until_back(field, node).await?;
    Ok(Told::of(Some(node)))
}

pub(super) async fn zombie(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Base, |m| m.entities).await?;
    let name = node.name.to_string();
    field.signal(&name, Signal::SIGSTOP).await?;
    field.say(format!("stopped {node} with {has} records about tick {tick}"));
    field.outlive_lease().await;
    let woken = field.status().await.map_or(tick, |status| status.tick);
    field.signal(&name, Signal::SIGCONT).await?;
    field.say(format!("let it go on after its lease was over, about tick {woken}"));
    // As the same life, or as its next one if it was given up.
    let whole = field.until(|status| {
        let life = status.members.iter().find(|m| m.name == name)?.incarnation;
        (status.ready && status.tick > woken).then_some((life, status.tick))
    });
    match whole.await? {
        Some((life, tick)) => field.say(format!("{name} was there as life {life} by tick {tick}")),
        None => field.say(format!("{name} did not come back")),
    }
    let mut told = Told::of(Some(node));
    told.woken = Some(woken);
    Ok(told)
}
