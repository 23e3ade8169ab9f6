//! Draining by order: who is meant, whether somebody else is there to take what it has, and telling
//! it. What becomes of it, the planner and the process itself see to.

use crate::address_book::ASK_MAX;
use crate::fan_out;
use crate::operator::Door;
use marchland_common::order::{NodeKind, NodeName};
use marchland_proto::operator::{DrainReply, DrainRequest};
use marchland_runtime::coord::{Member, MemberState};
use marchland_runtime::process::Seen;
use tokio::time::timeout;
use tonic::Status;

/// Has a process give away what it has, or says why nothing changed.
///
/// One order after the other: each sees in the store what the one before came to, so that two at
/// once do not leave nobody who serves.
pub(crate) async fn drain(door: &Door, request: &DrainRequest) -> Result<DrainReply, Status> {
    let name: NodeName = request.name.parse().map_err(|bad| {
        Status::invalid_argument(format!("{bad}; name a cellapp or a baseapp, like cell-2"))
    })?;
    let _one_at_a_time = door.drains.lock().await;
    let seen = door.feed.seen();
    let member = match decide(&seen, name)? {
        Decision::Order(member) => member,
        Decision::Stands(member) => {
            let incarnation = member.incarnation.0;
            return Ok(DrainReply { ordered: true, reason: String::new(), incarnation });
        }
        Decision::Refuse(reason) => {
            return Ok(DrainReply { ordered: false, reason, incarnation: 0 });
        }
    };
    let mut process = door
        .book
        .process(&member.info.operator_addr)
        .ok_or_else(|| Status::internal(format!("the address of {name} makes no sense")))?;
    let order = DrainRequest { name: request.name.clone(), incarnation: member.incarnation.0 };
    let Ok(reply) = timeout(ASK_MAX, process.drain(order)).await else {
        return Err(Status::deadline_exceeded(format!("{} does not answer", member.node())));
    };
    let reply = reply?.into_inner();
    let mut feed = door.feed.subscribe();
    let shown = feed.wait_for(|seen| match fan_out::member(seen, name) {
        Some(now) => now.incarnation != member.incarnation || is_draining(&now),
        None => true,
    });
    // If the store is slow, the next order waits in vain for nothing worse than this one did.
    let _ = timeout(ASK_MAX, shown).await;
    Ok(reply)
}

/// What an order comes to.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// That life is told.
    Order(Box<Member>),
    /// It was told before.
    Stands(Box<Member>),
    /// Why nothing changes.
    Refuse(String),
}

fn decide(seen: &Seen, name: NodeName) -> Result<Decision, Status> {
    let what = match name.kind {
        NodeKind::Cell => "cells and entities",
        NodeKind::Base => "slots",
        NodeKind::Manager | NodeKind::Client => {
            let text = format!("{name} has nothing to give away: stop it, another one leads");
            return Err(Status::invalid_argument(text));
        }
    };
    let member = fan_out::member(seen, name)
        .filter(|m| !seen.dead.contains(&m.incarnation))
        .ok_or_else(|| Status::not_found(format!("no process {name} is registered")))?;
    if is_draining(&member) {
        return Ok(Decision::Stands(member.into()));
    }
    let serves = |m: &&Member| {
        let (kind, is_lost) = (m.info.name.kind, seen.dead.contains(&m.incarnation));
        kind == name.kind && m.info.name != name && !is_draining(m) && !is_lost
    };
    if seen.members.iter().any(|m| serves(&m)) {
        return Ok(Decision::Order(member.into()));
    }
    let kind = name.kind.name();
    Ok(Decision::Refuse(format!("no other {kind}app serves that could take its {what}")))
}

const fn is_draining(member: &Member) -> bool {
    matches!(member.info.state, MemberState::Draining | MemberState::Leaving)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::order::Incarnation;
    use marchland_runtime::coord::MemberInfo;
    use std::collections::BTreeMap;

    fn member(name: &str, life: u64) -> Member {
        let info = MemberInfo {
            name: name.parse().unwrap(),
            incarnation: None,
            link_addr: String::new(),
            operator_addr: String::new(),
            pid: 1,
            host: String::new(),
            version: String::new(),
            proto: 1,
            state: MemberState::Ready,
            extra: BTreeMap::new(),
        };
        Member { info, incarnation: Incarnation(life), mod_revision: 1, lease: 1 }
    }

    fn seen(names: &[&str]) -> Seen {
        let members = (10..).zip(names).map(|(life, name)| member(name, life)).collect();
        Seen { members, ..Seen::default() }
    }

    fn asked(seen: &Seen, name: &str) -> Decision {
        decide(seen, name.parse().unwrap()).unwrap()
    }

    #[test]
    fn whoever_is_there_and_has_somebody_to_give_to_is_told_and_once_told_stays_told() {
        let mut seen = seen(&["cell-1", "cell-2", "base-1"]);
        assert_eq!(asked(&seen, "cell-1"), Decision::Order(Box::new(member("cell-1", 10))));
        seen.members[0].info.state = MemberState::Draining;
        assert!(matches!(asked(&seen, "cell-1"), Decision::Stands(m) if m.incarnation.0 == 10));
    }

    #[test]
    fn the_last_one_that_serves_is_left_alone_with_a_word_of_what_it_has() {
        let mut seen = seen(&["cell-1", "cell-2", "base-1"]);
        let refused = |seen: &Seen, name: &str| match asked(seen, name) {
            Decision::Refuse(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(&seen, "base-1").contains("no other baseapp serves"));
        seen.members[0].info.state = MemberState::Draining;
        assert!(refused(&seen, "cell-2").contains("cells and entities"));
        seen.members[0].info.state = MemberState::Ready;
        seen.dead.insert(Incarnation(10));
        assert!(refused(&seen, "cell-2").contains("no other cellapp"), "who was given up is none");
    }

    #[test]
    fn who_is_not_there_is_not_found_and_a_manager_has_nothing_to_give_away() {
        let mut seen = seen(&["cell-1", "cell-2", "manager-1"]);
        let code =
            |seen: &Seen, name: &str| decide(seen, name.parse().unwrap()).unwrap_err().code();
        assert_eq!(code(&seen, "cell-9"), tonic::Code::NotFound);
        assert_eq!(code(&seen, "manager-1"), tonic::Code::InvalidArgument);
        seen.dead.insert(Incarnation(11));
        assert_eq!(code(&seen, "cell-2"), tonic::Code::NotFound);
    }
}
