//! A cellapp is lost, for good or only as long as nobody hears it.

use super::{Figure, Told, Victim, most, until_back};
use crate::drill::field::Field;
use crate::exit::Failure;
use marchland_common::order::{Node, NodeKind};
use nix::sys::signal::Signal;

pub(super) async fn kill(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Cell, |m| m.reals).await?;
    field.signal(&node.name.to_string(), Signal::SIGKILL).await?;
    field.say(format!("killed {node} with {has} entities about tick {tick}"));
    // A successor at once would be evidence by itself: it comes after the verdict.
    let told = given_up(field, node).await?;
    until_back(field, node).await?;
    Ok(told)
}

pub(super) async fn zombie(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Cell, |m| m.reals).await?;
    let name = node.name.to_string();
    field.signal(&name, Signal::SIGSTOP).await?;
    field.say(format!("stopped {node} with {has} entities about tick {tick}"));
    let told = given_up(field, node).await?;
    field.outlive_lease().await;
    field.signal(&name, Signal::SIGCONT).await?;
    field.say("let it go on after its lease was over".to_owned());
    until_back(field, node).await?;
    Ok(told)
}

/// Waits for the verdict.
async fn given_up(field: &mut Field, node: Node) -> Result<Told, Failure> {
    let before = field.before();
    let verdict = field.until_alone(|status| {
        let counted = ["verdicts_dead", "verdicts_silent"].map(|c| before.since(status, c));
        (counted.iter().sum::<u64>() > 0).then_some((counted, status.tick))
    });
    let mut told = Told::of(Some(node));
    match verdict.await? {
        Some(([dead, silent], tick)) => {
            told.figures.extend([
                (Figure::VerdictsDead, dead),
                (Figure::VerdictsSilent, silent),
                (Figure::Verdicts, dead + silent),
            ]);
            field.say(format!("it was given up by tick {tick}"));
        }
        None => field.say("nobody gave it up".to_owned()),
    }
    Ok(told)
}
