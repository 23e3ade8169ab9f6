//! What can be done from a console. Each act is checked first, written down, carried out by the same
//! doors that an operator has, and told to every browser until it has ended.

use super::ConsoleOptions;
use super::audit::{Act, Audit, Begun, State, frame};
use super::pause::{PAUSE_MS, pause, pid_of};
use crate::dry_run::dry_run;
use crate::fan_out;
use crate::operator::Door;
use marchland_common::order::{EntityId, NodeName};
use marchland_console::{Acts, Live, Trouble};
use marchland_proto::operator::operator_server::Operator;
use marchland_proto::operator::{DrainRequest, DryRunReply, HandoffReply, HandoffRequest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;
use tonic::{Code, Request, Status};

/// Most acts under way at once.
const RUNNING_MAX: usize = 16;

/// What acts share.
#[derive(Clone)]
pub(super) struct ConsoleActs(Arc<Inner>);

struct Inner {
    door: Door,
    live: Arc<Live>,
    audit: Audit,
    host: String,
    may_pause: bool,
    drills: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HandoffArgs {
    entity: String,
    to: String,
    #[serde(default = "hold")]
    hold: u32,
    #[serde(default = "deadline_ms")]
    deadline_ms: u32,
    #[serde(default)]
    dry_run: bool,
}

const fn hold() -> u32 {
    200
}

const fn deadline_ms() -> u32 {
    2_000
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameArgs {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseArgs {
    name: String,
    for_ms: u64,
}

#[tonic::async_trait]
impl Acts for ConsoleActs {
    async fn act(&self, what: &str, args: Value, who: &str) -> Result<Value, Trouble> {
        match what {
            "handoff" => self.handoff(args, who).await,
            "drain" => self.drain(args, who),
            "pause" => self.pause(args, who),
            "drill" => self.drill(args, who),
            other => {
                let other: String = other.chars().take(40).collect();
                Err(Trouble::not_found(format!("there is no act `{other}`"))
                    .hint("acts are handoff, drain, pause and drill"))
            }
        }
    }

    fn list(&self) -> Vec<Value> {
        self.0.audit.list()
    }
}

impl ConsoleActs {
    pub(super) fn new(door: Door, live: Arc<Live>, options: &ConsoleOptions) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self(Arc::new(Inner {
            door,
            live,
            audit: Audit::default(),
            host: host.trim().to_owned(),
            may_pause: options.may_pause,
            drills: options.drills.clone(),
        }))
    }

    /// Writes an act down and tells browsers, if not too many are under way.
    fn begin(
        &self,
        what: &'static str,
        args: Value,
        who: &str,
        command: String,
    ) -> Result<Act, Trouble> {
        if self.0.audit.running(None) >= RUNNING_MAX {
            return Err(Trouble::busy(format!("{RUNNING_MAX} acts are under way"))
                .hint("wait for one to end"));
        }
        let (at_tick, who) = (self.0.live.tick(), who.to_owned());
        tracing::info!(what, %who, %command, "an act from the console");
        let act = self.0.audit.begin(Begun { at_tick, who, what, args, command });
        self.0.live.tell(&frame(&act));
        Ok(act)
    }

    fn say(&self, id: u64, line: &str) {
        if let Some(act) = self.0.audit.say(id, line) {
            self.0.live.tell(&frame(&act));
        }
    }

    fn end(&self, id: u64, state: State, result: Value) {
        if let Some(act) = self.0.audit.end(id, state, result) {
            self.0.live.tell(&frame(&act));
        }
    }

    async fn handoff(&self, args: Value, who: &str) -> Result<Value, Trouble> {
        let asked: HandoffArgs = read(args.clone())?;
        let entity: EntityId =
            asked.entity.parse().map_err(|_| Trouble::bad("`entity` is no entity's id"))?;
        let to: NodeName = asked.to.parse().map_err(bad_name)?;
        let request = HandoffRequest {
            entity: entity.0,
            to: to.to_string(),
            hold: asked.hold,
            deadline_ms: asked.deadline_ms,
            to_incarnation: 0,
        };
        if asked.dry_run {
            let would = dry_run(&self.0.door, &request).await.map_err(|s| trouble(&s))?;
            return Ok(dry_json(&would));
        }
        let command = format!("march handoff {entity} --to {to} --hold {}", asked.hold);
        let act = self.begin("handoff", args, who, command)?;
        let (acts, id) = (self.clone(), act.id);
        tokio::spawn(async move {
            let ended = Operator::handoff(&acts.0.door, Request::new(request)).await;
            let (state, line, result) = match ended {
                Ok(reply) => handed(reply.into_inner()),
                Err(status) => failed(&status),
            };
            acts.say(id, &line);
            acts.end(id, state, result);
        });
        Ok(json!({"act": id}))
    }

    fn drain(&self, args: Value, who: &str) -> Result<Value, Trouble> {
        let NameArgs { name } = read(args.clone())?;
        let name: NodeName = name.parse().map_err(bad_name)?;
        let act = self.begin("drain", args, who, format!("march drain {name} --wait"))?;
        let (acts, id) = (self.clone(), act.id);
        tokio::spawn(async move {
            let request = DrainRequest { name: name.to_string(), incarnation: 0 };
            let (state, line, result) =
                match Operator::drain(&acts.0.door, Request::new(request)).await {
                    Ok(reply) => {
                        let reply = reply.into_inner();
                        let state = if reply.ordered { State::Done } else { State::Failed };
                        let line = match reply.ordered {
                            true => format!("{name} gives away what it has"),
                            false => format!("{name} was not drained: {}", reply.reason),
                        };
                        let incarnation = reply.incarnation.to_string();
                        let (ordered, reason) = (reply.ordered, reply.reason);
                        let result = json!({
                            "ordered": ordered, "reason": reason, "incarnation": incarnation,
                        });
                        (state, line, result)
                    }
                    Err(status) => failed(&status),
                };
            acts.say(id, &line);
            acts.end(id, state, result);
        });
        Ok(json!({"act": id}))
    }

    fn pause(&self, args: Value, who: &str) -> Result<Value, Trouble> {
        let PauseArgs { name, for_ms } = read(args.clone())?;
        let name: NodeName = name.parse().map_err(bad_name)?;
        if !self.0.may_pause {
            return Err(Trouble::refused("this console may not stop processes").hint(
                "march demo allows it for its own; march manager with --console-may-pause for \
                 those of its machine; in containers: docker compose pause NAME",
            ));
        }
        if !PAUSE_MS.contains(&for_ms) {
            let (least, most) = (PAUSE_MS.start(), PAUSE_MS.end());
            return Err(Trouble::bad(format!("`for_ms` is between {least} and {most}")));
        }
        let seen = self.0.door.feed.seen();
        let member = fan_out::member(&seen, name)
            .ok_or_else(|| Trouble::not_found(format!("no process {name} is registered")))?;
        let pid = pid_of(&member, &self.0.host)?;
        let seconds = Duration::from_millis(for_ms).as_secs_f64();
        let command = format!("kill -STOP {pid}; sleep {seconds}; kill -CONT {pid}  # {name}");
        let act = self.begin("pause", args, who, command)?;
        let (acts, id) = (self.clone(), act.id);
        tokio::spawn(async move {
            match pause(pid, Duration::from_millis(for_ms)).await {
                Ok(()) => {
                    acts.say(id, &format!("{name} stood still for {for_ms} ms and goes on"));
                    acts.end(id, State::Done, json!({"pid": pid.as_raw()}));
                }
                Err(error) => {
                    acts.say(id, &error);
                    acts.end(id, State::Failed, json!({"error": error}));
                }
            }
        });
        Ok(json!({"act": id}))
    }

    fn drill(&self, args: Value, who: &str) -> Result<Value, Trouble> {
        let NameArgs { name } = read(args.clone())?;
        let Some(program) = &self.0.drills else {
            return Err(Trouble::refused("this console runs no drills")
                .hint("march demo --drills, or march manager --drills; or: march drill NAME"));
        };
        let is_word = !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
            && !name.starts_with('-');
        if !is_word || name == "list" {
            return Err(Trouble::bad("`name` is no drill").hint("march drill list names them"));
        }
        if self.0.audit.running(Some("drill")) > 0 {
            return Err(Trouble::busy("a drill is under way").hint("wait for it to end"));
        }
        let act = self.begin("drill", args, who, format!("march drill {name}"))?;
        let (acts, id, program) = (self.clone(), act.id, program.clone());
        tokio::spawn(async move {
            let (state, result) = acts.run_drill(id, &program, &name).await;
            acts.end(id, state, result);
        });
        Ok(json!({"act": id}))
    }

    /// Runs a drill on a demo of its own, and tells what it says.
    async fn run_drill(&self, id: u64, program: &Path, name: &str) -> (State, Value) {
        let child = Command::new(program)
            .args(["drill", name, "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => return (State::Failed, json!({"error": error.to_string()})),
        };
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let (last, ()) = tokio::join!(self.tell_lines(id, out), async {
            self.tell_lines(id, err).await;
        });
        let status = child.wait().await;
        let code = status.ok().and_then(|status| status.code());
        let report: Value = last.and_then(|l| serde_json::from_str(&l).ok()).unwrap_or(Value::Null);
        let state = if code == Some(0) { State::Done } else { State::Failed };
        (state, json!({"code": code, "report": report}))
    }

    /// Tells each line, and returns the last one.
    async fn tell_lines(&self, id: u64, from: Option<impl AsyncRead + Unpin>) -> Option<String> {
        let mut lines = BufReader::new(from?).lines();
        let mut last = None;
        while let Ok(Some(line)) = lines.next_line().await {
            self.say(id, &line);
            last = Some(line);
        }
        last
    }
}

fn read<T: DeserializeOwned>(args: Value) -> Result<T, Trouble> {
    serde_json::from_value(args).map_err(|error| Trouble::bad(error.to_string()))
}

fn bad_name(error: marchland_common::order::BadNodeName) -> Trouble {
    Trouble::bad(error.to_string())
}

fn handed(reply: HandoffReply) -> (State, String, Value) {
    let committed = reply.result == "committed";
    let line = match committed {
        true => format!(
            "{} -> {}, epoch {}; last tick {} there, first tick {} here",
            reply.from, reply.owner, reply.epoch, reply.tick_last, reply.tick_first
        ),
        false => format!(
            "not moved ({}): {}; owner stays {} (epoch {})",
            reply.result, reply.reason, reply.owner, reply.epoch
        ),
    };
    let result = json!({
        "handoff_id": reply.handoff_id.to_string(),
        "entity": reply.entity.to_string(),
        "result": reply.result,
        "reason": reply.reason,
        "from": reply.from,
        "to": reply.to,
        "owner": reply.owner,
        "epoch": reply.epoch,
        "tick_last": reply.tick_last,
        "tick_first": reply.tick_first,
    });
    (if committed { State::Done } else { State::Failed }, line, result)
}

fn failed(status: &Status) -> (State, String, Value) {
    let text = status.message().to_owned();
    (State::Failed, text.clone(), json!({"error": text}))
}

/// What an operator's door answers, as a browser is told.
fn trouble(status: &Status) -> Trouble {
    let (http, code) = match status.code() {
        Code::NotFound => (404, "not-found"),
        Code::InvalidArgument => (400, "bad-request"),
        Code::FailedPrecondition => (409, "refused"),
        Code::ResourceExhausted => (503, "busy"),
        Code::DeadlineExceeded => (504, "timeout"),
        Code::Unavailable => (502, "unreachable"),
        _ => (500, "internal"),
    };
    Trouble::new(http, code, status.message())
}

fn dry_json(would: &DryRunReply) -> Value {
    let or_null = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    json!({
        "entity": would.entity.to_string(),
        "kind": would.kind,
        "from": would.from,
        "epoch": would.epoch,
        "to": would.to,
        "to_epoch": would.to_epoch,
        "state_bytes": would.state_bytes,
        "timers": would.timers,
        "ghosts": would.ghosts,
        "witness": or_null(&would.witness),
        "expected_gap_ticks": would.expected_gap_ticks,
        "destination_load_percent": would.destination_load_percent,
        "refusal": or_null(&would.refusal),
    })
}
