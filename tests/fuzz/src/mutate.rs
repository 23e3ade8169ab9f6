//! Damage: what happens to bytes on the way, in memory, or in the hands of somebody who means it.

use marchland_common::rng::Rng;

/// A varint at an edge, where a length, a count or a number does harm.
#[must_use]
pub fn token(rng: &mut Rng) -> Vec<u8> {
    let shift = rng.below(64);
    let number = match rng.below(6) {
        0 => u64::MAX,
        1 => u64::MAX - rng.below(3),
        2 => 1 << shift,
        3 => (1 << shift) - 1,
        4 => u64::from(u32::MAX) + rng.below(2),
        _ => rng.next_u64() >> shift,
    };
    varint(number)
}

/// A number as protobuf and postcard write it.
pub(crate) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A place in the bytes; 0 in none.
fn place(rng: &mut Rng, bytes: &[u8]) -> usize {
    rng.below(bytes.len() as u64 + 1) as usize
}

/// A stretch of the bytes, mostly short.
fn stretch(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let start = place(rng, bytes);
    let most = if rng.chance(1, 4) { bytes.len() } else { 9 };
    start..bytes.len().min(start + rng.below(most as u64 + 1) as usize)
}

/// Damages bytes in up to four places; `other` is where foreign parts come from.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=rng.below(4) {
        damage(rng, bytes, other);
    }
}

/// A damaged copy.
#[must_use]
pub fn damaged(rng: &mut Rng, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    mutate(rng, &mut bytes, other);
    bytes
}

/// One of them. Panics if there is none.
pub fn pick<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

fn damage(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = place(rng, bytes);
    let range = stretch(rng, bytes);
    match rng.below(9) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize];
            }
        }
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(range)),
        5 => {
            let again = bytes[range].to_vec();
            drop(bytes.splice(at..at, again));
        }
        6 => {
            let foreign = other[stretch(rng, other)].to_vec();
            drop(bytes.splice(range, foreign));
        }
        7 => {
            let token = token(rng);
            let end = bytes.len().min(at + if rng.chance(1, 2) { 1 } else { token.len() });
            drop(bytes.splice(at..end, token));
        }
        _ => {
            let noise: Vec<u8> = (0..rng.below(9)).map(|_| rng.next_u64() as u8).collect();
            drop(bytes.splice(at..at, noise));
        }
    }
}
