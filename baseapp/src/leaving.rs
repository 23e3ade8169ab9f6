//! How a baseapp leaves: it says so, its slots move to others while there are any and a manager
//! leads, and only then its clients are told that their streams end.
//!
//! What does not move in time stays in its log, and goes on with its next life.

use marchland_common::cluster::MemberState as CoreState;
use marchland_common::order::{Node, NodeKind};
use marchland_runtime::coord::{MemberState, Registration};
use marchland_runtime::process::{DrainOrder, HealthBoard, MapFeed, Seen, Shutdown, ShutdownWatch};
use std::future::pending;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long slots may take to move before the process ends all the same.
const MOVE_MAX: Duration = Duration::from_secs(3);
/// How long clients have to hear that their streams end.
const GOODBYE: Duration = Duration::from_millis(150);
/// Between two looks whether everything moved.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Everything that leaving needs.
pub(crate) struct Leaving<'a> {
    pub(crate) registration: &'a Registration,
    pub(crate) feed: &'a MapFeed,
    pub(crate) health: HealthBoard,
    pub(crate) drain: DrainOrder,
    /// Streams of clients end with it.
    pub(crate) closing: Shutdown,
}

impl Leaving<'_> {
    /// Returns when the process was asked to end and is ready to.
    pub(crate) async fn leave(&self, mut asked: ShutdownWatch) {
        tokio::select! {
            () = asked.asked() => self.drain.give(),
            () = self.say_when_draining() => {}
        }
        self.say();
        if timeout(MOVE_MAX, self.moved()).await.is_err() {
            tracing::warn!("not every slot moved in time; the rest waits in the log");
        }
        self.closing.now();
        sleep(GOODBYE).await;
    }

    /// Whoever is ordered to give away what it has stays until it is asked to end.
    async fn say_when_draining(&self) {
        self.drain.given().await;
        tracing::info!("ordered to give away every slot");
        self.say();
        pending().await
    }

    fn say(&self) {
        self.registration.publish(|info| info.state = MemberState::Draining);
    }

    async fn moved(&self) {
        while !self.health.is_drained() && is_taken(&self.feed.seen(), self.registration.node()) {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Whether somebody serves to whom slots of this baseapp can move, and a manager leads who has them
/// move.
fn is_taken(seen: &Seen, me: Node) -> bool {
    let takes = |m: &marchland_common::cluster::Member| {
        m.node.name.kind == NodeKind::Base
            && m.node.name != me.name
            && m.state == CoreState::Serving
            && !seen.dead.contains(&m.node.incarnation)
    };
    seen.leader.is_some() && seen.core_members().iter().any(takes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::order::Incarnation;
    use marchland_runtime::coord::{LeaderInfo, Member, MemberInfo};

    fn member(name: &str, life: u64, state: MemberState) -> Member {
        let info = MemberInfo {
            name: name.parse().unwrap(),
            incarnation: None,
            link_addr: String::new(),
            operator_addr: String::new(),
            pid: 1,
            host: String::new(),
            version: String::new(),
            proto: 1,
            state,
            extra: std::collections::BTreeMap::new(),
        };
        Member { info, incarnation: Incarnation(life), mod_revision: 1, lease: 1 }
    }

    #[test]
    fn slots_are_waited_for_only_while_a_manager_leads_and_another_baseapp_serves() {
        let me = Node::new(NodeKind::Base, 1, 5);
        let name = "manager-1".parse().unwrap();
        let leads = LeaderInfo {
            name,
            incarnation: Incarnation(2),
            operator_addr: String::new(),
            proto: 1,
        };
        let draining = member("base-1", 5, MemberState::Draining);
        let mut seen = Seen { members: vec![draining], leader: Some(leads), ..Seen::default() };
        seen.members.push(member("cell-1", 6, MemberState::Ready));
        assert!(!is_taken(&seen, me), "nobody keeps slots besides");
        seen.members.push(member("base-2", 7, MemberState::Ready));
        assert!(is_taken(&seen, me));
        let mut led = seen.clone();
        led.leader = None;
        assert!(!is_taken(&led, me));
        seen.members[2].info.state = MemberState::Draining;
        assert!(!is_taken(&seen, me), "the other one leaves as well");
        seen.members[2].info.state = MemberState::Ready;
        seen.dead.insert(Incarnation(7));
        assert!(!is_taken(&seen, me));
    }
}
