//! Damage inside a message of protobuf that leaves the message around it well formed: lengths are
//! mended, so that what is damaged is reached.

use crate::mutate::{damaged, token, varint};
use marchland_common::rng::Rng;

/// Most messages in messages that are looked into.
const DEPTH_MAX: u32 = 5;

/// One field: its tag, and what follows it.
enum Field<'a> {
    Number(&'a [u8], &'a [u8]),
    Inside(&'a [u8], &'a [u8]),
}

fn take_varint<'a>(bytes: &mut &'a [u8]) -> Option<(&'a [u8], u64)> {
    let len = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let (head, rest) = bytes.split_at(len);
    *bytes = rest;
    let value = head.iter().rev().fold(0u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
    Some((head, value))
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(head)
}

/// The fields of a message; none if it is not one.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (tag, value) = take_varint(&mut bytes)?;
        fields.push(match value & 7 {
            0 => Field::Number(tag, take_varint(&mut bytes)?.0),
            1 => Field::Number(tag, take(&mut bytes, 8)?),
            5 => Field::Number(tag, take(&mut bytes, 4)?),
            2 => {
                let (_, len) = take_varint(&mut bytes)?;
                Field::Inside(tag, take(&mut bytes, usize::try_from(len).ok()?)?)
            }
            _ => return None,
        });
    }
    Some(fields)
}

fn put(field: &Field<'_>, out: &mut Vec<u8>) {
    match field {
        Field::Number(tag, value) => out.extend([*tag, *value].concat()),
        Field::Inside(tag, body) => {
            out.extend_from_slice(tag);
            out.extend(varint(body.len() as u64));
            out.extend_from_slice(body);
        }
    }
}

/// A message with one field damaged, doubled, left out or moved, at some depth. Bytes that are no
/// message are damaged as they are.
#[must_use]
pub fn mutate_fields(rng: &mut Rng, message: &[u8], other: &[u8]) -> Vec<u8> {
    change(rng, message, other, 0)
}

fn change(rng: &mut Rng, message: &[u8], other: &[u8], depth: u32) -> Vec<u8> {
    let known = fields(message).filter(|fields| !fields.is_empty() && depth < DEPTH_MAX);
    let Some(mut fields) = known else { return damaged(rng, message, other) };
    let at = rng.below(fields.len() as u64) as usize;
    let changed = match (rng.below(12), &fields[at]) {
        (0, _) => {
            fields.remove(at);
            None
        }
        (1, _) => {
            let to = rng.below(fields.len() as u64) as usize;
            fields.swap(at, to);
            None
        }
        (2, Field::Inside(tag, body)) => Some((*tag, [*body, *body].concat())),
        (3, Field::Inside(tag, body)) => Some((*tag, damaged(rng, body, other))),
        (_, Field::Inside(tag, body)) => Some((*tag, change(rng, body, other, depth + 1))),
        (_, Field::Number(tag, value)) => {
            // A number of fixed size keeps its size.
            let is_fixed = tag[0] & 7 != 0;
            let bytes = if is_fixed { flipped(rng, value) } else { token(rng) };
            let mut out = Vec::new();
            for (n, field) in fields.iter().enumerate() {
                match n == at {
                    true => out.extend([*tag, &bytes].concat()),
                    false => put(field, &mut out),
                }
            }
            return out;
        }
    };
    if let Some((tag, body)) = &changed {
        fields[at] = Field::Inside(tag, body);
    }
    let mut out = Vec::new();
    fields.iter().for_each(|field| put(field, &mut out));
    out
}

fn flipped(rng: &mut Rng, value: &[u8]) -> Vec<u8> {
    value.iter().map(|byte| byte ^ rng.next_u64() as u8).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_message_without_damage_is_written_as_it_was_read() {
        // n = 300, a message of two numbers, four fixed bytes.
        let message = [0x08, 0xac, 0x02, 0x12, 0x04, 0x08, 0x01, 0x10, 0x02, 0x1d, 1, 2, 3, 4];
        let mut out = Vec::new();
        fields(&message).unwrap().iter().for_each(|field| put(field, &mut out));
        assert_eq!(out, message);
        assert!(fields(&message[..5]).is_none());
    }

    #[test]
    fn damage_inside_leaves_the_message_around_it_well_formed() {
        let message = [0x12, 0x04, 0x08, 0x01, 0x10, 0x02];
        let mut changed = 0;
        for seed in 0..500 {
            let damaged = mutate_fields(&mut Rng(seed), &message, &message);
            assert!(fields(&damaged).is_some(), "{damaged:02x?}");
            changed += u32::from(damaged != message);
        }
        assert!(changed > 300, "only {changed} of 500 were damaged");
    }
}
