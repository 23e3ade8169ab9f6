//! Asking whether the holder of a name is there.

use crate::coord::{MemberInfo, Probe};
use crate::link::{LinkTimes, Resolver, channel_over, dial};
use marchland_proto::operator::{HealthRequest, process_client::ProcessClient};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long the holder of a name may take to be reached, and then to say that it is there.
const PROBE_MAX: Duration = Duration::from_millis(700);

/// Asks at the address of a registered process. Only an answer under its name says that it runs,
/// for a stopped process still accepts connections; and only an address where nobody can be that
/// it is gone. Whatever else happens there is odd, and the lease decides.
pub(super) async fn probe(holder: MemberInfo) -> Probe {
    match dial(&mut Resolver::default(), &holder.link_addr, None, PROBE_MAX).await {
        Err(failure) if failure.is_absence() => Probe::Refused,
        Err(_) => Probe::Silent,
        Ok(stream) => match timeout(PROBE_MAX, who_is_there(stream)).await {
            Ok(Some(name)) if name == holder.name.to_string() => Probe::Answers,
            Ok(_) | Err(_) => Probe::Silent,
        },
    }
}

async fn who_is_there(stream: TcpStream) -> Option<String> {
    let channel = channel_over(stream, &LinkTimes::STANDARD).await.ok()?;
    let reply = ProcessClient::new(channel).health(HealthRequest {}).await.ok()?;
    Some(reply.into_inner().name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::coord::MemberState;
    use crate::link::{incoming, server};
    use crate::process::{HealthBoard, Introduction, NoRecordsDoor};
    use crate::telemetry::Counters;
    use marchland_common::order::{Node, NodeKind};
    use marchland_proto::operator::process_server::ProcessServer;
    use std::collections::BTreeMap;
    use tokio::net::TcpListener;

    const HOLDER: Node = Node::new(NodeKind::Cell, 1, 9);

    fn holder_at(addr: String) -> MemberInfo {
        MemberInfo {
            name: HOLDER.name,
            incarnation: None,
            operator_addr: addr.clone(),
            link_addr: addr,
            pid: 1,
            host: "here".to_owned(),
            version: "1".to_owned(),
            proto: 1,
            state: MemberState::Ready,
            extra: BTreeMap::new(),
        }
    }

    async fn listener() -> (TcpListener, MemberInfo) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        (listener, holder_at(addr))
    }

    async fn process_at_the_address(node: Node) -> MemberInfo {
        let (listener, holder) = listener().await;
        let (health, counters) = (HealthBoard::default(), Counters::default());
        let about = Introduction { node, health, counters, drain: None };
        let door = NoRecordsDoor { about, elsewhere: "" };
        let serving = server(&LinkTimes::STANDARD)
            .add_service(ProcessServer::new(door))
            .serve_with_incoming(incoming(listener));
        tokio::spawn(serving);
        holder
    }

    #[tokio::test]
    async fn a_holder_answers_under_its_name_and_a_closed_port_says_that_it_is_gone() {
        let holder = process_at_the_address(HOLDER).await;
        assert_eq!(probe(holder).await, Probe::Answers);
        let (listener, gone) = listener().await;
        drop(listener);
        assert_eq!(probe(gone).await, Probe::Refused);
        let nameless = holder_at("no-such-host.invalid:7600".to_owned());
        assert_eq!(probe(nameless).await, Probe::Refused);
    }

    #[tokio::test]
    async fn whoever_else_is_at_the_address_proves_neither_life_nor_death() {
        let other = process_at_the_address(Node::new(NodeKind::Cell, 2, 9)).await;
        assert_eq!(probe(other).await, Probe::Silent, "another process");
        let (hangs_up, holder) = listener().await;
        tokio::spawn(async move { while hangs_up.accept().await.is_ok() {} });
        assert_eq!(probe(holder).await, Probe::Silent, "one that hangs up");
        let (stopped, holder) = listener().await;
        assert_eq!(probe(holder).await, Probe::Silent, "one that accepts and says nothing");
        drop(stopped);
    }
}
