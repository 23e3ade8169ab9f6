//! Between the planner and the keepers of slots: tells each what it is to give away, and learns what
//! is on its way. Often while slots move, now and then otherwise.

use crate::operator::Door;
use marchland_common::cluster::{MemberState, SlotMove, TakeOver, TakeOverStage, TakeOverState};
use marchland_common::order::{Node, NodeKind};
use marchland_manager_core::{Facts, Give, Patience, Slow, Take};
use marchland_proto::convert::{
    Gives, gives_to_wire, move_from_wire, take_state_from_wire, takes_to_wire,
};
use marchland_proto::operator::{MoveSlotsReply, MoveSlotsRequest};
use marchland_runtime::coord::Member;
use marchland_runtime::process::Seen;
use std::collections::{BTreeMap, BTreeSet};
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

/// What baseapps are to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) gives: Vec<Give>,
    pub(crate) takes: Vec<Take>,
}

/// What is known of slots on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// What lives of baseapps said last of slots that they give away,
    pub(crate) moves: BTreeMap<Node, Vec<SlotMove>>,
    /// and of slots that they take over.
    pub(crate) takes: BTreeMap<Node, Vec<TakeOverState>>,
    /// Who takes nothing at present.
    pub(crate) unwilling: BTreeSet<Node>,
    /// Who let a slot wait for too long lately.
    pub(crate) slow: Slow,
}

