//! Little-endian base-128 integers, and the zig-zag map that keeps small negatives short.
//!
//! Only the shortest spelling of a number is accepted, so that equal values are equal bytes.

use crate::CodecError;

/// Appends `value` in 1 to 10 bytes.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one byte off the front of `input`.
#[inline]
pub(crate) fn take_byte(input: &mut &[u8]) -> Result<u8, CodecError> {
    let Some((&first, rest)) = input.split_first() else { return Err(CodecError::Truncated) };
    *input = rest;
    Ok(first)
}

/// Takes one integer off the front of `input`.
#[inline]
pub(crate) fn take(input: &mut &[u8]) -> Result<u64, CodecError> {
    match input.split_first() {
        Some((&first, rest)) if first < 0x80 => {
            *input = rest;
            Ok(u64::from(first))
        }
        _ => {
            let (value, rest) = take_long(input)?;
            *input = rest;
            Ok(value)
        }
    }
}

/// The input goes by value, so that the caller's cursor can stay in a register.
#[inline(never)]
fn take_long(mut input: &[u8]) -> Result<(u64, &[u8]), CodecError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(&mut input)?;
        if shift == 63 && byte > 1 {
            return Err(CodecError::IntegerRange);
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let longer_than_needed = byte == 0 && shift > 0;
            return if longer_than_needed {
                Err(CodecError::NotCanonical)
            } else {
                Ok((value, input))
            };
        }
    }
    // The tenth byte either ended the number or was out of range.
    Err(CodecError::IntegerRange)
}

/// Takes one integer of at most 32 bits.
#[inline]
pub(crate) fn take_u32(input: &mut &[u8]) -> Result<u32, CodecError> {
    u32::try_from(take(input)?).map_err(|_| CodecError::IntegerRange)
}

/// Maps 0, -1, 1, -2 … to 0, 1, 2, 3 …
#[inline]
pub(crate) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// Takes one signed integer of at most 32 bits.
#[inline]
pub(crate) fn take_i32(input: &mut &[u8]) -> Result<i32, CodecError> {
    i32::try_from(unzigzag(take(input)?)).map_err(|_| CodecError::IntegerRange)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn numbers_at_the_edges_of_a_length_read_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            let mut input = &out[..];
            assert_eq!(take(&mut input), Ok(value));
            assert!(input.is_empty());
        }
    }

    #[test]
    fn overlong_and_overflowing_numbers_are_refused_by_their_reason() {
        assert_eq!(take(&mut &[0x80, 0x00][..]), Err(CodecError::NotCanonical));
        assert_eq!(take(&mut &[0x80][..]), Err(CodecError::Truncated));
        let mut eleven_bytes = [0xff_u8; 11];
        eleven_bytes[10] = 0x01;
        assert_eq!(take(&mut &eleven_bytes[..]), Err(CodecError::IntegerRange));
        let mut two_to_the_64 = [0x80_u8; 10];
        two_to_the_64[9] = 0x02;
        assert_eq!(take(&mut &two_to_the_64[..]), Err(CodecError::IntegerRange));
        assert_eq!(
            take_u32(&mut &[0x80, 0x80, 0x80, 0x80, 0x10][..]),
            Err(CodecError::IntegerRange)
        );
    }

    proptest! {
        #[test]
        fn every_signed_number_reads_back_and_leaves_the_rest(value: i64, rest: Vec<u8>) {
            let mut out = Vec::new();
            put(&mut out, zigzag(value));
            out.extend_from_slice(&rest);
            let mut input = &out[..];
            prop_assert_eq!(unzigzag(take(&mut input).unwrap()), value);
            prop_assert_eq!(input, &rest[..]);
        }

        #[test]
        fn what_is_accepted_has_one_spelling(bytes in vec(any::<u8>(), 0..12)) {
            let mut input = &bytes[..];
            if let Ok(value) = take(&mut input) {
                let mut again = Vec::new();
                put(&mut again, value);
                prop_assert_eq!(&bytes[..bytes.len() - input.len()], &again[..]);
            }
        }
    }
}
