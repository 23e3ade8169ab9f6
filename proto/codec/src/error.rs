//! Why bytes are not a block, and why a record does not fit into one: a closed set of reasons, so
//! that each can be a counter.

/// Why a reader refuses bytes. The reader stops for good at the first one; the connection that
/// brought them should be closed, because both ends have lost the common state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end inside a header or a record.
    #[error("the block ends inside a record")]
    Truncated,
    /// The first byte names another kind of block, or a later format.
    #[error("block format {0:#04x} is not the expected one")]
    Format(u8),
    /// The header counts more records than a block may hold.
    #[error("{0} records in one block")]
    TooMany(u32),
    /// The block is longer than a block may be.
    #[error("a block of {0} bytes")]
    TooLong(usize),
    /// Bytes follow the last counted record.
    #[error("{0} bytes follow the last record")]
    Trailing(usize),
    /// A mask or tag has a bit that this version does not know.
    #[error("unknown bits {0:#x} in a mask or tag")]
    UnknownBits(u16),
    /// A variable-length integer has more bits than its field.
    #[error("an integer does not fit its field")]
    IntegerRange,
    /// A value is spelled in a longer way than needed.
    #[error("a value is not in its shortest form")]
    NotCanonical,
    /// Ghost indices run past the largest index.
    #[error("a ghost index beyond the largest")]
    IndexRange,
    /// A record that changes nothing.
    #[error("a record without a field")]
    Empty,
    /// The property slots of a record do not ascend.
    #[error("property slot {0} out of order")]
    SlotOrder(u8),
    /// A byte string is longer than a property may be.
    #[error("a property of {0} bytes")]
    PropLength(u64),
    /// A position lies outside the representable world.
    #[error("a position outside the world")]
    OutOfWorld,
    /// A number that cannot be an entity id.
    #[error("{0} is not an entity id")]
    Entity(u64),
}

impl CodecError {
    /// A short name for the counter of this reason.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Format(_) => "format",
            Self::TooMany(_) => "too_many",
            Self::TooLong(_) => "too_long",
            Self::Trailing(_) => "trailing",
            Self::UnknownBits(_) => "unknown_bits",
            Self::IntegerRange => "integer_range",
            Self::NotCanonical => "not_canonical",
            Self::IndexRange => "index_range",
            Self::Empty => "empty",
            Self::SlotOrder(_) => "slot_order",
            Self::PropLength(_) => "prop_length",
            Self::OutOfWorld => "out_of_world",
            Self::Entity(_) => "entity",
        }
    }
}

/// Why a writer does not take a record. The block stays as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// The ghost index is not larger than that of the record before.
    #[error("ghost index {index} after {last}")]
    IndexOrder {
        /// The index of the refused record.
        index: u32,
        /// The index of the record before it.
        last: u32,
    },
    /// The record would change nothing.
    #[error("a record without a field")]
    Empty,
    /// The property slots of the record do not ascend.
    #[error("property slot {0} out of order")]
    SlotOrder(u8),
    /// A byte string is longer than a property may be.
    #[error("a property of {0} bytes")]
    PropLength(usize),
    /// A number that cannot be an entity id.
    #[error("{0} is not an entity id")]
    Entity(u64),
    /// A position outside the representable world.
    #[error("a position outside the world")]
    OutOfWorld,
    /// The block is full: finish it and begin another one.
    #[error("the block is full")]
    Full,
    /// The record alone is longer than a block may be.
    #[error("a record of {0} bytes")]
    TooLong(usize),
    /// The encoded update belongs to a tick that is over.
    #[error("an update of an earlier tick")]
    Stale,
}
