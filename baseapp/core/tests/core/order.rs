//! One order for each client and each receiver, whichever path the parts of it took.

use crate::support::*;
use bytes::Bytes;
use marchland_baseapp_core::io::*;
use marchland_common::msg::*;
use marchland_common::world::*;

/// What passes the base at once and what it keeps until it is durable share one stream: the cell
/// says the first, then has the second confirmed.
#[test]
fn what_was_said_directly_is_never_overtaken_by_what_came_by_way_of_the_log() {
    let mut cluster = Cluster::new();
    let client = login(&mut cluster, "ann");
    let (entity, session) = (client.entity, client.session);
    for n in 1..=1_000_u64 {
        cluster.bases[0].clients_in = vec![command(&client, n, n - 1)];
        cluster.tick();
        let payload = Bytes::from(n.to_string());
        cluster.owner(1).say(entity, CellToBase::Notice { entity, payload });
        let outcome = CommandOutcome::Applied(n.to_string().into_bytes());
        let heard = Change::Acknowledged(session, n - 1);
        let run = Change::Command(session, n, outcome);
        let changes = if n == 1 { vec![run] } else { vec![heard, run] };
        cluster.owner(1).step(entity, changes);
        cluster.tick();
    }
    let told: Vec<(bool, u64)> = cluster.bases[0]
        .frames_of(session)
        .into_iter()
        .filter_map(|frame| match frame {
            ClientFrame::Notice(payload) => {
                Some((false, std::str::from_utf8(&payload).unwrap().parse().unwrap()))
            }
            ClientFrame::Answer { n, .. } => Some((true, n)),
            _ => None,
        })
        .collect();
    let expected: Vec<(bool, u64)> = (1..=1_000).flat_map(|n| [(false, n), (true, n)]).collect();
    assert_eq!(told, expected);
}

/// With value or without, to be answered with something or with nothing: one queue.
#[test]
fn messages_of_different_weight_between_two_entities_arrive_in_the_order_of_sending() {
    let (mut cluster, a, b) = two();
    for n in 1..=50 {
        assert_eq!(send(&mut cluster, 1, a, b, i64::from(n % 2 == 0)), n);
    }
    cluster.ticks(3);
    let arrived: Vec<(u64, i64)> =
        cluster.owner(2).inbox().iter().map(|m| (m.out_seq, m.value)).collect();
    let sent: Vec<(u64, i64)> = (1..=50).map(|n| (n, i64::from(n % 2 == 0))).collect();
    assert_eq!(arrived, sent);
    run_inbox(cluster.owner(2), b, taken);
    cluster.ticks(2);
    take_answers(cluster.owner(1), a);
    cluster.ticks(2);
    assert_eq!((gold(&cluster, a), gold(&cluster, b)), (75, 125));
    assert_balanced(&cluster);
}
