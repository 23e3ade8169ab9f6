//! Questions about a recording.

use crate::support::get;
use axum::http::StatusCode;
use serde_json::Value;
use std::collections::BTreeSet;

fn ids(page: &Value) -> Vec<String> {
    let events = page["events"].as_array().unwrap();
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_recording_introduces_itself_and_its_processes() {
    let hello = get("/api/hello").await.json();
    assert_eq!((&hello["t"], &hello["mode"]), (&"hello".into(), &"recorded".into()));
    assert_eq!((&hello["first_tick"], &hello["last_tick"]), (&1.into(), &10.into()));
    assert_eq!((&hello["acts"], &hello["token"]), (&false.into(), &false.into()));
    let process = &hello["processes"][0];
    assert_eq!((&process["name"], &process["kind"]), (&"cell-1".into(), &"cellapp".into()));
    assert_eq!(process["incarnation"], "7", "a number that may be large is a text");
    let cluster = get("/api/cluster").await.json();
    assert_eq!(cluster["processes"][0]["state"], "dead");
    assert_eq!(cluster["processes"][1]["state"], "unreachable", "nothing says how it ended");
}

#[tokio::test]
async fn both_ends_of_a_bundle_have_one_name() {
    let page = get("/api/events?from=3&to=3&kind=sent,received").await.json();
    let events = page["events"].as_array().unwrap();
    let message = |event: &Value| event["message"].clone();
    assert_eq!(events.len(), 2);
    assert_eq!(message(&events[0]), message(&events[1]));
    assert_eq!(message(&events[0]), "cell-1@7>base-1@5#3");
    assert_eq!(ids(&page), ["cell-1@7:5", "base-1@5:2"]);
}

#[tokio::test]
async fn a_page_is_cut_and_says_where_it_goes_on_until_everything_was_told_once() {
    let whole = get("/api/events?limit=10000").await.json();
    assert_eq!(whole["more"], false);
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = get(&format!("/api/events?limit=3&after={after}")).await.json();
        assert!(ids(&page).len() <= 3);
        seen.extend(ids(&page));
        if page["more"] == false {
            break;
        }
        after = page["next"].as_str().unwrap().to_owned();
    }
    assert_eq!(seen, ids(&whole));
    let different: BTreeSet<&String> = seen.iter().collect();
    assert_eq!(different.len(), seen.len());
}

#[tokio::test]
async fn whoever_asks_for_ten_million_events_gets_a_page() {
    let answer = get("/api/events?limit=10000000").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(ids(&answer.json()).len() <= 10_000);
}

#[tokio::test]
async fn events_are_found_by_entity_process_kind_and_what_is_wrong() {
    let wrong = get("/api/events?anomalies=1").await.json();
    assert_eq!(ids(&wrong), ["cell-2@9:0"]);
    assert_eq!(wrong["events"][0]["anomaly"], "refused:StaleEpoch");
    let moved = get("/api/events?kind=OwnerChanged&entity=10755").await.json();
    assert_eq!(ids(&moved), ["base-1@5:5"]);
    assert_eq!(moved["events"][0]["fields"]["to"], "cell-2@9");
    assert_eq!(moved["events"][0]["fields"]["epoch"], 4);
    let other = get("/api/events?process=cell-2&entity=1").await.json();
    assert!(ids(&other).is_empty());
}

#[tokio::test]
async fn what_a_journal_lost_is_told_where_it_is_missing() {
    let page = get("/api/events?from=6&to=8").await.json();
    assert_eq!(page["gaps"][0]["process"], "cell-2");
    assert_eq!((&page["gaps"][0]["from"], &page["gaps"][0]["to"]), (&7.into(), &7.into()));
    let before = get("/api/events?from=1&to=5").await.json();
    assert_eq!(before["gaps"], Value::Array(vec![]));
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_answered_with_what_is_wrong_about_it() {
    for (path, word) in [
        ("/api/events?from=x", "from"),
        ("/api/events?from=-1", "from"),
        ("/api/events?from=9&to=3", "behind"),
        ("/api/events?entity=wolf", "entity"),
        ("/api/events?process=cell", "process"),
        ("/api/events?limits=4", "limits"),
        ("/api/events?after=a.b", "after"),
        ("/api/past", "event"),
        ("/api/past?event=cell-1:3", "cell-1:3"),
        ("/api/explain?a=cell-1@7:1", "`b`"),
        ("/api/entity/none", "none"),
        ("/api/world", "tick"),
        ("/api/hello?x=1", "x"),
    ] {
        let answer = get(path).await;
        let text = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(answer.error(), "bad-request", "{path}");
        assert!(text.contains(word), "{path}: {text}");
    }
}

#[tokio::test]
async fn what_is_nowhere_is_not_found_and_what_is_not_there_yet_says_so() {
    for path in ["/api/nothing", "/nothing.js", "/../Cargo.toml", "/%2e%2e/Cargo.toml"] {
        assert_eq!(get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(get("/api/world?tick=4").await.error(), "not-available");
    let page = get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
}

#[tokio::test]
async fn a_recording_has_no_acts() {
    assert_eq!(get("/api/acts").await.json()["acts"], Value::Array(vec![]));
    let script = get("/api/acts.sh").await;
    assert!(script.body.starts_with(b"#!/bin/sh\n"));
}