/// Tells and asks until dropped.
pub(crate) async fn carry(
    door: &Door,
    mut wanted: watch::Receiver<Orders>,
    known: &watch::Sender<Reported>,
) -> Infallible {
    let (mut patience, began) = (Patience::default(), Instant::now());
    let mut feed = door.feed.subscribe();
    loop {
        let orders = wanted.borrow_and_update().clone();
        let seen = feed.borrow_and_update().clone();
        let mut new = known.borrow().clone();
        new.forget_who_is_gone(&seen);
        for (node, answer) in ask_all(door, &seen, &orders).await {
            new.hear(node, answer);
        }
        let now_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        patience.asked(&orders.takes, now_ms);
        new.slow = patience.lose(&facts_of_moves(&seen, &new), now_ms);
        warn_of(&new, &known.borrow());
        let is_busy = orders != Orders::default() || new.is_busy();
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

impl Reported {
    fn forget_who_is_gone(&mut self, seen: &Seen) {
        let is_there = |node: &Node| seen.members.iter().any(|m| m.node() == *node);
        self.moves.retain(|node, _| is_there(node));
        self.takes.retain(|node, _| is_there(node));
        self.unwilling.retain(is_there);
    }

    fn hear(&mut self, node: Node, answer: Answer) {
        self.moves.insert(node, answer.moves);
        self.takes.insert(node, answer.takes);
        match answer.accepts {
            true => self.unwilling.remove(&node),
            false => self.unwilling.insert(node),
        };
    }

    /// Whether anything is on its way.
    fn is_busy(&self) -> bool {
        let works = |state: &TakeOverState| !matches!(state.stage, TakeOverStage::Refused(_));
        self.moves.values().any(|moves| !moves.is_empty())
            || self.takes.values().flatten().any(works)
    }

    fn refusals(&self) -> BTreeMap<(Node, Node), &str> {
        let said = self.takes.iter().flat_map(|(node, said)| said.iter().map(|s| (*node, s)));
        let refusals = said.filter_map(|(node, state)| match &state.stage {
            TakeOverStage::Refused(why) => Some(((node, state.from), why.as_str())),
            TakeOverStage::Reading | TakeOverStage::Held => None,
        });
        refusals.collect()
    }
}

/// What patience looks at.
fn facts_of_moves(seen: &Seen, reported: &Reported) -> Facts {
    Facts {
        members: seen.core_members(),
        dead: seen.dead.clone(),
        slots: seen.slots.clone(),
        moves: reported.moves.clone(),
        takes: reported.takes.clone(),
        ..Facts::default()
    }
}

/// Says who became slow, and who refused.
fn warn_of(now: &Reported, before: &Reported) {
    for keeper in now.slow.keepers.difference(&before.slow.keepers) {
        tracing::warn!(%keeper, "a slot that it is to give does not come to stand still");
    }
    for to in now.slow.takers.difference(&before.slow.takers) {
        tracing::warn!(%to, "slots are on their way to it for too long");
    }
    let old = before.refusals();
    for (who @ (taker, from), why) in now.refusals() {
        if old.get(&who) != Some(&why) {
            tracing::warn!(%taker, %from, why, "it does not take the slots over");
        }
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
async fn ask_all(door: &Door, seen: &Seen, orders: &Orders) -> BTreeMap<Node, Answer> {
    let bases = seen.members.iter().filter(|m| m.info.name.kind == NodeKind::Base);
    let asked = bases.map(|member| ask(door, member, orders));
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

async fn ask(door: &Door, member: &Member, orders: &Orders) -> Option<(Node, Answer)> {
    let node = member.node();
    let gives = orders.gives.iter().filter(|give| give.keeper == node);
    let gives: Gives = gives.map(|give| (give.to, give.slots.clone())).collect();
    let takes = orders.takes.iter().filter(|take| take.taker == node);
    let takes: Vec<TakeOver> = takes.map(|take| take.order.clone()).collect();
    let request = MoveSlotsRequest { gives: gives_to_wire(&gives), takes: takes_to_wire(&takes) };
    let mut keeper = door.book.process(&member.info.operator_addr)?;
    let reply = timeout(ANSWER_MAX, keeper.move_slots(request)).await.ok()?;
    match reply {
        Ok(reply) => answer_of(node, &reply.into_inner()),
        Err(status) => {
            tracing::debug!(%node, %status, "a keeper does not say what is on its way");
            None
        }
    }
}

/// What a life says of slots on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    moves: Vec<SlotMove>,
    takes: Vec<TakeOverState>,
    accepts: bool,
}

/// What that very life says. One word that makes no sense spoils the rest: nothing is known then.
fn answer_of(node: Node, reply: &MoveSlotsReply) -> Option<(Node, Answer)> {
    let is_its = (reply.name.as_str(), reply.incarnation)
        == (node.name.to_string().as_str(), node.incarnation.0);
    let moves: Result<Vec<SlotMove>, _> = reply.moves.iter().map(move_from_wire).collect();
    let takes: Result<Vec<_>, _> = reply.takes.iter().map(take_state_from_wire).collect();
    let (moves, takes) = (moves.ok().filter(|_| is_its)?, takes.ok()?);
    Some((node, Answer { moves, takes, accepts: reply.accepts }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::cluster::MoveStage;
    use marchland_common::order::{SlotId, Term};
    use marchland_proto::convert::{move_to_wire, take_state_to_wire};

    fn going(slot: u8, term: u64) -> SlotMove {
        let to = Node::new(NodeKind::Base, 2, 0).name;
        SlotMove { slot: SlotId(slot), term: Term(term), to, stage: MoveStage::Copying }
    }

    #[test]
    fn only_the_life_that_was_asked_is_believed_and_only_as_a_whole() {
        let node = Node::new(NodeKind::Base, 1, 7);
        let moves = vec![move_to_wire(&going(1, 4)), move_to_wire(&going(2, 4))];
        let name = "base-1".to_owned();
        let taken = TakeOverState {
            from: Node::new(NodeKind::Base, 3, 5),
            stage: TakeOverStage::Refused("it lives".to_owned()),
            slots: vec![(SlotId(9), Term(2))],
        };
        let takes = vec![take_state_to_wire(&taken)];
        let reply = MoveSlotsReply { name, incarnation: 7, moves, takes, accepts: true };
        let (moves, takes) = (vec![going(1, 4), going(2, 4)], vec![taken]);
        let said = Answer { moves, takes, accepts: true };
        assert_eq!(answer_of(node, &reply).unwrap(), (node, said));
        let later = MoveSlotsReply { incarnation: 8, ..reply.clone() };
        assert_eq!(answer_of(node, &later), None);
        let mut spoilt = reply.clone();
        spoilt.moves[1].slot = 256;
        assert_eq!(answer_of(node, &spoilt), None);
        let mut spoilt = reply;
        spoilt.takes[0].from = "moon".to_owned();
        assert_eq!(answer_of(node, &spoilt), None);
    }
}
