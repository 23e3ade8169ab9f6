//! A cellapp is lost, for good or only as long as nobody hears it.

use super::{Figure, Told, Victim, counted, most, until_back};
use crate::drill::field::Field;
use crate::exit::Failure;
use crate::verbs::status::StatusJson;
use marchland_common::order::{Node, NodeKind};
use nix::sys::signal::Signal;

pub(super) async fn kill(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Cell, |m| m.reals).await?;
    let before = Verdicts::of(field).await?;
    field.signal(&node.name.to_string(), Signal::SIGKILL).await?;
    field.say(format!("killed {node} with {has} entities about tick {tick}"));
    // A successor at once would be evidence by itself: it comes after the verdict.
    let told = given_up(field, node, before).await?;
    until_back(field, node).await?;
    Ok(told)
}

pub(super) async fn zombie(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, tick } = most(field, NodeKind::Cell, |m| m.reals).await?;
    let name = node.name.to_string();
    let before = Verdicts::of(field).await?;
    field.signal(&name, Signal::SIGSTOP).await?;
    field.say(format!("stopped {node} with {has} entities about tick {tick}"));
    let told = given_up(field, node, before).await?;
    field.outlive_lease().await;
    field.signal(&name, Signal::SIGCONT).await?;
    field.say("let it go on after its lease was over".to_owned());
    until_back(field, node).await?;
    Ok(told)
}

/// How many verdicts the managers counted.
#[derive(Clone, Copy)]
struct Verdicts {
    dead: u64,
    silent: u64,
}

impl Verdicts {
    fn counted(status: &StatusJson) -> Self {
        let [dead, silent] = ["verdicts_dead", "verdicts_silent"].map(|c| counted(status, c));
        Self { dead, silent }
    }

    /// Those until now, which are not of this drill.
    async fn of(field: &mut Field) -> Result<Self, Failure> {
        let counted = field.until(|status| Some(Self::counted(status))).await?;
        Ok(counted.unwrap_or(Self { dead: 0, silent: 0 }))
    }

    const fn since(self, before: Self) -> Self {
        let dead = self.dead.saturating_sub(before.dead);
        Self { dead, silent: self.silent.saturating_sub(before.silent) }
    }

    const fn any(self) -> u64 {
        self.dead + self.silent
    }
}

/// Waits for the verdict.
async fn given_up(field: &mut Field, node: Node, before: Verdicts) -> Result<Told, Failure> {
    let verdict = field.until_alone(|status| {
        let since = Verdicts::counted(status).since(before);
        (since.any() > 0).then_some((since, status.tick))
    });
    let mut told = Told::of(Some(node));
    match verdict.await? {
        Some((since, tick)) => {
            told.figures.extend([
                (Figure::VerdictsDead, since.dead),
                (Figure::VerdictsSilent, since.silent),
                (Figure::Verdicts, since.any()),
            ]);
            field.say(format!("it was given up by tick {tick}"));
        }
        None => field.say("nobody gave it up".to_owned()),
    }
    Ok(told)
}
