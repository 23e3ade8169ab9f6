//! Has a process give away what it has, and waits until nothing is left there.

use super::status::{self, MemberJson, StatusJson};
use super::{print_json, print_line};
use crate::cli::DrainArgs;
use crate::connect::manager;
use crate::exit::{Failure, NOT_FOUND, REFUSED, TIMEOUT};
use marchland_proto::operator::{DrainReply, DrainRequest};
use serde::Serialize;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest wait.
const WITHIN_MAX: Duration = Duration::from_secs(3_600);
/// How long an order may take to be given.
const ORDER_MAX: Duration = Duration::from_secs(5);

/// The answer for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DrainJson {
    pub(crate) name: String,
    /// The life that drains; 0 if none was told.
    pub(crate) incarnation: u64,
    pub(crate) ordered: bool,
    /// Why not.
    pub(crate) reason: String,
    pub(crate) drained: bool,
    /// What is left there, if that was looked at.
    pub(crate) left: Option<LeftJson>,
}

/// What a process still has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LeftJson {
    pub(crate) cells: usize,
    pub(crate) reals: u64,
    pub(crate) slots: u32,
    pub(crate) records: u64,
}

impl LeftJson {
    fn of(status: &StatusJson, member: &MemberJson) -> Self {
        let cells = status.spaces.iter().flat_map(|space| &space.cells);
        Self {
            cells: cells.filter(|cell| cell.owner == member.name).count(),
            reals: member.reals,
            slots: member.slots,
            records: member.entities,
        }
    }
}

impl std::fmt::Display for LeftJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cells, reals, slots, records } = self;
        write!(f, "{cells} cells, {reals} reals, {slots} slots, {records} records")
    }
}

pub(crate) async fn run(args: DrainArgs) -> Result<u8, Failure> {
    if args.within < LOOK_EVERY || args.within > WITHIN_MAX {
        return Err(Failure::usage("--within is between 100ms and 60m"));
    }
    let done = give_away(&args).await?;
    show(&args, &done);
    Ok(match done {
        DrainJson { ordered: false, .. } => REFUSED,
        DrainJson { drained: false, .. } if args.wait => TIMEOUT,
        _ => 0,
    })
}

/// Orders it, and waits for it if that is asked for.
pub(crate) async fn give_away(args: &DrainArgs) -> Result<DrainJson, Failure> {
    let until = Instant::now() + args.within;
    let mut done = order(args).await?;
    if done.ordered && args.wait {
        wait(args, &mut done, until).await?;
    }
    Ok(done)
}

async fn order(args: &DrainArgs) -> Result<DrainJson, Failure> {
    let name = args.name.to_string();
    let doing = format!("{name} was not drained");
    let mut manager = manager(&args.ask.cluster).await?;
    let asked = manager.drain(DrainRequest { name: name.clone(), incarnation: 0 });
    let Ok(reply) = timeout(ORDER_MAX, asked).await else {
        return Err(Failure::new(TIMEOUT, format!("{doing}: the manager did not answer"))
            .hint("march status   # says whether it drains all the same"));
    };
    let reply = reply.map_err(|s| Failure::of_status(&s, &doing))?;
    let DrainReply { ordered, reason, incarnation } = reply.into_inner();
    Ok(DrainJson { name, incarnation, ordered, reason, drained: false, left: None })
}

/// Looks until nothing is left there.
async fn wait(args: &DrainArgs, done: &mut DrainJson, until: Instant) -> Result<(), Failure> {
    let mut silent = None;
    while Instant::now() < until {
        match timeout(until - Instant::now(), status::ask(&args.ask.cluster)).await {
            Ok(Ok(status)) => {
                silent = None;
                if look(&status, done)? {
                    return Ok(());
                }
            }
            // Managers come and go, and the drain goes on.
            Ok(Err(failure)) => silent = Some(failure),
            Err(_) => break,
        }
        sleep(LOOK_EVERY).await;
    }
    silent.map_or(Ok(()), Err)
}

/// Whether nothing is left at that life.
fn look(status: &StatusJson, done: &mut DrainJson) -> Result<bool, Failure> {
    let member = status.members.iter().find(|m| m.name == done.name);
    let Some(member) = member.filter(|m| m.incarnation == done.incarnation) else {
        let text = format!(
            "{} ended before everything was given away: life {} is not registered any more",
            done.name, done.incarnation
        );
        return Err(Failure::new(NOT_FOUND, text).hint("march status   # shows who is there"));
    };
    done.left = Some(LeftJson::of(status, member));
    done.drained = member.drained;
    Ok(member.drained)
}

fn show(args: &DrainArgs, done: &DrainJson) {
    let DrainJson { name, incarnation, .. } = done;
    if args.ask.output.is_json() {
        print_json(done);
    } else if !done.ordered {
        print_line(&format!("{name}: nothing changed: {}", done.reason));
    } else if done.drained {
        print_line(&format!("{name}: life {incarnation} has nothing left; it may be stopped"));
    } else if let Some(left) = done.left {
        let within = args.within;
        print_line(&format!("{name}: not drained within {within:?}; left: {left}"));
        print_line(&format!("  it goes on giving away; march drain {name} --wait   # waits on"));
    } else {
        print_line(&format!("{name}: life {incarnation} is ordered to give away what it has"));
        print_line(&format!("  march drain {name} --wait   # waits until nothing is left there"));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::verbs::status::{CellJson, SpaceJson};
    use std::collections::BTreeMap;

    fn status(incarnation: u64, slots: u32, drained: bool) -> StatusJson {
        let member = MemberJson {
            name: "base-1".to_owned(),
            kind: "base".to_owned(),
            incarnation,
            state: "draining".to_owned(),
            reals: 0,
            ghosts: 0,
            entities: 7,
            sessions: 0,
            slots,
            drained,
            link: String::new(),
            gateway: String::new(),
            counters: BTreeMap::new(),
        };
        let cell = |owner: &str| CellJson { id: 1, rect: Vec::new(), owner: owner.to_owned() };
        let cells = vec![cell("base-1"), cell("cell-2")];
        let spaces = vec![SpaceJson { id: 1, version: 1, cells }];
        let (reasons, leader) = Default::default();
        let members = vec![member];
        StatusJson { ready: true, tick: 9, members, spaces, reasons, leader, lost: Vec::new() }
    }

    #[test]
    fn it_is_done_when_that_very_life_says_so_and_until_then_what_is_left_is_counted() {
        let mut done = DrainJson {
            name: "base-1".to_owned(),
            incarnation: 5,
            ordered: true,
            reason: String::new(),
            drained: false,
            left: None,
        };
        assert!(!look(&status(5, 12, false), &mut done).unwrap());
        let left = done.left.unwrap();
        assert_eq!(left, LeftJson { cells: 1, reals: 0, slots: 12, records: 7 });
        assert_eq!(left.to_string(), "1 cells, 0 reals, 12 slots, 7 records");
        assert!(look(&status(5, 0, true), &mut done).unwrap() && done.drained);
        let gone = look(&status(6, 0, true), &mut done).unwrap_err();
        assert_eq!(gone.code, NOT_FOUND, "another life is no answer");
    }
}
