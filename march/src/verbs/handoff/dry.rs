//! What a handoff would move and cost. Nothing moves.

use crate::connect::manager;
use crate::exit::{Failure, REFUSED};
use crate::verbs::{print_json, print_line};
use marchland_proto::operator::{DryRunReply, HandoffRequest};
use serde::Serialize;

/// The answer for programs.
#[derive(Debug, Serialize)]
struct DryRunJson {
    entity: u64,
    kind: String,
    from: String,
    epoch: u64,
    to: String,
    to_epoch: u64,
    state_bytes: u64,
    timers: u32,
    ghosts: Vec<String>,
    witness: Option<String>,
    expected_gap_ticks: u32,
    destination_load_percent: u32,
    refusal: Option<String>,
}

impl From<DryRunReply> for DryRunJson {
    fn from(d: DryRunReply) -> Self {
        let some = |text: String| (!text.is_empty()).then_some(text);
        Self {
            entity: d.entity,
            kind: d.kind,
            from: d.from,
            epoch: d.epoch,
            to: d.to,
            to_epoch: d.to_epoch,
            state_bytes: d.state_bytes,
            timers: d.timers,
            ghosts: d.ghosts,
            witness: some(d.witness),
            expected_gap_ticks: d.expected_gap_ticks,
            destination_load_percent: d.destination_load_percent,
            refusal: some(d.refusal),
        }
    }
}

pub(super) async fn run(cluster: &str, request: HandoffRequest, json: bool) -> Result<u8, Failure> {
    let doing = format!("cannot say what a handoff of entity {} would move", request.entity);
    let reply = manager(cluster).await?.dry_run(request).await;
    let would: DryRunJson = reply.map_err(|s| Failure::of_status(&s, &doing))?.into_inner().into();
    if json {
        print_json(&would);
    } else {
        lines(&would).iter().for_each(|line| print_line(line));
    }
    Ok(if would.refusal.is_some() { REFUSED } else { 0 })
}

fn lines(d: &DryRunJson) -> Vec<String> {
    if let Some(refusal) = &d.refusal {
        return vec![
            format!("would not move entity {} ({}) to {}: {refusal}", d.entity, d.kind, d.to),
            format!("  owner is {} (epoch {})", d.from, d.epoch),
        ];
    }
    let ghosts = match d.ghosts.as_slice() {
        [] => "no ghosts".to_owned(),
        ghosts => {
            let real = |ghost: &String| match *ghost == d.to {
                true => format!("{ghost} becomes the owner"),
                false => ghost.clone(),
            };
            format!("ghosts: {}", ghosts.iter().map(real).collect::<Vec<_>>().join(", "))
        }
    };
    let witness = d.witness.as_deref().unwrap_or("nobody");
    vec![
        format!(
            "would move entity {} ({}): {} epoch {} -> {} epoch {}",
            d.entity, d.kind, d.from, d.epoch, d.to, d.to_epoch
        ),
        format!(
            "  state {} bytes, {} timers, {ghosts}; looks from it: {witness}",
            d.state_bytes, d.timers
        ),
        format!(
            "  expected gap {} ticks (1 misses nothing), an ordinary tick of {} takes {} % of its step",
            d.expected_gap_ticks, d.to, d.destination_load_percent
        ),
    ]
}
