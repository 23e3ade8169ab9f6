//! How everybody is: asked of all at once, at most once a second. Whoever does not answer is shown as
//! it was when it did, with how long ago that is.

use super::hub::Hub;
use crate::frame::{Budget, ClusterFrame, LinkState, ProcessState, Space, kind_name, space_of};
use marchland_common::order::{Node, NodeKind};
use marchland_common::time::Phase;
use marchland_proto::observer::observe_client::ObserveClient;
use marchland_proto::observer::{LinkVitals, VitalsReply, VitalsRequest};
use marchland_proto::operator::process_client::ProcessClient;
use marchland_proto::operator::{HealthReply, HealthRequest};
use marchland_runtime::coord::{Member, MemberState};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a process may take to answer.
const ANSWER_MAX: Duration = Duration::from_millis(800);

/// What a process answered last.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    at: Instant,
    health: HealthReply,
    vitals: Option<VitalsReply>,
}

/// What everybody answered last.
pub(super) type Answers = BTreeMap<Node, Answer>;

/// Looks once a second while browsers listen, and tells them.
pub(super) async fn look_every_second(hub: Arc<Hub>) -> Infallible {
    let mut looks = hub.activity.changes();
    loop {
        if hub.activity.listeners() > 0 {
            let frame = look(&hub).await;
            hub.tell_text(&frame);
            sleep(LOOK_EVERY).await;
        } else {
            // An error would mean that the hub is gone, and it is held here.
            let _ = looks.changed().await;
        }
    }
}

/// How everybody is, at most a second old.
pub(super) async fn look(hub: &Hub) -> ClusterFrame {
    let mut looked = hub.looked.lock().await;
    if let Some((at, frame)) = &*looked
        && at.elapsed() < LOOK_EVERY
    {
        return frame.clone();
    }
    let began = Instant::now();
    let frame = look_anew(hub).await;
    *looked = Some((began, frame.clone()));
    frame
}

async fn look_anew(hub: &Hub) -> ClusterFrame {
    let seen = hub.realm.seen();
    let asked = seen.members.iter().map(|member| ask(hub, member));
    let fresh: Vec<_> = futures::future::join_all(asked).await;
    let mut answers = hub.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
    answers.retain(|node, _| seen.members.iter().any(|member| member.node() == *node));
    let mut silent = Vec::new();
    for (member, answer) in seen.members.iter().zip(fresh) {
        match answer {
            Some(answer) => {
                hub.saw_tick(answer.health.tick);
                answers.insert(member.node(), answer);
            }
            None => silent.push(member.node()),
        }
    }
    let state = |member: &Member| {
        let node = member.node();
        state_of(&seen, member, answers.get(&node), silent.contains(&node))
    };
    let mut processes: Vec<ProcessState> = seen.members.iter().map(state).collect();
    processes.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    *hub.answers.lock().unwrap_or_else(PoisonError::into_inner) = answers;
    ClusterFrame {
        t: "cluster",
        tick: hub.tick(),
        spaces: spaces(&seen),
        processes,
        store: Some(hub.realm.store()),
        verdicts: hub.realm.verdicts(),
        reasons: hub.realm.reasons(),
    }
}

async fn ask(hub: &Hub, member: &Member) -> Option<Answer> {
    let channel = hub.realm.channel(&member.info.operator_addr)?;
    let (mut process, mut observe) =
        (ProcessClient::new(channel.clone()), ObserveClient::new(channel));
    let has_links = matches!(member.info.name.kind, NodeKind::Cell | NodeKind::Base);
    let vitals = async {
        if !has_links {
            return None;
        }
        let asked = timeout(ANSWER_MAX, observe.vitals(VitalsRequest {})).await;
        asked.ok()?.ok().map(tonic::Response::into_inner)
    };
    let health = async { timeout(ANSWER_MAX, process.health(HealthRequest {})).await.ok()?.ok() };
    let (health, vitals) = tokio::join!(health, vitals);
    let health = health?.into_inner();
    // Another life may be at the address by now.
    let is_it = health.incarnation == member.incarnation.0;
    is_it.then(|| Answer { at: Instant::now(), health, vitals })
}

fn state_of(
    seen: &Seen,
    member: &Member,
    answer: Option<&Answer>,
    is_silent: bool,
) -> ProcessState {
    let name = member.info.name;
    let slots = seen.slots.iter().filter(|s| s.base == name).count();
    let mut state = ProcessState {
        name: name.to_string(),
        kind: kind_name(name.kind),
        incarnation: member.incarnation.to_string(),
        slots: u32::try_from(slots).unwrap_or(u32::MAX),
        ..ProcessState::default()
    };
    let drains = matches!(member.info.state, MemberState::Draining | MemberState::Leaving);
    let gives_away = drains && (slots > 0 || owns_cells(seen, member));
    if let Some(answer) = answer {
        let health = &answer.health;
        state.age_ms = as_ms(answer.at.elapsed());
        (state.tick, state.reals, state.ghosts) = (health.tick, health.reals, health.ghosts);
        (state.entities, state.sessions) = (health.entities, health.sessions);
        state.reasons.clone_from(&health.reasons);
        state.counters = health.counters.iter().map(|(n, v)| (n.clone(), *v)).collect();
        state.budget = budget(&state.counters, seen.clock.map_or(0, |clock| clock.step_us));
        if let Some(vitals) = &answer.vitals {
            state.lease_ms = Some(vitals.lease_ms);
            state.links = vitals.links.iter().map(link).collect();
        }
    }
    state.state = match answer {
        _ if seen.dead.contains(&member.incarnation) => "dead",
        _ if is_silent => "unreachable",
        Some(answer) if drains && answer.health.drained && !gives_away => "drained",
        _ if drains => "draining",
        _ => "serving",
    };
    if is_silent {
        state.reasons.push("it does not answer".to_owned());
    }
    state
}

fn link(link: &LinkVitals) -> LinkState {
    LinkState {
        peer: link.peer.clone(),
        up: link.sending && link.receiving,
        queued: link.queued,
        unacked: link.unacked,
        stall_ms: link.silent_ms,
    }
}

/// Where ticks go, by the counters of the tick thread; none where no tick was published yet.
fn budget(counters: &BTreeMap<String, u64>, step_us: u64) -> Option<Budget> {
    let of = |name: &str| {
        let value = |what: &str| counters.get(&format!("{name}_us_{what}")).copied();
        Some((value("p50")?, value("p99")?))
    };
    let phases = Phase::ALL.into_iter().filter_map(|phase| {
        let (p50, p99) = of(&format!("phase_{phase}"))?;
        Some((phase.to_string(), p50, p99))
    });
    let (p50, p99) = of("tick")?;
    Some(Budget { step_us, phases: phases.collect(), total: [p50, p99] })
}

fn owns_cells(seen: &Seen, member: &Member) -> bool {
    seen.spaces.values().any(|value| value.layout.is_owned_by(member.node()))
}

/// How each space is divided.
pub(super) fn spaces(seen: &Seen) -> Vec<Space> {
    seen.spaces.values().map(|value| space_of(&value.layout)).collect()
}

fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
