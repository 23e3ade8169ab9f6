//! Between the planner and the keepers of slots: tells each what it is to give away, and learns what
//! is on its way. Often while slots move, now and then otherwise.

use crate::operator::Door;
use marchland_common::cluster::{MemberState, SlotMove};
use marchland_common::order::{Node, NodeKind};
use marchland_manager_core::{Facts, Give, Patience, Slow};
use marchland_proto::convert::{Gives, gives_to_wire, move_from_wire};
use marchland_proto::operator::{MoveSlotsReply, MoveSlotsRequest};
use marchland_runtime::coord::Member;
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// Between two rounds while slots move.
const OFTEN: Duration = Duration::from_millis(25);
/// Between two rounds otherwise.
const SELDOM: Duration = Duration::from_secs(1);
/// How long a keeper may take to answer while others wait for the next round.
const ANSWER_MAX: Duration = Duration::from_millis(300);

/// What is known of slots on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// What lives of baseapps said last.
    pub(crate) moves: BTreeMap<Node, Vec<SlotMove>>,
    /// Who let a slot wait for too long lately.
    pub(crate) slow: Slow,
}

/// Tells and asks until dropped.
pub(crate) async fn carry(
    door: &Door,
    mut wanted: watch::Receiver<Vec<Give>>,
    known: &watch::Sender<Reported>,
) -> Infallible {
    let (mut patience, began) = (Patience::default(), Instant::now());
    let mut feed = door.feed.subscribe();
    loop {
        let gives = wanted.borrow_and_update().clone();
        let seen = feed.borrow_and_update().clone();
        let mut moves = known.borrow().moves.clone();
        moves.retain(|node, _| seen.members.iter().any(|m| m.node() == *node));
        moves.extend(ask_all(door, &seen, &gives).await);
        let now_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let facts = facts_of_moves(&seen, moves);
        let slow = patience.lose(&facts, now_ms);
        warn_of(&slow, &known.borrow().slow);
        let new = Reported { moves: facts.moves, slow };
        let is_busy = !gives.is_empty() || new.moves.values().any(|moves| !moves.is_empty());
        known.send_if_modified(|old| {
            let differs = *old != new;
            *old = new;
            differs
        });
        tokio::select! {
            () = sleep(if is_busy || leaves(&seen) { OFTEN } else { SELDOM }) => {}
            // An error means that nobody plans any more: then this is dropped as well.
            Ok(()) = wanted.changed() => {}
            Ok(()) = feed.changed() => sleep(OFTEN).await,
        }
    }
}

/// What patience looks at.
fn facts_of_moves(seen: &Seen, moves: BTreeMap<Node, Vec<SlotMove>>) -> Facts {
    let (dead, slots) = (seen.dead.clone(), seen.slots.clone());
    Facts { members: seen.core_members(), dead, slots, moves, ..Facts::default() }
}

/// Says who became slow.
fn warn_of(slow: &Slow, before: &Slow) {
    for keeper in slow.keepers.difference(&before.keepers) {
        tracing::warn!(%keeper, "a slot that it is to give does not come to stand still");
    }
    for to in slow.takers.difference(&before.takers) {
        tracing::warn!(%to, "slots are on their way to it for too long");
    }
}

/// Whether a baseapp drains that still keeps something.
fn leaves(seen: &Seen) -> bool {
    let draining = |m: &marchland_common::cluster::Member| {
        m.state == MemberState::Draining && seen.slots.iter().any(|s| s.base == m.node.name)
    };
    seen.core_members().iter().any(draining)
}

/// Asks every baseapp at once. Whoever does not answer is left out.
async fn ask_all(door: &Door, seen: &Seen, gives: &[Give]) -> BTreeMap<Node, Vec<SlotMove>> {
    let bases = seen.members.iter().filter(|m| m.info.name.kind == NodeKind::Base);
    let asked = bases.map(|member| ask(door, member, gives));
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

async fn ask(door: &Door, member: &Member, gives: &[Give]) -> Option<(Node, Vec<SlotMove>)> {
    let node = member.node();
    let own = gives.iter().filter(|give| give.keeper == node);
    let own: Gives = own.map(|give| (give.to, give.slots.clone())).collect();
    let mut keeper = door.book.process(&member.info.operator_addr)?;
    let request = MoveSlotsRequest { gives: gives_to_wire(&own), takes: Vec::new() };
    let reply = timeout(ANSWER_MAX, keeper.move_slots(request)).await.ok()?;
    match reply {
        Ok(reply) => moves_of(node, &reply.into_inner()),
        Err(status) => {
            tracing::debug!(%node, %status, "a keeper does not say what is on its way");
            None
        }
    }
}

/// What that very life says. One word that makes no sense spoils the rest: nothing is known then.
fn moves_of(node: Node, reply: &MoveSlotsReply) -> Option<(Node, Vec<SlotMove>)> {
    let is_its = (reply.name.as_str(), reply.incarnation)
        == (node.name.to_string().as_str(), node.incarnation.0);
    let moves: Result<Vec<SlotMove>, _> = reply.moves.iter().map(move_from_wire).collect();
    moves.ok().filter(|_| is_its).map(|moves| (node, moves))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::cluster::MoveStage;
    use marchland_common::order::{SlotId, Term};
    use marchland_proto::convert::move_to_wire;

    fn going(slot: u8, term: u64) -> SlotMove {
        let to = Node::new(NodeKind::Base, 2, 0).name;
        SlotMove { slot: SlotId(slot), term: Term(term), to, stage: MoveStage::Copying }
    }

    #[test]
    fn only_the_life_that_was_asked_is_believed_and_only_as_a_whole() {
        let node = Node::new(NodeKind::Base, 1, 7);
        let moves = vec![move_to_wire(&going(1, 4)), move_to_wire(&going(2, 4))];
        let (name, incarnation) = ("base-1".to_owned(), 7);
        let reply = MoveSlotsReply { name, incarnation, moves, ..MoveSlotsReply::default() };
        assert_eq!(moves_of(node, &reply).unwrap(), (node, vec![going(1, 4), going(2, 4)]));
        let later = MoveSlotsReply { incarnation: 8, ..reply.clone() };
        assert_eq!(moves_of(node, &later), None);
        let mut spoilt = reply;
        spoilt.moves[1].slot = 256;
        assert_eq!(moves_of(node, &spoilt), None);
    }
}
