//! Processes give away what they have, end in order and are started again, one after the other.
//! Nobody is hurt by it, and no client notices.

use super::{Figure, Told, most, until_back};
use crate::cli::{DrainArgs, parsed};
use crate::drill::field::Field;
use crate::exit::Failure;
use crate::verbs::drain::{DrainJson, give_away};
use crate::verbs::status::StatusJson;
use marchland_common::order::{Incarnation, Node, NodeKind};
use std::collections::BTreeMap;

/// In which order a cluster is renewed.
const ORDER: [NodeKind; 3] = [NodeKind::Cell, NodeKind::Base, NodeKind::Manager];

/// The baseapp and the cellapp that have the most.
pub(super) async fn drain(field: &mut Field) -> Result<Told, Failure> {
    let base = most(field, NodeKind::Base, |m| m.entities).await?;
    let mut renewals = Renewals::default();
    renewals.renew(field, base.node).await?;
    let cell = most(field, NodeKind::Cell, |m| m.reals).await?;
    renewals.renew(field, cell.node).await?;
    Ok(renewals.tell(2))
}

/// Everybody but the store.
pub(super) async fn rolling_restart(field: &mut Field) -> Result<Told, Failure> {
    let before = field.until(|status| status.ready.then(|| lives(status))).await?;
    let before = before.unwrap_or_default();
    let mut renewals = Renewals::default();
    for kind in ORDER {
        for node in before.values().filter(|node| node.name.kind == kind) {
            renewals.renew(field, *node).await?;
        }
    }
    let after = field.until(|status| status.ready.then(|| lives(status))).await?;
    let after = after.unwrap_or_default();
    let same = before.iter().filter(|(name, node)| after.get(*name) == Some(node)).count();
    Ok(renewals.tell(before.len() - same))
}

fn lives(status: &StatusJson) -> BTreeMap<String, Node> {
    let life = |m: &crate::verbs::status::MemberJson| {
        let node = Node { name: m.name.parse().ok()?, incarnation: Incarnation(m.incarnation) };
        Some((m.name.clone(), node))
    };
    status.members.iter().filter_map(life).collect()
}

/// What came of it.
#[derive(Default)]
struct Renewals {
    kept_something: u64,
    ended_badly: u64,
}

impl Renewals {
    /// One process: it gives away what it has, ends, and is there again with its share.
    async fn renew(&mut self, field: &mut Field, node: Node) -> Result<(), Failure> {
        let name = node.name.to_string();
        if node.name.kind != NodeKind::Manager {
            let words = [&name, "--wait", "--within", "20s", "--cluster", field.address()];
            let args: DrainArgs = parsed(&words)?;
            let DrainJson { ordered, drained, reason, left, .. } = give_away(&args).await?;
            self.kept_something += u64::from(!(ordered && drained));
            match left {
                _ if drained => field.say(format!("{node} gave away everything")),
                Some(left) => field.say(format!("{node} kept {left}")),
                None => field.say(format!("{node} was not drained: {reason}")),
            }
        }
        let code = field.stop(&name).await?;
        self.ended_badly += u64::from(code != Some(0));
        match code {
            Some(code) => field.say(format!("{name} ended with code {code}")),
            None => field.say(format!("{name} did not end by itself")),
        }
        until_back(field, node).await?;
        until_it_works(field, node).await
    }

    fn tell(self, renewed: usize) -> Told {
        let mut told = Told::of(None);
        told.figures.extend([
            (Figure::KeptSomething, self.kept_something),
            (Figure::EndedBadly, self.ended_badly),
            (Figure::LivesChanged, renewed as u64),
        ]);
        told
    }
}

/// Waits until its next life has a share of the work, so that the next one may leave.
async fn until_it_works(field: &mut Field, node: Node) -> Result<(), Failure> {
    let name = node.name.to_string();
    let works = field.until(|status| {
        let member = status.members.iter().find(|m| m.name == name && m.state == "serving")?;
        let mut cells = status.spaces.iter().flat_map(|space| &space.cells);
        let has_share = match node.name.kind {
            NodeKind::Base => is_shared_out(status),
            NodeKind::Cell => cells.any(|cell| cell.owner == name),
            NodeKind::Manager | NodeKind::Client => true,
        };
        (status.ready && has_share).then_some((member.slots, status.tick))
    });
    match works.await? {
        Some((slots, tick)) if slots > 0 => {
            field.say(format!("{name} kept {slots} slots by tick {tick}"));
        }
        Some((_, tick)) => field.say(format!("{name} had its share by tick {tick}")),
        None => field.say(format!("{name} got nothing to do")),
    }
    Ok(())
}

/// Whether all baseapps keep as many slots as each other.
fn is_shared_out(status: &StatusJson) -> bool {
    let bases = status.members.iter().filter(|m| m.kind == NodeKind::Base.name());
    let slots: Vec<u32> = bases.map(|m| m.slots).collect();
    let (least, most) = (slots.iter().min(), slots.iter().max());
    least.zip(most).is_some_and(|(least, most)| *least > 0 && most - least <= 1)
}
