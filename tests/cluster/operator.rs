//! The operator's verbs against a running cluster.

use crate::support::{Demo, last_json, stderr};
use serde_json::Value;

#[test]
fn an_operator_sees_the_cluster_moves_an_entity_and_reads_its_order() {
    let demo = Demo::start(&["--bots", "10", "--wolves", "60"]);

    let status = last_json(&demo.ask(&["status", "--json"]));
    assert_eq!(status["ready"], true, "{status:#}");
    assert_eq!(status["leader"], "manager-1");
    assert_eq!(status["members"].as_array().unwrap().len(), 6);
    assert_eq!(status["spaces"].as_array().unwrap().len(), 2);

    let listed = demo.ask(&["entity", "ls", "--limit", "5", "--json"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert_eq!(listed.lines().count(), 5);
    let entity: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = entity["id"].to_string();

    // Wherever it is by now, it goes to another cell and stays there.
    let now = last_json(&demo.ask(&["entity", "get", &id, "--json"]));
    let to = if now["owner"] == "cell-2" { "cell-1" } else { "cell-2" };
    let moved = demo.ask(&["handoff", &id, "--to", to, "--wait", "--json"]);
    let moved = last_json(&moved);
    assert_eq!(moved["result"], "committed", "{moved:#}");
    assert_eq!(moved["owner"], to);
    assert_eq!(moved["tick_first"].as_u64(), moved["tick_last"].as_u64().map(|t| t + 1));
    let after = last_json(&demo.ask(&["entity", "get", &id, "--json"]));
    assert_eq!(
        (after["owner"].as_str(), after["epoch"].as_u64()),
        (Some(to), moved["epoch"].as_u64())
    );

    let there = demo.ask(&["handoff", &id, "--to", to, "--json"]);
    assert_eq!(there.status.code(), Some(4), "it already stands there: {}", last_json(&there));

    let many = demo.ask(&["handoff", "--random", "12", "--verify", "--json"]);
    let many = last_json(&many);
    assert!(many["committed"].as_u64() >= Some(8), "{many:#}");
    assert_eq!((many["timeout"].as_u64(), many["misplaced"].as_u64()), (Some(0), Some(0)));

    let order = demo.ask(&["order", "--entity", &id, "--json"]);
    let lines = String::from_utf8_lossy(&order.stdout).into_owned();
    assert!(lines.lines().any(|l| l.contains("\"owner_changed\"")), "{lines}");

    // So short and quiet a run need not have shown everything, but nothing is wrong in it.
    let (_, report) = demo.end();
    assert_ne!(report["audit"], "fail", "{report:#}");
    assert!(report["handoffs"]["ordered"].as_u64() >= Some(9), "{report:#}");
}

#[test]
fn of_ten_handoffs_of_one_entity_at_once_each_ends_and_the_entity_has_one_owner() {
    let demo = Demo::start(&["--bots", "0", "--wolves", "30"]);
    let id = last_json(&demo.ask(&["entity", "ls", "--limit", "1", "--json"]))["id"].to_string();
    let (demo_ref, id_ref) = (&demo, &id);
    let ends: Vec<Value> = std::thread::scope(|scope| {
        let order = |to: &'static str| {
            scope
                .spawn(move || last_json(&demo_ref.ask(&["handoff", id_ref, "--to", to, "--json"])))
        };
        let orders: Vec<_> =
            ["cell-1", "cell-2", "cell-3"].into_iter().cycle().take(10).map(order).collect();
        orders.into_iter().map(|order| order.join().unwrap()).collect()
    });
    for end in &ends {
        let result = end["result"].as_str().unwrap_or_default();
        assert!(matches!(result, "committed" | "refused" | "aborted"), "{end:#}");
        assert!(result == "committed" || end["reason"].as_str() > Some(""), "{end:#}");
    }
    assert!(ends.iter().any(|end| end["result"] == "committed"), "{ends:#?}");
    let (_, report) = demo.end();
    assert_ne!(report["audit"], "fail", "{report:#}");
    assert_eq!(report["ticks_doubled"], 0, "{report:#}");
}

#[test]
fn what_does_not_exist_or_cannot_be_is_refused_with_its_exit_code() {
    let demo = Demo::start(&["--bots", "0", "--wolves", "10", "--cells", "2", "--bases", "1"]);
    let nobody = demo.ask(&["entity", "get", "987654321"]);
    assert_eq!(nobody.status.code(), Some(3), "{}", stderr(&nobody));
    let id = last_json(&demo.ask(&["entity", "ls", "--limit", "1", "--json"]))["id"].to_string();
    let nowhere = demo.ask(&["handoff", &id, "--to", "cell-9"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", stderr(&nowhere));
    let nonsense = demo.ask(&["handoff", &id, "--to", "moon"]);
    assert_eq!(nonsense.status.code(), Some(2), "{}", stderr(&nonsense));
    let unmoved = demo.ask(&["handoff", "987654321", "--to", "cell-1"]);
    assert_eq!(unmoved.status.code(), Some(3), "{}", stderr(&unmoved));

    // Nobody else could take what it has, so nothing changes.
    let last = demo.ask(&["drain", "base-1", "--wait", "--json"]);
    let refused = last_json(&last);
    assert_eq!(last.status.code(), Some(4), "{refused:#} {}", stderr(&last));
    assert_eq!(refused["ordered"], false, "{refused:#}");
    assert!(refused["reason"].as_str().unwrap().contains("no other baseapp"), "{refused:#}");
    let away = demo.ask(&["drain", "cell-9"]);
    assert_eq!(away.status.code(), Some(3), "{}", stderr(&away));
    let leader = demo.ask(&["drain", "manager-1"]);
    assert_eq!(leader.status.code(), Some(2), "{}", stderr(&leader));
    let still = last_json(&demo.ask(&["status", "--json"]));
    let mut states = still["members"].as_array().unwrap().iter().map(|m| &m["state"]);
    assert!(states.all(|state| state == "serving"), "{still:#}");

    let created = demo.ask(&["space", "create", "7", "--bounds", "0", "0", "50", "50"]);
    assert_eq!(created.status.code(), Some(0), "{}", stderr(&created));
    let lived_in = demo.ask(&["space", "remove", "1", "--json"]);
    assert_eq!(lived_in.status.code(), Some(4), "entities live in it");
    let removed = demo.ask(&["space", "remove", "7"]);
    assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
}
