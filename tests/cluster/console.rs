//! The console of a real cluster, asked as a browser asks it.

use crate::support::{Demo, last_json, until};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, stream::MaybeTlsStream};

/// A console, by where it listens.
struct Console(String);

impl Console {
    fn of(demo: &Demo) -> Self {
        let url = demo.file()["console"].as_str().unwrap().to_owned();
        Self(url.trim_start_matches("http://").trim_end_matches('/').to_owned())
    }

    fn ask(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.0).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let length = body.len();
        let request = format!(
            "{head}\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}",
            self.0
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, unchunked(head, body))
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(&format!("GET {path} HTTP/1.1"), "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn act(&self, what: &str, args: &Value) -> (u16, Value) {
        let head = format!("POST /api/acts/{what} HTTP/1.1\r\nx-march-act: 1");
        let (status, body) = self.ask(&head, &args.to_string());
        (status, serde_json::from_str(&body).unwrap())
    }

    fn listen(&self, watch: &Value) -> WebSocket<MaybeTlsStream<TcpStream>> {
        let (mut socket, _) = tungstenite::connect(format!("ws://{}/api/live", self.0)).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        }
        socket.send(Message::text(watch.to_string())).unwrap();
        socket
    }

    /// An entity, and who owns it.
    fn entity_of(demo: &Demo) -> (String, String) {
        let entity = last_json(&demo.ask(&["entity", "ls", "--limit", "1", "--json"]));
        (entity["id"].to_string(), entity["owner"].as_str().unwrap().to_owned())
    }
}

/// So short a demo leaves things undone that an audit wants to have seen; nothing may be wrong.
fn must_be_right(code: i32, report: &Value) {
    assert_eq!(report["violations"], json!([]), "{report}");
    assert_eq!(code, i32::from(report["audit"] == "incomplete"), "{report}");
}

fn unchunked(head: &str, body: &str) -> String {
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut rest, mut whole) = (body, String::new());
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    whole
}

/// The next frame for which this gives something.
fn frame<T>(
    socket: &mut WebSocket<MaybeTlsStream<TcpStream>>,
    mut look: impl FnMut(&Value) -> Option<T>,
) -> T {
    until("a frame of the console", || match socket.read().unwrap() {
        Message::Text(text) => look(&serde_json::from_str(&text).unwrap()),
        _ => None,
    })
}

fn small() -> Demo {
    Demo::start(&["--cells", "2", "--bases", "1", "--bots", "4", "--wolves", "20"])
}

#[test]
fn the_console_of_a_demo_answers_every_question_while_its_cluster_runs() {
    let demo = small();
    let console = Console::of(&demo);
    let (entity, owner) = Console::entity_of(&demo);
    let hello = console.get("/api/hello");
    assert_eq!((&hello["mode"], &hello["acts"]), (&json!("live"), &json!(true)));
    assert_eq!(hello["spaces"][0]["cells"].as_array().unwrap().len(), 2);
    let mut socket = console.listen(&json!({"t": "watch", "world": true, "events": true}));
    let world = frame(&mut socket, |f| (f["t"] == "world").then(|| f.clone()));
    assert!(world["process"].as_str().unwrap().starts_with("cell-"));
    let cluster = frame(&mut socket, |f| (f["t"] == "cluster").then(|| f.clone()));
    for process in cluster["processes"].as_array().unwrap() {
        let is_manager = process["kind"] == "manager";
        assert_eq!(process["state"], "serving", "{process}");
        assert!(is_manager || process["links"].as_array().unwrap().len() == 2, "{process}");
        assert!(is_manager || process["lease_ms"].as_u64().unwrap() > 0);
    }
    assert_eq!(cluster["store"]["ok"], true);
    let page = until("events", || {
        let page = console.get("/api/events?limit=10");
        (page["events"].as_array().unwrap().len() == 10).then_some(page)
    });
    assert_eq!(page["more"], true);
    let tick = until("a picture", || {
        let tick = console.get("/api/hello")["last_tick"].as_u64().unwrap();
        let (status, _) = console.ask(&format!("GET /api/world?tick={tick} HTTP/1.1"), "");
        (status == 200).then_some(tick)
    });
    assert!(
        !console.get(&format!("/api/world?tick={tick}"))["worlds"].as_array().unwrap().is_empty()
    );
    let passport = console.get(&format!("/api/entity/{entity}"));
    let roles: Vec<&str> =
        passport["rows"].as_array().unwrap().iter().map(|r| r["role"].as_str().unwrap()).collect();
    assert!(roles.contains(&"base"), "{passport}");
    assert!(owner.starts_with("cell-"));
    assert_eq!(console.get("/api/acts")["acts"], json!([]));
    let (code, report) = demo.end();
    must_be_right(code, &report);
}

