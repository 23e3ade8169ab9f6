//! The receiving side of ghost deltas: bytes from a peer that may be old, broken or wrong.

use super::{
    FIELDS, GAP_LONG, GAP_SHIFT, HEADING, MOVE_LONG, MOVE_MASK, MOVE_NONE, MOVE_SHORT, PROPS, WALK,
    is_short,
};
use crate::block::{BlockCursor, FORMAT_DELTA};
use crate::prop::{self, Props};
use crate::varint;
use crate::{CodecError, PoseChange};
use marchland_common::order::Tick;

/// One received delta; its properties are read from the block's bytes on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// Which ghost of this direction. Any number may stand here, also one that names no ghost.
    pub index: u32,
    /// The change of position and heading; [`Pose::apply`](crate::Pose::apply) takes it.
    pub pose: PoseChange,
    /// The changed properties.
    pub props: Props<'a>,
}

/// Iterates over the records of one block. The first error is the last item.
///
/// Records in front of an error were yielded already: a receiver that must not apply half a block
/// calls [`check`](Self::check) first.
#[derive(Clone, Debug)]
pub struct DeltaReader<'a> {
    cursor: BlockCursor<'a>,
    next: u64,
}

impl<'a> DeltaReader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The bytes are too long, end in the header, are of another format, or count too many records.
    pub fn new(bytes: &'a [u8]) -> Result<Self, CodecError> {
        Ok(Self { cursor: BlockCursor::new(bytes, FORMAT_DELTA)?, next: 0 })
    }

    /// The tick in which the changes happened, by the owner's count.
    #[must_use]
    pub const fn tick(&self) -> Tick {
        self.cursor.tick
    }

    /// Records that are still due.
    #[must_use]
    pub const fn due(&self) -> u32 {
        self.cursor.due
    }

    /// Reads to the end without consuming anything.
    ///
    /// # Errors
    /// The error that iterating would end with.
    pub fn check(&self) -> Result<(), CodecError> {
        self.clone().try_for_each(|record| record.map(drop))
    }
}

impl<'a> Iterator for DeltaReader<'a> {
    type Item = Result<Delta<'a>, CodecError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let next = &mut self.next;
        self.cursor.next_record(|input| {
            let delta = take_record(input, *next)?;
            *next = u64::from(delta.index) + 1;
            Ok(delta)
        })
    }
}

#[inline]
fn take_record<'a>(input: &mut &'a [u8], next: u64) -> Result<Delta<'a>, CodecError> {
    // Nine of ten records are of neighbours that walk: three bytes, read after one look.
    if let [head, both, heading, rest @ ..] = *input
        && head & FIELDS == WALK
        && head >> GAP_SHIFT != GAP_LONG
    {
        *input = rest;
        let index = index_after(next, u64::from(head >> GAP_SHIFT))?;
        let pose = PoseChange { moved: Some(short_movement(*both)), heading: Some(*heading) };
        return Ok(Delta { index, pose, props: Props::EMPTY });
    }
    take_any_record(input, next)
}

fn take_any_record<'a>(input: &mut &'a [u8], next: u64) -> Result<Delta<'a>, CodecError> {
    let head = varint::take_byte(input)?;
    if head & FIELDS == 0 {
        return Err(CodecError::Empty);
    }
    let mut gap = u64::from(head >> GAP_SHIFT);
    if gap == u64::from(GAP_LONG) {
        gap += u64::from(varint::take_u32(input)?);
    }
    let index = index_after(next, gap)?;
    let moved = take_movement(input, head & MOVE_MASK)?;
    let heading = if head & HEADING == 0 { None } else { Some(varint::take_byte(input)?) };
    let props = prop::take_optional(input, head & PROPS != 0)?;
    Ok(Delta { index, pose: PoseChange { moved, heading }, props })
}

#[inline]
fn index_after(next: u64, gap: u64) -> Result<u32, CodecError> {
    u32::try_from(next + gap).map_err(|_| CodecError::IndexRange)
}

/// Two signed halves of a byte, the low one first.
#[inline]
fn short_movement(both: u8) -> [i32; 2] {
    let both = both as i8;
    [i32::from((both << 4) >> 4), i32::from(both >> 4)]
}

fn take_movement(input: &mut &[u8], form: u8) -> Result<Option<[i32; 2]>, CodecError> {
    match form {
        MOVE_NONE => Ok(None),
        MOVE_SHORT => Ok(Some(short_movement(varint::take_byte(input)?))),
        MOVE_LONG => {
            let moved = [varint::take_i32(input)?, varint::take_i32(input)?];
            if is_short(moved) { Err(CodecError::NotCanonical) } else { Ok(Some(moved)) }
        }
        unknown => Err(CodecError::UnknownBits(u16::from(unknown))),
    }
}
