//! The digest that a real and its ghosts must agree on at the same (epoch, sequence).
//!
//! It covers the *quantised* pose, because that is all a ghost ever learns, and every ghosted
//! property. The layout below is fixed: changing it is a change of the protocol.

use crate::Pose;
use crate::prop::{Prop, PropValue};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Digest of a ghost's state: xxh3-64 over x and y (i32, little-endian), the heading, then per
/// property slot, kind (0 integer, 1 bytes) and the value (i64, or u32 length and the bytes).
///
/// `props` are all ghosted properties by ascending slot, the same set at both ends.
pub fn ghost_digest<'a>(pose: Pose, props: impl IntoIterator<Item = Prop<'a>>) -> u64 {
    let mut input = Input::new();
    input.put(&pose.x().to_le_bytes());
    input.put(&pose.y().to_le_bytes());
    input.put(&[pose.heading()]);
    for prop in props {
        match prop.value {
            PropValue::Int(value) => {
                input.put(&[prop.slot, 0]);
                input.put(&value.to_le_bytes());
            }
            PropValue::Bytes(value) => {
                input.put(&[prop.slot, 1]);
                input.put(&(value.len() as u64).to_le_bytes()[..4]);
                input.put(value);
            }
        }
    }
    input.digest()
}

/// Gathers a small state on the stack, where one call over it is far cheaper than a streaming
/// hasher; a large state spills into one. Both give the same digest.
struct Input {
    bytes: [u8; 128],
    len: usize,
    spilled: Option<Xxh3>,
}

impl Input {
    fn new() -> Self {
        Self { bytes: [0; 128], len: 0, spilled: None }
    }

    #[inline]
    fn put(&mut self, part: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + part.len()) {
            room.copy_from_slice(part);
            self.len += part.len();
        } else {
            self.spill(part);
        }
    }

    #[cold]
    fn spill(&mut self, part: &[u8]) {
        let hasher = self.spilled.get_or_insert_with(Xxh3::new);
        hasher.update(&self.bytes[..self.len]);
        hasher.update(part);
        self.len = 0;
    }

    fn digest(mut self) -> u64 {
        let gathered = &self.bytes[..self.len];
        match &mut self.spilled {
            None => xxh3_64(gathered),
            Some(hasher) => {
                hasher.update(gathered);
                hasher.digest()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The layout as written above, spelled without any buffer.
    fn reference(pose: Pose, props: &[Prop<'_>]) -> u64 {
        let mut bytes = Vec::new();
        bytes.extend(pose.x().to_le_bytes());
        bytes.extend(pose.y().to_le_bytes());
        bytes.push(pose.heading());
        for prop in props {
            bytes.push(prop.slot);
            match prop.value {
                PropValue::Int(value) => {
                    bytes.push(0);
                    bytes.extend(value.to_le_bytes());
                }
                PropValue::Bytes(value) => {
                    bytes.push(1);
                    bytes.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
                    bytes.extend(value);
                }
            }
        }
        xxh3_64(&bytes)
    }

    #[test]
    fn the_digest_of_a_known_state_never_changes() {
        let props = [Prop::int(0, 100), Prop::bytes(3, b"wolf")];
        let digest = ghost_digest(Pose::of_world(1_000, -2_000, 0x4000), props);
        assert_eq!(digest, 3_221_274_325_546_759_458);
    }

    proptest! {
        #[test]
        fn a_state_of_any_size_has_the_digest_of_its_layout(
            at: (i32, i32, u16),
            values in vec(vec(any::<u8>(), 0..200), 0..8),
            numbers in vec(any::<i64>(), 0..20),
        ) {
            let pose = Pose::of_world(at.0, at.1, at.2);
            let ints = (0_u8..).zip(&numbers).map(|(slot, n)| Prop::int(slot, *n));
            let texts = (100_u8..).zip(&values).map(|(slot, v)| Prop::bytes(slot, v));
            let props: Vec<_> = ints.chain(texts).collect();
            prop_assert_eq!(
                ghost_digest(pose, props.iter().copied()),
                reference(pose, &props)
            );
        }
    }
}
