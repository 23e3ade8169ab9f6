//! Updates that are encoded once per entity and tick, and copied to every witness.

use super::{
    EPOCH_ROTATION, HEADING, OP_UPDATE, POSITION, PROPS, PropSlice, SPECULATIVE, VERSION, Version,
    ViewFields, is_entity,
};
use crate::prop;
use crate::varint;
use crate::{Pose, PushError};
use marchland_common::order::EntityId;

/// The finished bytes of one update; only this module makes one, so that no caller can put bytes of
/// its own into a view block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedUpdate<'a>(&'a [u8]);

impl<'a> EncodedUpdate<'a> {
    /// The bytes, for instance to count them against a witness's budget.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Encodes one update into `scratch`, whose former content is dropped and whose room is reused.
///
/// # Errors
/// Nothing changed, the entity id is impossible, the position is outside the world, the slots do
/// not ascend, or a property is too long.
pub fn encode_update<'s>(
    scratch: &'s mut Vec<u8>,
    entity: EntityId,
    fields: &ViewFields<PropSlice<'_>>,
) -> Result<EncodedUpdate<'s>, PushError> {
    scratch.clear();
    put_update(scratch, entity, fields)?;
    Ok(EncodedUpdate(scratch))
}

/// The updates of one tick, encoded at most once each: a witness loop keeps a [`UpdateRef`] per
/// changed entity and copies its bytes into each block.
#[derive(Clone, Debug, Default)]
pub struct UpdateArena {
    bytes: Vec<u8>,
    generation: u32,
}

/// Where an [`UpdateArena`] keeps an update, until its next [`begin`](UpdateArena::begin). It is
/// meaningless to any other arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRef {
    start: u32,
    end: u32,
    generation: u32,
}

impl UpdateArena {
    /// Forgets every update and keeps the room.
    pub fn begin(&mut self) {
        self.bytes.clear();
        self.generation = self.generation.wrapping_add(1);
    }

    /// Encodes an update behind the others.
    ///
    /// # Errors
    /// As [`encode_update`], and [`PushError::Full`] beyond 4 GiB of updates.
    pub fn encode(
        &mut self,
        entity: EntityId,
        fields: &ViewFields<PropSlice<'_>>,
    ) -> Result<UpdateRef, PushError> {
        let start = self.bytes.len();
        let written = put_update(&mut self.bytes, entity, fields);
        let reference = written.and_then(|()| {
            let place = |at: usize| u32::try_from(at).map_err(|_| PushError::Full);
            let (start, end) = (place(start)?, place(self.bytes.len())?);
            Ok(UpdateRef { start, end, generation: self.generation })
        });
        if reference.is_err() {
            self.bytes.truncate(start);
        }
        reference
    }

    /// The bytes of an update of this tick.
    ///
    /// # Errors
    /// [`PushError::Stale`] if the arena has begun another tick since.
    #[inline]
    pub fn get(&self, update: UpdateRef) -> Result<EncodedUpdate<'_>, PushError> {
        if update.generation != self.generation {
            return Err(PushError::Stale);
        }
        let range = update.start as usize..update.end as usize;
        self.bytes.get(range).map(EncodedUpdate).ok_or(PushError::Stale)
    }
}

fn put_update(
    out: &mut Vec<u8>,
    entity: EntityId,
    fields: &ViewFields<PropSlice<'_>>,
) -> Result<(), PushError> {
    let bit = |present: bool, bit: u8| if present { bit } else { 0 };
    let mask = bit(fields.version.is_some(), VERSION)
        | bit(fields.position.is_some(), POSITION)
        | bit(fields.heading.is_some(), HEADING)
        | bit(!fields.props.is_empty(), PROPS);
    if mask == 0 {
        return Err(PushError::Empty);
    }
    put_head(out, OP_UPDATE | mask | bit(fields.speculative, SPECULATIVE), entity)?;
    if let Some(version) = fields.version {
        put_version(out, version);
    }
    if let Some([x, y]) = fields.position {
        Pose::from_quanta(x, y, 0).ok_or(PushError::OutOfWorld)?;
        put_position(out, [x, y]);
    }
    if let Some(heading) = fields.heading {
        out.push(heading);
    }
    prop::put_list(out, fields.props)
}

/// Appends the head of any record.
#[inline]
pub(super) fn put_head(out: &mut Vec<u8>, head: u8, entity: EntityId) -> Result<(), PushError> {
    if !is_entity(entity.0) {
        return Err(PushError::Entity(entity.0));
    }
    out.push(head);
    varint::put(out, entity.0);
    Ok(())
}

/// Appends a version.
#[inline]
pub(super) fn put_version(out: &mut Vec<u8>, version: Version) {
    varint::put(out, version.epoch.0.rotate_right(EPOCH_ROTATION));
    varint::put(out, version.seq.0);
}

/// Appends a position in quanta.
#[inline]
pub(super) fn put_position(out: &mut Vec<u8>, [x, y]: [i32; 2]) {
    varint::put(out, varint::zigzag(i64::from(x)));
    varint::put(out, varint::zigzag(i64::from(y)));
}
