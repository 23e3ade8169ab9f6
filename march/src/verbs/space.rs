//! Creating and removing spaces.

use super::{print_json, print_line};
use crate::cli::{Ask, SpaceArgs, SpaceVerb};
use crate::connect::manager;
use crate::exit::{Failure, REFUSED};
use marchland_proto::operator::{CreateSpaceRequest, RemoveSpaceRequest, SpaceReply};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct SpaceDone {
    space: u32,
    done: bool,
    reason: String,
    version: u64,
}

pub(crate) async fn run(args: SpaceArgs) -> Result<u8, Failure> {
    match args.verb {
        SpaceVerb::Create { ask, id, bounds, cells } => {
            let millimetres = |metres: &i32| metres.checked_mul(1_000);
            let bounds: Option<Vec<i32>> = bounds.iter().map(millimetres).collect();
            let bounds = bounds.ok_or_else(|| Failure::usage("a coordinate is too large"))?;
            let mut manager = manager(&ask.cluster).await?;
            let reply = manager.create_space(CreateSpaceRequest { id, bounds, cells }).await;
            let reply = reply.map_err(|s| Failure::of_status(&s, "no space was created"))?;
            Ok(show(&ask, id, reply.into_inner()))
        }
        SpaceVerb::Remove { ask, id } => {
            let mut manager = manager(&ask.cluster).await?;
            let reply = manager.remove_space(RemoveSpaceRequest { id }).await;
            let reply = reply.map_err(|s| Failure::of_status(&s, "no space was removed"))?;
            Ok(show(&ask, id, reply.into_inner()))
        }
    }
}

fn show(ask: &Ask, space: u32, reply: SpaceReply) -> u8 {
    let SpaceReply { done, reason, version } = reply;
    let code = if done { 0 } else { REFUSED };
    if ask.output.is_json() {
        print_json(&SpaceDone { space, done, reason, version });
    } else if done {
        print_line(&format!("space {space}: done"));
    } else {
        print_line(&format!("space {space}: nothing changed: {reason}"));
    }
    code
}
