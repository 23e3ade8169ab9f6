//! What no request of somebody else's page can do.

use crate::support::{Answer, ask, journals, local};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use marchland_console::{Acts, Console, Recorded, Rules, Trouble, router};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;

/// Does nothing, and says who asked for what.
struct Echo;

#[tonic::async_trait]
impl Acts for Echo {
    async fn act(&self, what: &str, args: Value, _: &str) -> Result<Value, Trouble> {
        Ok(json!({"what": what, "args": args}))
    }

    fn list(&self) -> Vec<Value> {
        let command = "march handoff 42 --to cell-2 --hold 200";
        vec![json!({"id": 1, "at_tick": 9, "command": command, "state": "done"})]
    }
}

fn console(listen: SocketAddr, token: Option<&str>) -> Console {
    let recorded = Arc::new(Recorded::of(journals()));
    Console::new(recorded, Some(Arc::new(Echo)), Rules::new(listen, token.map(str::to_owned)))
}

fn anywhere() -> SocketAddr {
    "0.0.0.0:7680".parse().unwrap()
}

async fn act(console: Console, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut request = Request::post("/api/acts/handoff").header("host", "127.0.0.1:7680");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    ask(router(console), request.body(Body::from(body.to_owned())).unwrap()).await
}

const ACT: (&str, &str) = ("x-march-act", "1");
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn an_act_is_done_only_for_whoever_says_that_it_is_one() {
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let refused = act(console(local(), None), &form, "entity=42").await;
    assert_eq!((refused.status, refused.error().as_str()), (StatusCode::FORBIDDEN, "not-an-act"));
    let done = act(console(local(), None), &[ACT, JSON], "{\"entity\":\"42\"}").await;
    assert_eq!(done.json(), json!({"what": "handoff", "args": {"entity": "42"}}));
}

#[tokio::test]
async fn an_act_that_does_not_read_changes_nothing() {
    for body in ["", "{", "[1", "\u{0}"] {
        let answer = act(console(local(), None), &[ACT, JSON], body).await;
        assert_eq!(answer.error(), "bad-request", "{body:?}");
        assert_eq!(answer.json()["error"]["unchanged"], true);
    }
    let large = format!("\"{}\"", "x".repeat(64 * 1024));
    let answer = act(console(local(), None), &[ACT, JSON], &large).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let untyped = act(console(local(), None), &[ACT], "{}").await;
    assert_eq!(untyped.error(), "bad-request");
}

#[tokio::test]
async fn elsewhere_than_on_loopback_acts_need_the_token_as_a_whole() {
    let wrong = ("authorization", "Bearer secre");
    let right = ("authorization", "Bearer secret");
    let open = || console(anywhere(), Some("secret"));
    assert_eq!(act(open(), &[ACT, JSON], "{}").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(act(open(), &[ACT, JSON, wrong], "{}").await.error(), "wrong-token");
    assert_eq!(act(open(), &[ACT, JSON, right], "{}").await.status, StatusCode::OK);
    let none = console(anywhere(), None);
    assert_eq!(act(none, &[ACT, JSON, right], "{}").await.error(), "no-token");
}

#[tokio::test]
async fn the_first_answer_says_whether_acts_are_possible_and_need_a_token() {
    for (listen, token, acts, needs) in [
        (local(), None, true, false),
        (anywhere(), None, false, false),
        (anywhere(), Some("secret"), true, true),
        (local(), Some("secret"), true, false),
    ] {
        let app = router(console(listen, token));
        let request = Request::get("/api/hello").header("host", "127.0.0.1");
        let hello = ask(app, request.body(Body::empty()).unwrap()).await.json();
        assert_eq!((&hello["acts"], &hello["token"]), (&acts.into(), &needs.into()), "{listen}");
    }
}

#[tokio::test]
async fn another_name_that_points_to_this_machine_is_not_answered() {
    for (host, status) in [
        ("evil.example", StatusCode::MISDIRECTED_REQUEST),
        ("evil.example:7680", StatusCode::MISDIRECTED_REQUEST),
        ("localhost:7680", StatusCode::OK),
        ("[::1]:7680", StatusCode::OK),
    ] {
        let request = Request::get("/api/hello").header("host", host).body(Body::empty()).unwrap();
        let answer = ask(router(console(local(), None)), request).await;
        assert_eq!(answer.status, status, "{host}");
    }
}

#[tokio::test]
async fn every_answer_forbids_what_is_not_its_own() {
    for path in ["/", "/api/hello", "/api/nothing"] {
        let request = Request::get(path).header("host", "127.0.0.1").body(Body::empty()).unwrap();
        let answer = ask(router(console(local(), None)), request).await;
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'self'"), "{path}: {policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
}

#[tokio::test]
async fn acts_are_listed_and_can_be_done_again_by_a_script() {
    let script = Request::get("/api/acts.sh").header("host", "127.0.0.1");
    let app = router(console(local(), None));
    let answer = ask(app, script.body(Body::empty()).unwrap()).await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(text.ends_with("\n# at tick 9: done\nmarch handoff 42 --to cell-2 --hold 200\n"));
}

#[tokio::test]
async fn a_question_by_post_and_an_act_by_get_are_told_apart() {
    for (method, path) in [("GET", "/api/acts/drain"), ("POST", "/api/hello"), ("PUT", "/api/acts")]
    {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.header("x-march-act", "1").body(Body::empty()).unwrap();
        let answer = ask(router(console(local(), None)), request).await;
        assert_eq!(answer.error(), "wrong-method", "{method} {path}");
    }
}
