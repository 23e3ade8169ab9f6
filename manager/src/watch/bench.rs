//! Judging: looks several times a second, and writes a tombstone for whoever is given up, guarded
//! by the leader key.

use super::board::Board;
use super::{now_ms, prober};
use crate::lead::logs;
use crate::watch::Roster;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use marchland_common::order::{Node, NodeName};
use marchland_manager_core::verdict::{self, Brake, Judge, JudgeConfig, Judged, Judgement, Look};
use marchland_manager_core::{Absence, Facts};
use marchland_runtime::coord::{
    CoordClient, LeaderError, Leadership, Tombstone, TombstoneError, TombstoneMode,
    TombstoneOutcome, Verdict, tombstone,
};
use marchland_runtime::process::{MapFeed, Seen};
use marchland_runtime::telemetry::Counters;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What an operator is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Why nobody is judged at present.
    pub(crate) brake: Option<Brake>,
    /// Who would be, if it were not for the brake.
    pub(crate) withheld: BTreeSet<Node>,
    /// Baseapps that are lost and keep slots, and whose slots nobody takes over yet.
    pub(crate) lost_bases: BTreeSet<Node>,
    /// For how long those slots wait for them; for ever without.
    pub(crate) take_over_after: Option<Duration>,
}

impl Findings {
    /// What a judgement comes to, of baseapps that the others wait for.
    fn of(judgement: &Judgement, waits_for: impl Fn(NodeName) -> bool) -> Self {
        let mut lost_bases = judgement.lost_bases();
        lost_bases.retain(|node| waits_for(node.name));
        Self {
            brake: judgement.brake,
            withheld: judgement.withheld.iter().map(|j| j.node).collect(),
            lost_bases,
            take_over_after: None,
        }
    }

    /// The same in words.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let spared: Vec<String> = self.withheld.iter().map(ToString::to_string).collect();
        let brake = self.brake.map(|brake| match spared.is_empty() {
            true => format!("no verdicts at present: {brake}"),
            false => format!("no verdicts at present, about {} too: {brake}", spared.join(", ")),
        });
        let lost = self.lost_bases.iter().map(|b| match self.take_over_after {
            Some(after) => format!("{b} is lost; others take its slots over after {after:?}"),
            None => format!("{b} is lost; its slots wait for it"),
        });
        brake.into_iter().chain(lost).collect()
    }
}

/// The judge with everything it needs.
pub(crate) struct Bench<'a> {
    pub(crate) coord: &'a CoordClient,
    pub(crate) leadership: &'a Leadership,
    pub(crate) feed: &'a MapFeed,
    pub(crate) roster: &'a Roster,
    pub(crate) findings: &'a watch::Sender<Findings>,
    pub(crate) counters: &'a Counters,
    /// Who signs the tombstones.
    pub(crate) by: String,
    /// For how long a process must be silent to everybody.
    pub(crate) silent_after: Duration,
    /// After what time others take over the slots of a lost baseapp; never without.
    pub(crate) take_over_after: Option<Duration>,
    /// Baseapps whose slots others are to take over.
    pub(crate) overdue: &'a watch::Sender<BTreeSet<NodeName>>,
    /// The address of this machine from which they are asked.
    pub(crate) dial_from: Option<IpAddr>,
}

