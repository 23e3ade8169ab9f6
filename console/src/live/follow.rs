//! Listening to every cellapp and baseapp, while anybody looks.

use super::hub::Hub;
use super::world::worlds_of;
use marchland_common::order::{Node, NodeKind};
use marchland_proto::observer::observe_client::ObserveClient;
use marchland_proto::observer::piece::What;
use marchland_proto::observer::{RecordsReply, RecordsRequest, WorldsRequest};
use marchland_runtime::observe::RECORDS_VERSION;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

/// Between two looks at who is there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a process may take to begin to tell.
const BEGIN_MAX: Duration = Duration::from_secs(2);
/// Before a process is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// A process that says nothing for so long is tried anew: a stopped one keeps its connection.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Longest message of a process.
const MESSAGE_BYTES: usize = 16 << 20;

/// The lives that are listened to; dropping them ends that.
type Followed = BTreeMap<Node, JoinSet<()>>;

/// Follows whoever is registered while anybody looks.
pub(super) async fn follow_all(hub: Arc<Hub>) -> Infallible {
    let (mut changes, mut looks) = (hub.realm.changes(), hub.activity.changes());
    let mut followed = Followed::new();
    loop {
        let now = Instant::now();
        if hub.activity.is_active(now) {
            follow_members(&hub, &mut followed);
        } else {
            followed.clear();
        }
        hub.trim(now);
        tokio::select! {
            Ok(()) = changes.changed() => {}
            Ok(()) = looks.changed() => {}
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

fn follow_members(hub: &Arc<Hub>, followed: &mut Followed) {
    let seen = hub.realm.seen();
    let members: BTreeMap<Node, String> = seen
        .members
        .iter()
        .filter(|m| matches!(m.info.name.kind, NodeKind::Cell | NodeKind::Base))
        .filter(|m| !seen.dead.contains(&m.incarnation))
        .map(|m| (m.node(), m.info.operator_addr.clone()))
        .collect();
    followed.retain(|node, _| members.contains_key(node));
    for (node, addr) in members {
        followed.entry(node).or_insert_with(|| {
            let mut tasks = JoinSet::new();
            tasks.spawn(records(hub.clone(), node, addr.clone()));
            if node.name.kind == NodeKind::Cell {
                tasks.spawn(pictures(hub.clone(), node, addr));
            }
            tasks
        });
    }
}

fn client(hub: &Hub, addr: &str) -> Option<ObserveClient<Channel>> {
    let channel = hub.realm.channel(addr)?;
    Some(ObserveClient::new(channel).max_decoding_message_size(MESSAGE_BYTES))
}

/// Takes the pictures of a life, again and again.
async fn pictures(hub: Arc<Hub>, node: Node, addr: String) {
    loop {
        if let Some(mut client) = client(&hub, &addr)
            && let Ok(Ok(stream)) = timeout(BEGIN_MAX, client.worlds(WorldsRequest {})).await
        {
            let mut stream = stream.into_inner();
            while let Ok(Ok(Some(picture))) = timeout(SILENCE_MAX, stream.message()).await {
                if picture.incarnation != node.incarnation.0 {
                    break;
                }
                let spaces = hub.realm.seen().spaces.keys().map(|space| space.0).collect();
                let worlds = worlds_of(&picture, &spaces);
                hub.took_picture(node, picture, &worlds);
            }
        }
        sleep(RETRY).await;
    }
}

/// Takes the records of a life, again and again.
async fn records(hub: Arc<Hub>, node: Node, addr: String) {
    loop {
        if let Some(mut client) = client(&hub, &addr)
            && let Ok(Ok(stream)) = timeout(BEGIN_MAX, client.records(RecordsRequest {})).await
        {
            let mut stream = stream.into_inner();
            while let Ok(Ok(Some(reply))) = timeout(SILENCE_MAX, stream.message()).await {
                if !take(&hub, node, reply) {
                    break;
                }
            }
        }
        sleep(RETRY).await;
    }
}

/// False when this is not what is listened for.
fn take(hub: &Hub, node: Node, reply: RecordsReply) -> bool {
    if reply.incarnation != node.incarnation.0 {
        return false;
    }
    if reply.version != RECORDS_VERSION {
        tracing::debug!(%node, reply.version, "its records are of another build");
        return false;
    }
    for piece in reply.pieces {
        match piece.what {
            Some(What::Record(bytes)) => hub.took_record(node, piece.first, bytes),
            Some(What::Gap(gap)) => {
                hub.took_gap(node, piece.first, gap.from, gap.to, "the console did not keep up");
            }
            None => {}
        }
    }
    true
}
