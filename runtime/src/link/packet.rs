//! The content of a frame as a link's machine keeps it: encoded, so that keeping it, counting it
//! and sending it again are cheap.

use bytes::Bytes;
use marchland_common::link::Payload;
use marchland_common::order::Tick;

/// One frame's content.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// An encoded bundle or a part of one; on the bulk channel an encoded chunk.
    pub body: Bytes,
    /// Whether the bundle goes on in the next frame.
    pub more: bool,
    /// Outgoing: the bundle's tick.
    pub tick: Tick,
    /// Incoming: how far the sender's cluster time was into that tick when the frame left.
    pub phase_us: i32,
    /// Incoming: the monotonic nanosecond of its arrival.
    pub arrived_ns: u64,
}

impl Packet {
    pub(super) const fn outgoing(body: Bytes, more: bool, tick: Tick) -> Self {
        Self { body, more, tick, phase_us: 0, arrived_ns: 0 }
    }
}

impl Payload for Packet {
    fn cost(&self) -> usize {
        self.body.len()
    }
}

/// Cuts an encoded bundle into the bodies of frames; the flag says whether another follows.
pub(super) fn split(mut bundle: Bytes, frame_bytes: usize) -> Vec<(Bytes, bool)> {
    let mut parts = Vec::with_capacity(bundle.len() / frame_bytes.max(1) + 1);
    while bundle.len() > frame_bytes {
        parts.push((bundle.split_to(frame_bytes), true));
    }
    parts.push((bundle, false));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_bundle_make_the_bundle_and_only_the_last_ends_it() {
        let whole = Bytes::from((0..=255).collect::<Vec<u8>>());
        for frame_bytes in [1, 7, 128, 255, 256, 1_000] {
            let parts = split(whole.clone(), frame_bytes);
            assert!(parts.iter().all(|(part, _)| part.len() <= frame_bytes));
            let ends: Vec<bool> = parts.iter().map(|(_, more)| *more).collect();
            assert_eq!(ends.iter().filter(|more| !**more).count(), 1);
            assert_eq!(ends.last(), Some(&false));
            assert_eq!(parts.iter().flat_map(|(part, _)| part.to_vec()).collect::<Vec<_>>(), whole);
        }
    }
}
