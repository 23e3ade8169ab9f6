//! The receiving side of a witness's view.

use super::{
    EPOCH_ROTATION, FieldsRead, FullView, HEADING, OP_ENTER, OP_LEAVE, OP_MASK, OP_RESET,
    OP_UPDATE, POSITION, PROPS, SPECULATIVE, VERSION, Version, is_entity,
};
use crate::block::{BlockCursor, FORMAT_VIEW};
use crate::prop::{self, Props};
use crate::varint;
use crate::{CodecError, Pose};
use marchland_common::order::{EntityId, Epoch, KindId, Seq, Tick};

/// One received operation; properties are read from the block's bytes on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewOp<'a> {
    /// An entity comes into view.
    Enter {
        /// Which entity.
        entity: EntityId,
        /// Its kind, which says what its slots mean.
        kind: KindId,
        /// All that is visible of it.
        full: FullView<Props<'a>>,
    },
    /// An entity in view changed.
    Update {
        /// Which entity.
        entity: EntityId,
        /// What changed.
        fields: FieldsRead<'a>,
    },
    /// An entity in view was restored: everything shown of it is replaced.
    Reset {
        /// Which entity.
        entity: EntityId,
        /// All that is visible of it, under a higher epoch.
        full: FullView<Props<'a>>,
    },
    /// An entity leaves the view.
    Leave {
        /// Which entity.
        entity: EntityId,
    },
}

/// Iterates over the operations of one block. The first error is the last item.
#[derive(Clone, Debug)]
pub struct ViewReader<'a> {
    cursor: BlockCursor<'a>,
}

impl<'a> ViewReader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The bytes are too long, end in the header, are of another format, or count too many records.
    pub fn new(bytes: &'a [u8]) -> Result<Self, CodecError> {
        Ok(Self { cursor: BlockCursor::new(bytes, FORMAT_VIEW)? })
    }

    /// The tick that is shown, by the cell's count.
    #[must_use]
    pub const fn tick(&self) -> Tick {
        self.cursor.tick
    }

    /// Operations that are still due.
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

impl<'a> Iterator for ViewReader<'a> {
    type Item = Result<ViewOp<'a>, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.next_record(take_op)
    }
}

fn take_op<'a>(input: &mut &'a [u8]) -> Result<ViewOp<'a>, CodecError> {
    let head = varint::take_byte(input)?;
    let (op, mask) = (head & OP_MASK, head & !OP_MASK);
    let known = match op {
        OP_LEAVE => 0,
        OP_UPDATE => POSITION | HEADING | PROPS | VERSION | SPECULATIVE,
        _ => PROPS | SPECULATIVE,
    };
    if mask & !known != 0 {
        return Err(CodecError::UnknownBits(u16::from(mask & !known)));
    }
    let entity = take_entity(input)?;
    Ok(match op {
        OP_ENTER => {
            let kind = u16::try_from(varint::take(input)?).map_err(|_| CodecError::IntegerRange)?;
            ViewOp::Enter { entity, kind: KindId(kind), full: take_full(input, mask)? }
        }
        OP_UPDATE => ViewOp::Update { entity, fields: take_fields(input, mask)? },
        OP_RESET => ViewOp::Reset { entity, full: take_full(input, mask)? },
        _ => ViewOp::Leave { entity },
    })
}

fn take_entity(input: &mut &[u8]) -> Result<EntityId, CodecError> {
    let id = varint::take(input)?;
    if is_entity(id) { Ok(EntityId(id)) } else { Err(CodecError::Entity(id)) }
}

fn take_full<'a>(input: &mut &'a [u8], mask: u8) -> Result<FullView<Props<'a>>, CodecError> {
    let version = take_version(input)?;
    let [x, y] = take_position(input)?;
    let heading = varint::take_byte(input)?;
    let pose = Pose::from_quanta(x, y, heading).ok_or(CodecError::OutOfWorld)?;
    let props = prop::take_optional(input, mask & PROPS != 0)?;
    Ok(FullView { version, pose, speculative: mask & SPECULATIVE != 0, props })
}

fn take_fields<'a>(input: &mut &'a [u8], mask: u8) -> Result<FieldsRead<'a>, CodecError> {
    if mask & !SPECULATIVE == 0 {
        return Err(CodecError::Empty);
    }
    let version = if mask & VERSION == 0 { None } else { Some(take_version(input)?) };
    let position = if mask & POSITION == 0 { None } else { Some(take_position(input)?) };
    let heading = if mask & HEADING == 0 { None } else { Some(varint::take_byte(input)?) };
    let props = prop::take_optional(input, mask & PROPS != 0)?;
    let speculative = mask & SPECULATIVE != 0;
    Ok(FieldsRead { version, position, heading, speculative, props })
}

fn take_version(input: &mut &[u8]) -> Result<Version, CodecError> {
    let epoch = Epoch(varint::take(input)?.rotate_left(EPOCH_ROTATION));
    Ok(Version { epoch, seq: Seq(varint::take(input)?) })
}

fn take_position(input: &mut &[u8]) -> Result<[i32; 2], CodecError> {
    let position = [varint::take_i32(input)?, varint::take_i32(input)?];
    let [x, y] = position;
    Pose::from_quanta(x, y, 0).map(|_| position).ok_or(CodecError::OutOfWorld)
}
