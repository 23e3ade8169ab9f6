//! Declared properties of an entity, as they travel: a slot and an absolute value.
//!
//! ```text
//! property = tag varint (slot << 2 | bytes? << 1 | more?), then
//!            integer: zig-zag varint   |   byte string: length varint, bytes
//! ```
//! Values are absolute: a difference would save a byte on few records and make one lost property
//! wrong for ever. Invariants: a list on the wire is never empty and its slots ascend strictly.

use crate::varint;
use crate::{CodecError, PushError};
use marchland_common::world::Value;

/// Longest byte string of one property: the limit of an entity's whole state, 64 KiB.
pub const BYTES_PROP_MAX: usize = 64 << 10;

const MORE: u32 = 1;
const BYTES: u32 = 2;
const SLOT_SHIFT: u32 = 2;

/// One property and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prop<'a> {
    /// Which property of the entity's kind.
    pub slot: u8,
    /// Its value.
    pub value: PropValue<'a>,
}

impl<'a> Prop<'a> {
    /// An integer property.
    #[inline]
    #[must_use]
    pub const fn int(slot: u8, value: i64) -> Self {
        Self { slot, value: PropValue::Int(value) }
    }

    /// A byte-string property.
    #[inline]
    #[must_use]
    pub const fn bytes(slot: u8, value: &'a [u8]) -> Self {
        Self { slot, value: PropValue::Bytes(value) }
    }
}

/// The value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropValue<'a> {
    /// A number.
    Int(i64),
    /// Text or structure that the codec does not look into; at most [`BYTES_PROP_MAX`] long.
    Bytes(&'a [u8]),
}

impl<'a> From<&'a Value> for PropValue<'a> {
    #[inline]
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Int(value) => Self::Int(*value),
            Value::Bytes(value) => Self::Bytes(value),
        }
    }
}

impl From<PropValue<'_>> for Value {
    fn from(value: PropValue<'_>) -> Self {
        match value {
            PropValue::Int(value) => Self::Int(value),
            PropValue::Bytes(value) => Self::Bytes(value.to_vec()),
        }
    }
}

/// Appends a list, which may be empty; on an error the caller cuts `out` back.
pub(crate) fn put_list(out: &mut Vec<u8>, props: &[Prop<'_>]) -> Result<(), PushError> {
    let mut rest = props;
    let mut last = None;
    while let Some((prop, tail)) = rest.split_first() {
        if last.is_some_and(|last| prop.slot <= last) {
            return Err(PushError::SlotOrder(prop.slot));
        }
        last = Some(prop.slot);
        rest = tail;
        let more = if rest.is_empty() { 0 } else { MORE };
        let tag = (u32::from(prop.slot) << SLOT_SHIFT) | more;
        match prop.value {
            PropValue::Int(value) => {
                varint::put(out, u64::from(tag));
                varint::put(out, varint::zigzag(value));
            }
            PropValue::Bytes(value) if value.len() > BYTES_PROP_MAX => {
                return Err(PushError::PropLength(value.len()));
            }
            PropValue::Bytes(value) => {
                varint::put(out, u64::from(tag | BYTES));
                varint::put(out, value.len() as u64);
                out.extend_from_slice(value);
            }
        }
    }
    Ok(())
}

/// Takes one property and whether another follows.
fn take_prop<'a>(input: &mut &'a [u8]) -> Result<(Prop<'a>, bool), CodecError> {
    let tag = varint::take_u32(input)?;
    let slot = u8::try_from(tag >> SLOT_SHIFT).map_err(|_| {
        CodecError::UnknownBits(u16::try_from(tag >> SLOT_SHIFT).unwrap_or(u16::MAX))
    })?;
    let value = if tag & BYTES == 0 {
        PropValue::Int(varint::unzigzag(varint::take(input)?))
    } else {
        let length = varint::take(input)?;
        if length > BYTES_PROP_MAX as u64 {
            return Err(CodecError::PropLength(length));
        }
        let (value, rest) = input.split_at_checked(length as usize).ok_or(CodecError::Truncated)?;
        *input = rest;
        PropValue::Bytes(value)
    };
    Ok((Prop { slot, value }, tag & MORE != 0))
}

/// Walks over one list, checks it whole, and returns it and what follows it. The input goes by
/// value, so that the caller's cursor can stay in a register.
#[inline(never)]
fn take_list(input: &[u8]) -> Result<(Props<'_>, &[u8]), CodecError> {
    let mut rest = input;
    let (mut prop, mut more) = take_prop(&mut rest)?;
    while more {
        let last = prop.slot;
        (prop, more) = take_prop(&mut rest)?;
        if prop.slot <= last {
            return Err(CodecError::SlotOrder(prop.slot));
        }
    }
    Ok((Props { bytes: &input[..input.len() - rest.len()] }, rest))
}

/// Takes a list if `present`.
#[inline]
pub(crate) fn take_optional<'a>(
    input: &mut &'a [u8],
    present: bool,
) -> Result<Props<'a>, CodecError> {
    if !present {
        return Ok(Props::EMPTY);
    }
    let (props, rest) = take_list(input)?;
    *input = rest;
    Ok(props)
}

/// The properties of a received record, read on demand from the block's bytes. They were checked
/// when the record was read, so that iteration ends only at the end of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Props<'a> {
    bytes: &'a [u8],
}

impl Props<'_> {
    /// A list without a property.
    pub const EMPTY: Self = Self { bytes: &[] };

    /// Whether no property changed.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl<'a> Iterator for Props<'a> {
    type Item = Prop<'a>;

    #[inline]
    fn next(&mut self) -> Option<Prop<'a>> {
        if self.bytes.is_empty() {
            return None;
        }
        take_prop(&mut self.bytes).ok().map(|(prop, _)| prop)
    }
}
