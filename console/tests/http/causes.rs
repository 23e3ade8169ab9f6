//! What caused what, who owned an entity, and what facts tell of it, of a recording.

use crate::support::get;
use axum::http::StatusCode;
use serde_json::{Value, json};

/// Where the base hands the entity over, and the step of the cell that it follows from.
const MOVED: &str = "base-1@5:5";
const STEPPED: &str = "cell-1@7:4";

#[tokio::test]
async fn the_past_of_an_event_is_what_it_follows_from_through_the_bundle_that_told_it() {
    let past = get(&format!("/api/past?event={MOVED}")).await.json();
    assert_eq!(
        (&past["root"]["id"], &past["root"]["kind"]),
        (&json!(MOVED), &json!("OwnerChanged"))
    );
    let steps = ["cell-1@7:0", "cell-1@7:2", "cell-1@7:4", "cell-1@7:6", "cell-1@7:8"];
    assert_eq!(past["past"], json!(steps), "steps that the base did not know are no past of it");
    assert_eq!(past["future"], json!([]));
    let bundle = json!(["cell-1@7:9", "base-1@5:4", "message:cell-1@7>base-1@5#5"]);
    let edges = past["edges"].as_array().unwrap();
    assert!(edges.contains(&bundle), "{edges:?}");
    assert_eq!(past["past_through"]["cell-1@7"], 9);
    assert_eq!(past["truncated"], false);
}

#[tokio::test]
async fn a_past_that_is_longer_than_what_was_asked_for_keeps_the_nearest_and_says_so() {
    let past = get(&format!("/api/past?event={MOVED}&limit=2")).await.json();
    assert_eq!(past["past"], json!(["cell-1@7:6", "cell-1@7:8"]));
    assert_eq!(past["truncated"], true);
}

#[tokio::test]
async fn the_future_of_an_event_is_what_follows_from_it() {
    let past = get(&format!("/api/past?event={STEPPED}")).await.json();
    let future = past["future"].as_array().unwrap();
    assert!(future.contains(&json!(MOVED)), "{future:?}");
    assert!(future.contains(&json!("cell-1@7:6")), "{future:?}");
    assert!(!future.contains(&json!("cell-2@9:0")), "no message led there: {future:?}");
}

#[tokio::test]
async fn a_chain_leads_from_a_cause_to_its_effect_whichever_is_asked_for_first() {
    let told = get(&format!("/api/explain?a={STEPPED}&b={MOVED}")).await.json();
    assert_eq!(told["relation"], "before");
    assert_eq!(told["ticks"], 2);
    let hops = told["hops"].as_array().unwrap();
    let (first, last) = (hops.first().unwrap(), hops.last().unwrap());
    assert_eq!((&first["event"]["id"], &first["via"]), (&json!(STEPPED), &json!("start")));
    assert_eq!(first["event"]["kind"], "Stepped", "events have one form everywhere");
    assert_eq!(last["event"]["id"], MOVED);
    let crosses = |hop: &Value| hop["via"] == "message" && hop["on_path"] == true;
    assert!(hops.iter().any(crosses), "{hops:?}");
    let turned = get(&format!("/api/explain?a={MOVED}&b={STEPPED}")).await.json();
    assert_eq!(turned["relation"], "after");
    assert_eq!(turned["hops"], told["hops"]);
}

#[tokio::test]
async fn events_that_no_message_joins_are_concurrent_and_an_event_is_itself() {
    let told = get(&format!("/api/explain?a={MOVED}&b=cell-2@9:0")).await.json();
    assert_eq!((&told["relation"], &told["hops"]), (&json!("concurrent"), &json!([])));
    let same = get(&format!("/api/explain?a={MOVED}&b={MOVED}")).await.json();
    assert_eq!(same["relation"], "same");
}

#[tokio::test]
async fn an_owner_is_told_by_the_ticks_in_which_it_simulated_the_entity() {
    let told = get("/api/ownership?entity=10755").await.json();
    let spans = told["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 1, "{spans:?}");
    let span = &spans[0];
    assert_eq!((&span["process"], &span["incarnation"]), (&json!("cell-1"), &json!("7")));
    assert_eq!((&span["epoch"], &span["from"], &span["to"]), (&json!(3), &json!(1), &Value::Null));
    let later = get("/api/ownership?entity=10755&from=4&to=6").await.json();
    assert_eq!(later["spans"][0]["from"], 4);
    let nobody = get("/api/ownership?entity=1").await.json();
    assert_eq!(nobody["spans"], json!([]));
    let turned = get("/api/ownership?entity=10755&from=6&to=4").await;
    assert_eq!(turned.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn events_that_no_journal_has_are_not_found() {
    for path in [
        "/api/past?event=cell-1@7:99".to_owned(),
        "/api/past?event=cell-1@8:0".to_owned(),
        format!("/api/explain?a={MOVED}&b=cell-9@1:0"),
    ] {
        let answer = get(&path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.error(), "not-found", "{path}");
        assert!(answer.json()["error"]["hint"].is_string(), "{path}");
    }
}

#[tokio::test]
async fn a_recorded_passport_tells_what_facts_tell_at_the_tick_that_is_asked_for() {
    let now = get("/api/entity/10755?tick=4").await.json();
    let rows = now["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "only the cell had said anything of it: {rows:?}");
    assert_eq!((&rows[0]["process"], &rows[0]["role"]), (&json!("cell-1"), &json!("real")));
    assert_eq!((&rows[0]["epoch"], &rows[0]["seq"]), (&json!(3), &json!(4)));
    assert_eq!(rows[0]["digest"], u64::MAX.to_string());
    assert_eq!(now["history"], json!([]));
    assert!(now["left_out"][0].as_str().unwrap().contains("fields"), "{now}");
    let later = get("/api/entity/10755").await.json();
    let base = later["rows"].as_array().unwrap().iter().find(|row| row["role"] == "base");
    let base = base.unwrap();
    assert_eq!((&base["owner"], &base["epoch"]), (&json!("cell-2@9"), &json!(4)));
    assert_eq!(later["history"][0]["id"], MOVED);
    assert_eq!(get("/api/entity/1").await.status, StatusCode::NOT_FOUND);
}
