//! Asking every life of the roster, each in a task of its own: nobody waits for a silent one.

use super::board::Board;
use super::now_ms;
use super::roster::Roster;
use marchland_common::order::Node;
use marchland_proto::operator::EvidenceReply;
use marchland_runtime::link::{ABSENT_ATTEMPTS, WitnessAsker};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// Between two questions while all is well.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// How long an answer may take. A process that is well answers within a millisecond.
const ASK_MAX: Duration = Duration::from_millis(300);
/// Between attempts that find nobody, until it is certain.
const ASK_AGAIN: Duration = Duration::from_millis(25);

/// Asks until dropped.
pub(super) async fn run(roster: Roster, board: Board, from: Option<IpAddr>) -> Infallible {
    let mut lives = roster.subscribe();
    let mut tasks = JoinSet::new();
    let mut asking = BTreeMap::new();
    loop {
        let wanted = lives.borrow_and_update().clone();
        asking.retain(|node, (addr, task): &mut (String, tokio::task::AbortHandle)| {
            let stays = wanted.get(node) == Some(addr);
            if !stays {
                task.abort();
                board.forget(*node);
            }
            stays
        });
        for (node, addr) in wanted {
            asking.entry(node).or_insert_with(|| {
                let asker = WitnessAsker::new(addr.clone(), from);
                (addr, tasks.spawn(ask_for_ever(node, asker, board.clone())))
            });
        }
        // Tasks end only when they are aborted.
        while tasks.try_join_next().is_some() {}
        if lives.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn ask_for_ever(node: Node, mut asker: WitnessAsker, board: Board) {
    loop {
        let (began, sent_ms) = (Instant::now(), now_ms());
        match asker.ask(ASK_MAX).await {
            Ok(reply) if is_of(&reply, node) => board.heard(node, sent_ms, now_ms(), &reply),
            Err(failure) if failure.is_absence() => {
                if board.refused(node, now_ms()) < ABSENT_ATTEMPTS as usize {
                    sleep(ASK_AGAIN).await;
                    continue;
                }
            }
            // Silence, or another life at its address: neither says that it is gone.
            Ok(_) | Err(_) => board.silent(node),
        }
        sleep_until(began + ASK_EVERY).await;
    }
}

fn is_of(reply: &EvidenceReply, node: Node) -> bool {
    reply.name == node.name.to_string() && reply.incarnation == node.incarnation.0
}
