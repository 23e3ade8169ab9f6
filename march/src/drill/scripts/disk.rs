//! The disk under a baseapp takes nothing for a while.

use super::{Figure, Hurt, Told, Trouble, Victim, finish, member, most};
use crate::drill::field::Field;
use crate::exit::Failure;
use marchland_common::order::NodeKind;

/// What its log may still grow by: less than a tick writes, so that a part of it gets there.
const ROOM_BYTES: u64 = 300;
/// Ticks from when the log stood still until there is space again.
const FULL_TICKS: u64 = 60;

pub(super) async fn full(field: &mut Field) -> Result<Told, Failure> {
    let Victim { node, has, .. } = most(field, NodeKind::Base, |m| m.entities).await?;
    let name = node.name.to_string();
    let mut told = Told::of(None);
    let from = field.tick().await?;
    let room = field.log_bytes(&name)? + ROOM_BYTES;
    field.limit_files(&name, Some(room))?;
    field.say(format!(
        "the log of {node} with {has} records has room for {ROOM_BYTES} bytes from about tick {from} on"
    ));
    let alarm = field.until(|status| {
        let stalls = *member(status, &name)?.counters.get("log_stalls")?;
        (stalls > 0).then_some((stalls, status.tick))
    });
    if let Some((stalls, tick)) = alarm.await? {
        told.figures.insert(Figure::DiskAlarms, stalls);
        told.still = Some((node.name, tick));
        field.say(format!("it said so by tick {tick}"));
    }
    // Not another byte of anything that it writes.
    field.limit_files(&name, Some(0))?;
    field.play(FULL_TICKS).await?;
    let to = field.tick().await?;
    field.limit_files(&name, None)?;
    field.say(format!("there is space again from about tick {to} on"));
    let hurt = vec![Hurt { cell: None, base: Some(node.name) }];
    told.trouble = Some(Trouble { from, to, hurt });
    finish(field, &mut told).await?;
    Ok(told)
}
