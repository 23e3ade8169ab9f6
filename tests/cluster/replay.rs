//! What processes recorded is replayed, equal at every tick. Whoever loses processes replays all of
//! their lives too: see `failover`.

use crate::support::{last_json, run};
use serde_json::Value;
use std::path::Path;

/// The exit code and the answer of a replay.
pub fn replayed(dir: &Path, more: &[&str]) -> (i32, Value) {
    let output = run(&[&["replay", dir.to_str().unwrap(), "--json"], more].concat());
    (output.status.code().unwrap(), last_json(&output))
}

fn servers(report: &Value) -> Vec<&Value> {
    let lives = report["lives"].as_array().unwrap().iter();
    lives.filter(|life| life["has_core"] == true).collect()
}

#[test]
fn a_demo_is_replayed_equal_at_every_tick_by_twenty_fresh_processes() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("demo");
    let demo = ["demo", "--for", "5s", "--json", "--bots", "30", "--dir", dir.to_str().unwrap()];
    assert_eq!(run(&demo).status.code(), Some(0));
    let (code, first) = replayed(&dir, &[]);
    assert_eq!((code, &first["verdict"]), (0, &Value::from("equal")), "{first:#}");
    assert_eq!(servers(&first).len(), 5, "{first:#}");
    for life in servers(&first) {
        assert!(life["ticks"].as_u64() > Some(80), "{life:#}");
    }
    let traces = |report: &Value| -> Vec<Value> {
        servers(report).into_iter().map(|life| life["trace"].clone()).collect()
    };
    for _ in 1..20 {
        let (_, again) = replayed(&dir, &[]);
        assert_eq!(traces(&again), traces(&first));
    }
    let (code, cell) = replayed(&dir, &["--process", "cell-2"]);
    assert_eq!((code, servers(&cell).len()), (0, 1));
    let text = String::from_utf8(run(&["replay", dir.to_str().unwrap()]).stdout).unwrap();
    assert!(
        text.starts_with("replay: equal\n") && text.contains("times as fast as the run"),
        "{text}"
    );
}

#[test]
fn folders_without_journals_are_said_to_be_so() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().to_str().unwrap();
    for args in [
        &["replay", dir][..],
        &["replay", "/nowhere/at/all"],
        &["replay", dir, "--process", "cell-1"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("hint: give the folder"));
    }
}
