//! Drills from outside. The others run in `make soak`, each in turn.

use crate::support::{last_json, run, stderr};
use serde_json::Value;
use std::path::Path;

fn listed() -> Vec<String> {
    let output = run(&["drill", "list"]);
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_list_of_drills_is_one_name_a_line_and_says_more_to_programs() {
    let names = listed();
    let about = last_json(&run(&["drill", "list", "--json"]));
    let about = about.as_array().unwrap();
    let of_programs: Vec<&str> = about.iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert_eq!(of_programs, names);
    assert!(names.iter().all(|name| !name.contains(char::is_whitespace)), "{names:?}");
    let said = |d: &Value| !d["does"].as_str().unwrap().is_empty() && d["bounds"][0].is_string();
    assert!(about.iter().all(said), "{about:#?}");
}

#[test]
fn a_drill_that_does_not_exist_or_cannot_be_done_there_is_refused_before_anything_is_started() {
    let unknown = run(&["drill", "kill-everything"]);
    assert_eq!(unknown.status.code(), Some(2));
    let hint = stderr(&unknown);
    assert!(listed().iter().all(|name| hint.contains(name)), "{hint}");
    let to_containers = ["--against", "compose"];
    let disk = run(&[&["drill", "disk-full"], to_containers.as_slice()].concat());
    assert_eq!(disk.status.code(), Some(2), "{}", stderr(&disk));
    let of_containers = run(&[&["drill", "list"], to_containers.as_slice()].concat());
    let of_containers = String::from_utf8(of_containers.stdout).unwrap();
    assert!(of_containers.contains("kill-cellapp\n") && !of_containers.contains("disk-full"));
    // No such containers, or no Docker that could have them.
    let nowhere = ["--against", "compose", "--project", "march-has-no-such-project"];
    let elsewhere = run(&[&["drill", "kill-cellapp"], nowhere.as_slice()].concat());
    assert!(matches!(elsewhere.status.code(), Some(3 | 6)), "{}", stderr(&elsewhere));
    assert!(stderr(&elsewhere).contains("hint: "), "{}", stderr(&elsewhere));
    assert!(unknown.stdout.is_empty() && elsewhere.stdout.is_empty());
}

/// Plays one, and gives what it reports.
fn passes(drill: &str) -> Value {
    let output = run(&["drill", drill, "--json"]);
    let report = last_json(&output);
    assert_eq!(output.status.code(), Some(0), "{report:#} {}", stderr(&output));
    assert_eq!((&report["holds"], &report["audit"]), (&true.into(), &"pass".into()));
    let observed = report["observed"].as_array().unwrap();
    assert!(observed.iter().all(|o| o["figure"].is_u64()), "{report:#}");
    report
}

/// The drill noted it beside the journals; whoever pulls a plug himself has to say so.
fn who_was_killed_has_to_be_known(dir: &Path) {
    let notes = dir.join("audit.json");
    let mut noted: Value = serde_json::from_slice(&std::fs::read(&notes).unwrap()).unwrap();
    let killed = noted["killed"].take();
    noted["killed"] = Value::Array(Vec::new());
    std::fs::write(&notes, noted.to_string()).unwrap();
    let audit = |more: &[&str]| run(&[&["audit", dir.to_str().unwrap(), "--json"], more].concat());
    let unsaid = audit(&[]);
    assert_eq!(last_json(&unsaid)["verdict"], "incomplete", "{killed} was killed");
    assert_eq!(unsaid.status.code(), Some(1));
    let said = audit(&["--killed", killed[0].as_str().unwrap()]);
    assert_eq!((&last_json(&said)["verdict"], said.status.code()), (&"pass".into(), Some(0)));
}

#[test]
fn a_killed_cellapp_is_given_up_and_its_entities_go_on_within_the_bound_of_the_drill() {
    let report = passes("kill-cellapp");
    who_was_killed_has_to_be_known(Path::new(report["dir"].as_str().unwrap()));
}

#[test]
fn a_full_disk_confirms_nothing_loses_nothing_and_is_used_again_within_the_bound_of_the_drill() {
    passes("disk-full");
}
