//! The comparison: the same fields as nested protobuf messages, as one would declare them.
//!
//! It gets every advantage that the packed codec has: quantised differences, reused messages and
//! buffers on both sides. Only the framing differs.

use crate::workload::{Ghosts, Tick};
use marchland_codec_core::PoseChange;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct Block {
    #[prost(uint64, tag = "1")]
    tick: u64,
    #[prost(message, repeated, tag = "2")]
    deltas: Vec<GhostDelta>,
}

#[derive(Clone, PartialEq, Message)]
struct GhostDelta {
    #[prost(uint32, tag = "1")]
    index: u32,
    #[prost(sint32, optional, tag = "2")]
    dx: Option<i32>,
    #[prost(sint32, optional, tag = "3")]
    dy: Option<i32>,
    #[prost(uint32, optional, tag = "4")]
    heading: Option<u32>,
    #[prost(message, repeated, tag = "5")]
    props: Vec<IntProp>,
}

#[derive(Clone, PartialEq, Message)]
struct IntProp {
    #[prost(uint32, tag = "1")]
    slot: u32,
    #[prost(sint64, tag = "2")]
    value: i64,
}

/// Builds and encodes messages into one reused buffer.
#[derive(Default)]
pub struct Writer {
    block: Block,
    bytes: Vec<u8>,
}

impl Writer {
    /// Encodes one tick.
    pub fn encode(&mut self, tick: &Tick) -> &[u8] {
        self.block.tick = 1_000_000;
        self.block.deltas.clear();
        self.block.deltas.extend(tick.iter().map(|sample| GhostDelta {
            index: sample.index,
            dx: sample.pose.moved.map(|[dx, _]| dx),
            dy: sample.pose.moved.map(|[_, dy]| dy),
            heading: sample.pose.heading.map(u32::from),
            props: sample.hp.map(|value| IntProp { slot: 2, value }).into_iter().collect(),
        }));
        self.bytes.clear();
        self.block.encode(&mut self.bytes).expect("a vector grows");
        &self.bytes
    }
}

/// Decodes into one reused message.
#[derive(Default)]
pub struct Reader {
    block: Block,
}

impl Reader {
    /// Applies one message and returns the sum that the packed side returns.
    pub fn apply(&mut self, block: &[u8], ghosts: &mut Ghosts) -> u64 {
        self.block.clear();
        self.block.merge(block).expect("our own message");
        let mut sum = 0;
        for delta in &self.block.deltas {
            let moved = match (delta.dx, delta.dy) {
                (None, None) => None,
                (dx, dy) => Some([dx.unwrap_or(0), dy.unwrap_or(0)]),
            };
            let pose = PoseChange { moved, heading: delta.heading.map(|h| h as u8) };
            let hp = delta.props.last().map(|prop| prop.value);
            sum += ghosts.apply(delta.index, pose, hp);
        }
        sum
    }
}