impl Bench<'_> {
    /// Judges until a write is refused because this manager does not lead any more.
    pub(crate) async fn run(&self) -> LeaderError {
        let board = Board::default();
        tokio::select! {
            never = prober::run(self.roster.clone(), board.clone(), self.dial_from) => match never {},
            error = self.judge(&board) => error,
        }
    }

    async fn judge(&self, board: &Board) -> LeaderError {
        let (mut judge, mut absence) = (Judge::new(self.config()), Absence::default());
        let mut due = Instant::now();
        let mut writing: BTreeSet<Node> = BTreeSet::new();
        let mut writes = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = sleep_until(due) => {
                    due = Instant::now() + LOOK_EVERY;
                    let judgement = judge.look(&self.look(board));
                    let overdue = self.overdue(&judgement, &mut absence);
                    self.note(&judgement);
                    for judged in judgement.to_bury(&overdue).filter(|j| writing.insert(j.node)) {
                        writes.push(self.bury(judged.clone()));
                    }
                }
                Some((node, ended)) = writes.next() => {
                    writing.remove(&node);
                    match ended {
                        Ok(()) => {}
                        Err(TombstoneError::Leader(error @ LeaderError::NotLeader(_))) => {
                            return error;
                        }
                        Err(error) => {
                            tracing::warn!(%node, %error, "no tombstone; the next look decides anew");
                        }
                    }
                }
            }
        }
    }

    fn config(&self) -> JudgeConfig {
        let standard = JudgeConfig::default();
        let silent_after_ms = as_ms(self.silent_after);
        JudgeConfig {
            silent_after_ms,
            brake_ms: as_ms(self.leadership.proof().ttl),
            paused_after_ms: standard.paused_after_ms.min(silent_after_ms),
            ..standard
        }
    }

    fn look(&self, board: &Board) -> Look {
        let seen = self.feed.seen();
        let unproven = Instant::now().saturating_duration_since(self.leadership.proof().proven_at);
        let now_ms = now_ms();
        let mut look = Look {
            now_ms,
            members: seen.core_members(),
            known: owners(&seen),
            dead: seen.dead.clone(),
            store_answered_ms: now_ms.saturating_sub(as_ms(unproven)),
            ..Look::default()
        };
        board.show(&mut look);
        look
    }

    /// Finds out whose slots others are to take over by now, and names the lives that kept them.
    fn overdue(&self, judgement: &Judgement, absence: &mut Absence) -> BTreeSet<Node> {
        let facts = facts_of_lives(&self.feed.seen());
        let after_ms = self.take_over_after.map(as_ms);
        let overdue = absence.overdue(&facts, &judgement.lost_bases(), (now_ms(), after_ms));
        let lives = facts.lives_of(&overdue);
        self.overdue.send_if_modified(|old| {
            for name in overdue.difference(old) {
                tracing::warn!(base = %name, "it has been away for too long; others take its slots over");
            }
            let before = std::mem::replace(old, overdue);
            before != *old
        });
        lives
    }

    /// Says what is new, and counts it.
    fn note(&self, judgement: &Judgement) {
        if let Some(ms) = judgement.paused_ms {
            tracing::warn!(ms, "this manager was away; what it knew of the others is void");
            self.counters.counter("judge_paused").add(1);
        }
        let (seen, overdue) = (self.feed.seen(), self.overdue.borrow().clone());
        let waits_for = |name: NodeName| {
            !overdue.contains(&name) && seen.slots.iter().any(|slot| slot.base == name)
        };
        let take_over_after = self.take_over_after;
        let new = Findings { take_over_after, ..Findings::of(judgement, waits_for) };
        let old = self.findings.borrow().clone();
        if new == old {
            return;
        }
        for spared in new.withheld.difference(&old.withheld) {
            tracing::warn!(node = %spared, brake = ?new.brake, "no verdict for now");
            self.counters.counter("verdicts_withheld").add(1);
        }
        for lost in new.lost_bases.difference(&old.lost_bases) {
            tracing::error!(node = %lost, "a baseapp is lost; its slots wait for it, for a while");
            self.counters.counter("bases_lost").add(1);
        }
        if new.brake.is_some() && old.brake.is_none() {
            self.counters.counter("judge_braked").add(1);
        }
        self.findings.send_replace(new);
    }

    async fn bury(&self, judged: Judged) -> (Node, Result<(), TombstoneError>) {
        let Judged { node, verdict, evidence } = judged;
        let (verdict, name) = match verdict {
            verdict::Verdict::Dead => (Verdict::Dead, "verdicts_dead"),
            verdict::Verdict::Silent => (Verdict::Silent, "verdicts_silent"),
            verdict::Verdict::Replaced => (Verdict::Replaced, "verdicts_replaced"),
        };
        let stone = Tombstone { verdict, reason: evidence, by: self.by.clone() };
        let evict = TombstoneMode::Evict;
        let written = tombstone(self.coord, Some(self.leadership), node, &stone, evict).await;
        let ended = written.map(|outcome| {
            if outcome == TombstoneOutcome::Written {
                tracing::warn!(%node, ?verdict, reason = stone.reason, "given up");
                self.counters.counter(name).add(1);
            }
        });
        (node, ended)
    }
}

/// Who owns cells, and who wrote the logs that slots are in, whether or not anybody ever saw them.
fn owners(seen: &Seen) -> BTreeSet<Node> {
    let cells = seen.spaces.values().flat_map(|value| value.layout.cells());
    let keeps = |name: &NodeName| seen.slots.iter().any(|slot| slot.base == *name);
    let logs = seen.logs.iter().filter(|(name, _)| keeps(name));
    let logs = logs.map(|(name, (log, _))| Node { name: *name, incarnation: log.incarnation });
    cells.filter_map(|cell| cell.owner).chain(logs).collect()
}

/// What absence is judged by.
fn facts_of_lives(seen: &Seen) -> Facts {
    Facts {
        members: seen.core_members(),
        dead: seen.dead.clone(),
        slots: seen.slots.clone(),
        logs: logs(seen),
        ..Facts::default()
    }
}

fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
