//! The packed bytes inside a bundle: ghost deltas between cells, and what a client's witness sees.
//!
//! Protobuf is the envelope; what repeats per entity and tick is packed here, because nested
//! messages cost several times the bytes and instructions (`examples/codec_cost` compares both).
//!
//! - [`DeltaWriter`] and [`DeltaReader`]: one block per (owner, host) direction and tick. A record
//!   names its ghost by a dense index and carries *differences* of the quantised position.
//! - [`ViewWriter`] and [`ViewReader`]: one block per witness and tick. An update carries absolute
//!   values, so that it is encoded once per entity and tick and copied to all who see it.
//! - [`ghost_digest`]: what a real and its ghosts compare, over the quantised state.
//!
//! Invariants: a reader takes any bytes, never panics, never allocates, and yields at most the
//! records that the header counts; every accepted record has exactly one spelling, so that equal
//! blocks are equal bytes; encoding allocates nothing per entity once a buffer has grown.

mod block;
mod delta;
mod digest;
mod error;
mod pose;
mod prop;
mod varint;
mod view;

pub use block::{BLOCK_BYTES_MAX, HEADER_BYTES_MAX, RECORDS_MAX};
pub use delta::{Delta, DeltaFields, DeltaReader, DeltaWriter};
pub use digest::ghost_digest;
pub use error::{CodecError, PushError};
pub use pose::{
    POSITION_QUANTA_MAX, Pose, PoseChange, QUANTUM_MM, dequantise, dequantise_heading, quantise,
    quantise_heading,
};
pub use prop::{BYTES_PROP_MAX, Prop, PropValue, Props};
pub use view::{
    EncodedUpdate, FullView, UpdateArena, UpdateRef, Version, ViewFields, ViewOp, ViewReader,
    ViewWriter, encode_update,
};