#[test]
fn a_handoff_from_the_console_is_rehearsed_then_commits_and_is_told_to_browsers() {
    let demo = small();
    let console = Console::of(&demo);
    let (entity, owner) = Console::entity_of(&demo);
    let to = if owner == "cell-1" { "cell-2" } else { "cell-1" };
    let rehearsal = json!({"entity": entity, "to": to, "dry_run": true});
    let would = until("a rehearsal that nothing forbids", || {
        let (status, would) = console.act("handoff", &rehearsal);
        assert_eq!(status, 200, "{would}");
        would["refusal"].is_null().then_some(would)
    });
    assert_eq!((&would["from"], &would["to"]), (&json!(owner), &json!(to)));
    assert!(would["state_bytes"].as_u64().unwrap() > 0, "{would}");
    assert_eq!(would["to_epoch"].as_u64().unwrap(), would["epoch"].as_u64().unwrap() + 1);
    assert_eq!(console.get("/api/acts")["acts"], json!([]), "a rehearsal is no act");

    let mut socket = console.listen(&json!({"t": "watch", "events": true, "entity": entity}));
    frame(&mut socket, |f| (f["t"] == "events").then_some(()));
    let (status, act) = console.act("handoff", &json!({"entity": entity, "to": to, "hold": 400}));
    assert_eq!(status, 200, "{act}");
    let (mut ended, mut moved) = (None, None);
    frame(&mut socket, |f| {
        if f["t"] == "act" && f["id"] == act["act"] && f["state"] != "running" {
            ended = Some(f.clone());
        }
        for event in f["events"].as_array().into_iter().flatten() {
            if event["kind"] == "OwnerChanged" {
                moved = Some(event.clone());
            }
        }
        (ended.is_some() && moved.is_some()).then_some(())
    });
    let ended = ended.unwrap();
    assert_eq!((&ended["state"], &ended["result"]["owner"]), (&json!("done"), &json!(to)));
    assert!(moved.unwrap()["fields"]["to"].as_str().unwrap().starts_with(to));
    let command = ended["command"].as_str().unwrap();
    assert_eq!(command, format!("march handoff {entity} --to {to} --hold 400"));
    let (_, script) = console.ask("GET /api/acts.sh HTTP/1.1", "");
    assert!(script.contains(command), "{script}");
    // The same rehearsal on the command line now says why not.
    let again = demo.ask(&["handoff", &entity, "--to", to, "--dry-run", "--json"]);
    assert_eq!(again.status.code(), Some(4), "{again:?}");
    assert!(last_json(&again)["refusal"].as_str().unwrap().contains("already"));
}

#[test]
fn acts_that_make_no_sense_are_refused_and_change_nothing() {
    let demo = small();
    let console = Console::of(&demo);
    let (entity, owner) = Console::entity_of(&demo);
    let handoff = |args: Value| console.act("handoff", &args);
    for (answer, status) in [
        (handoff(json!({"entity": "999999999", "to": owner, "dry_run": true})), 404),
        (handoff(json!({"entity": entity, "to": "base-1", "dry_run": true})), 400),
        (handoff(json!({"entity": entity, "to": "nobody"})), 400),
        (handoff(json!({"entity": entity, "to": "cell-1", "how": "fast"})), 400),
        (console.act("pause", &json!({"name": "cell-1", "for_ms": 86_400_000})), 400),
        (console.act("pause", &json!({"name": "manager-1", "for_ms": 100})), 409),
        (console.act("drill", &json!({"name": "kill-cellapp"})), 409),
        (console.act("explode", &json!({})), 404),
    ] {
        assert_eq!(answer.0, status, "{}", answer.1);
        assert!(answer.1["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    let (_, nowhere) = handoff(json!({"entity": entity, "to": "cell-9", "dry_run": true}));
    assert!(nowhere["refusal"].as_str().unwrap().contains("cell-9"), "{nowhere}");
    assert_eq!(console.get("/api/acts")["acts"], json!([]));
}

#[test]
fn a_process_that_the_console_pauses_goes_on_by_itself() {
    let demo = small();
    let console = Console::of(&demo);
    let (status, act) = console.act("pause", &json!({"name": "cell-2", "for_ms": 300}));
    assert_eq!(status, 200, "{act}");
    let ended = until("the pause to end", || {
        let acts = console.get("/api/acts");
        let act = acts["acts"][0].clone();
        (act["state"] != "running").then_some(act)
    });
    assert_eq!(ended["state"], "done", "{ended}");
    let at = console.get("/api/cluster")["tick"].as_u64().unwrap();
    until("it to tick again", || {
        let cluster = console.get("/api/cluster");
        let processes = cluster["processes"].as_array().unwrap();
        let paused = processes.iter().find(|p| p["name"] == "cell-2").unwrap();
        (paused["tick"].as_u64().unwrap() > at && paused["state"] == "serving").then_some(())
    });
}

/// Ticks are long, so that a busy machine alone drops none.
#[test]
fn a_browser_that_takes_nothing_costs_no_tick() {
    let demo = Demo::start(&[
        "--cells", "2", "--bases", "1", "--bots", "4", "--tick", "200ms", "--ttl", "9s",
    ]);
    let console = Console::of(&demo);
    let everything = json!({"t": "watch", "world": true, "events": true, "kinds": ["*"]});
    let stalled: Vec<_> = (0..4).map(|_| console.listen(&everything)).collect();
    let dropped = |cluster: &Value| -> u64 {
        let of = |p: &Value| p["counters"]["ticks_dropped"].as_u64().unwrap_or(0);
        cluster["processes"].as_array().unwrap().iter().map(of).sum()
    };
    let began = console.get("/api/cluster");
    let until_tick = began["tick"].as_u64().unwrap() + 60;
    let ended = until("sixty ticks", || {
        let cluster = console.get("/api/cluster");
        (cluster["tick"].as_u64().unwrap() >= until_tick).then_some(cluster)
    });
    assert_eq!(dropped(&ended), dropped(&began));
    drop(stalled);
    let (code, report) = demo.end();
    must_be_right(code, &report);
}
