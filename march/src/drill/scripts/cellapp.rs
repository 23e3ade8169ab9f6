//! A cellapp is lost, for good or only as long as nobody hears it.

use super::{Figure, Told, Victim, counted, most, until_back};
use crate::drill::field::Field;
use crate::exit::Failure;
use marchland_common::order::{Node, NodeKind};
use nix::sys::signal::Signal;

pub(super) async fn kill(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Cell, |m| m.reals).await?;
    field.signal(&node.name.to_string(), Signal::SIGKILL)?;
    field.say(format!("killed {node} with {has} entities about tick {tick}"));
    // A successor at once would be evidence by itself: it comes after the verdict.
    let told = judged(field, node, ("verdicts_dead", Figure::VerdictsDead)).await?;
    until_back(field, node).await?;
    Ok(told)
}

pub(super) async fn zombie(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Cell, |m| m.reals).await?;
    let name = node.name.to_string();
    field.signal(&name, Signal::SIGSTOP)?;
    field.say(format!("stopped {node} with {has} entities about tick {tick}"));
    let told = judged(field, node, ("verdicts_silent", Figure::VerdictsSilent)).await?;
    field.outlive_lease().await;
    field.signal(&name, Signal::SIGCONT)?;
    field.say("let it go on after its lease was over".to_owned());
    until_back(field, node).await?;
    Ok(told)
}

/// Waits for the verdict.
async fn judged(
    field: &mut Field,
    node: Node,
    (counter, figure): (&str, Figure),
) -> Result<Told, Failure> {
    let verdict = field.until_alone(|status| {
        let count = counted(status, counter);
        (count > 0).then_some((count, status.tick))
    });
    let mut told = Told::of(Some(node));
    match verdict.await? {
        Some((count, tick)) => {
            told.figures.insert(figure, count);
            field.say(format!("it was given up by tick {tick}"));
        }
        None => field.say("nobody gave it up".to_owned()),
    }
    Ok(told)
}
