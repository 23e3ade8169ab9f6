//! Clients by script.

use super::*;

/// What a client knows of its session.
pub struct Client {
    pub session: SessionId,
    pub entity: EntityId,
    pub secret: u64,
}

pub fn login_event(request: u64, account: &str) -> ClientEvent {
    let account = account.to_owned();
    ClientEvent::Login { request, account, kind: HERO, place: west(), radius: 30_000 }
}

pub fn welcomed(cluster: &Cluster, request: u64) -> Option<(Client, bool, u64)> {
    cluster.bases[0].clients.iter().rev().find_map(|frame| match &frame.what {
        ClientFrame::Welcome { request: r, entity, secret, resumed, last_n } if *r == request => {
            let client = Client { session: frame.session, entity: *entity, secret: *secret };
            Some((client, *resumed, *last_n))
        }
        _ => None,
    })
}

pub fn login(cluster: &mut Cluster, account: &str) -> Client {
    let request = cluster.tick;
    cluster.bases[0].clients_in.push(login_event(request, account));
    cluster.ticks(2);
    welcomed(cluster, request).unwrap().0
}

pub fn command(client: &Client, n: u64, acknowledged: u64) -> ClientEvent {
    ClientEvent::Command {
        session: client.session,
        n,
        entity: client.entity,
        method: POKE,
        args: Bytes::from(vec![n as u8]),
        ttl: 0,
        acknowledged,
    }
}

pub fn resume(client: &Client, request: u64, acknowledged: u64) -> ClientEvent {
    let (session, secret) = (client.session, client.secret);
    ClientEvent::Resume { request, session, secret, acknowledged, radius: 20_000 }
}

/// The owner runs every command that it was sent and did not run before.
pub fn run_commands(owner: &mut Owner, entity: EntityId) {
    for command in owner.commands() {
        let Some(copy) = owner.copies.get(&entity) else { return };
        let mut changes = Vec::new();
        let rows = copy.state.commands.rows();
        let session = command.session;
        if rows.iter().any(|r| r.session == session && r.high < command.acknowledged) {
            changes.push(Change::Acknowledged(session, command.acknowledged));
        }
        let mut state = copy.state.clone();
        changes.iter().for_each(|c| state.apply(c).unwrap());
        if state.commands.check(session, command.n) == CommandVerdict::New {
            let outcome = CommandOutcome::Applied(vec![command.n as u8]);
            changes.push(Change::Command(session, command.n, outcome));
            owner.step(entity, changes);
        }
    }
}

pub fn answers(cluster: &Cluster, client: &Client) -> Vec<(u64, CommandOutcome)> {
    let frames = cluster.bases[0].frames_of(client.session).into_iter();
    frames
        .filter_map(|frame| match frame {
            ClientFrame::Answer { n, outcome, .. } => Some((n, outcome)),
            _ => None,
        })
        .collect()
}

pub fn applied(n: u64) -> (u64, CommandOutcome) {
    (n, CommandOutcome::Applied(vec![n as u8]))
}

pub fn rejected(n: u64, why: Rejection) -> (u64, CommandOutcome) {
    (n, CommandOutcome::Rejected(why))
}
