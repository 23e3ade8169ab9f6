//! Who is there, who owns what, and what is missing.

use super::{print_json, print_line, print_table};
use crate::cli::StatusArgs;
use crate::connect::manager;
use crate::exit::{CHECK_FAILED, Failure, TIMEOUT};
use marchland_proto::operator::{StatusReply, StatusRequest};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The answer for programs.
#[derive(Debug, Serialize)]
pub(crate) struct StatusJson {
    pub(crate) ready: bool,
    pub(crate) tick: u64,
    pub(crate) members: Vec<MemberJson>,
    pub(crate) spaces: Vec<SpaceJson>,
    pub(crate) reasons: Vec<String>,
    /// The manager that leads; empty if none is known to.
    pub(crate) leader: String,
    pub(crate) lost: Vec<LostJson>,
}

/// A baseapp that has been away for so long that others take its slots over.
#[derive(Debug, Serialize)]
pub(crate) struct LostJson {
    pub(crate) name: String,
    pub(crate) incarnation: u64,
    pub(crate) slots: u32,
    pub(crate) state: String,
    pub(crate) takers: Vec<String>,
    pub(crate) reason: String,
    pub(crate) log: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct MemberJson {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) incarnation: u64,
    pub(crate) state: String,
    pub(crate) reals: u64,
    pub(crate) ghosts: u64,
    pub(crate) entities: u64,
    pub(crate) sessions: u64,
    pub(crate) slots: u32,
    pub(crate) drained: bool,
    pub(crate) link: String,
    pub(crate) gateway: String,
    pub(crate) counters: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SpaceJson {
    pub(crate) id: u32,
    pub(crate) version: u64,
    pub(crate) cells: Vec<CellJson>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CellJson {
    pub(crate) id: u32,
    pub(crate) rect: Vec<i32>,
    pub(crate) owner: String,
}

impl From<StatusReply> for StatusJson {
    fn from(reply: StatusReply) -> Self {
        let member = |m: marchland_proto::operator::MemberStatus| MemberJson {
            name: m.name,
            kind: m.kind,
            incarnation: m.incarnation,
            state: m.state,
            reals: m.reals,
            ghosts: m.ghosts,
            entities: m.entities,
            sessions: m.sessions,
            slots: m.slots,
            drained: m.drained,
            link: m.link,
            gateway: m.gateway,
            counters: m.counters.into_iter().collect(),
        };
        let space = |s: marchland_proto::operator::SpaceStatus| SpaceJson {
            id: s.id,
            version: s.version,
            cells: s
                .cells
                .into_iter()
                .map(|c| CellJson { id: c.id, rect: c.rect, owner: c.owner })
                .collect(),
        };
        let lost = |l: marchland_proto::operator::LostStatus| LostJson {
            name: l.name,
            incarnation: l.incarnation,
            slots: l.slots,
            state: l.state,
            takers: l.takers,
            reason: l.reason,
            log: l.log,
        };
        Self {
            ready: reply.ready,
            tick: reply.tick,
            members: reply.members.into_iter().map(member).collect(),
            spaces: reply.spaces.into_iter().map(space).collect(),
            reasons: reply.reasons,
            leader: reply.leader,
            lost: reply.lost.into_iter().map(lost).collect(),
        }
    }
}

/// Asks once.
pub(crate) async fn ask(cluster: &str) -> Result<StatusJson, Failure> {
    let mut manager = manager(cluster).await?;
    let reply = manager.status(StatusRequest {}).await;
    let reply = reply.map_err(|s| Failure::of_status(&s, "cannot read the status"))?;
    Ok(reply.into_inner().into())
}

pub(crate) async fn run(args: StatusArgs) -> Result<u8, Failure> {
    let until = args.wait.map(|wait| Instant::now() + wait);
    loop {
        let asked = ask(&args.ask.cluster).await;
        let ready = asked.as_ref().is_ok_and(|s| s.ready);
        if ready || until.is_none_or(|u| Instant::now() >= u) {
            let status = asked?;
            show(&status, args.ask.output.is_json());
            return Ok(match (status.ready, args.wait) {
                (true, _) => 0,
                (false, Some(_)) => TIMEOUT,
                (false, None) => CHECK_FAILED,
            });
        }
        sleep(Duration::from_millis(200)).await;
    }
}

fn show(status: &StatusJson, json: bool) {
    if json {
        print_json(status);
        return;
    }
    let word = if status.ready { "ready" } else { "not ready" };
    let leads = match status.leader.as_str() {
        "" => String::new(),
        leader => format!(", {leader} leads"),
    };
    print_line(&format!("{word}, tick {}{leads}", status.tick));
    for reason in &status.reasons {
        print_line(&format!("  waits for: {reason}"));
    }
    let row = |m: &MemberJson| {
        vec![
            m.name.clone(),
            m.incarnation.to_string(),
            m.state.clone(),
            m.reals.to_string(),
            m.ghosts.to_string(),
            m.entities.to_string(),
            m.sessions.to_string(),
            m.slots.to_string(),
            m.link.clone(),
            m.gateway.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = status.members.iter().map(row).collect();
    let head = [
        "NAME", "LIFE", "STATE", "REALS", "GHOSTS", "RECORDS", "SESSIONS", "SLOTS", "LINK",
        "GATEWAY",
    ];
    print_table(&head, &rows);
    let cell = |(s, c): (&SpaceJson, &CellJson)| {
        let rect: Vec<String> = c.rect.iter().map(|mm| (mm / 1000).to_string()).collect();
        vec![format!("{} v{}", s.id, s.version), c.id.to_string(), rect.join(" "), c.owner.clone()]
    };
    let cells = status.spaces.iter().flat_map(|s| s.cells.iter().map(move |c| (s, c)));
    let rows: Vec<Vec<String>> = cells.map(cell).collect();
    print_table(&["SPACE", "CELL", "RECT (m)", "OWNER"], &rows);
}
