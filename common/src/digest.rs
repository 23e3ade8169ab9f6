//! One digest for everything that is compared: XXH3 over the value's compact encoding.
//!
//! It finds divergence, it does not resist an attacker; peers of a cluster are trusted.

use serde::Serialize;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Encodings up to this length are hashed in one go, which is far cheaper than a streaming hasher
/// and its half kilobyte of state; it covers what is hashed per entity and tick.
const GATHERED_MAX: usize = 256;

/// Takes an encoder's output.
struct Input {
    gathered: [u8; GATHERED_MAX],
    len: usize,
    spilled: Option<Box<Xxh3>>,
}

impl Input {
    fn new() -> Self {
        Self { gathered: [0; GATHERED_MAX], len: 0, spilled: None }
    }

    fn put(&mut self, part: &[u8]) {
        if let Some(room) = self.gathered.get_mut(self.len..self.len + part.len()) {
            room.copy_from_slice(part);
            self.len += part.len();
        } else {
            self.spill(part);
        }
    }

    #[cold]
    fn spill(&mut self, part: &[u8]) {
        let hasher = self.spilled.get_or_insert_with(Box::default);
        hasher.update(&self.gathered[..self.len]);
        hasher.update(part);
        self.len = 0;
    }

    fn digest(&mut self) -> u64 {
        let gathered = &self.gathered[..self.len];
        match &mut self.spilled {
            None => xxh3_64(gathered),
            Some(hasher) => {
                hasher.update(gathered);
                hasher.digest()
            }
        }
    }
}

/// The input by reference: the encoder moves its sink about.
struct Sink<'a>(&'a mut Input);

impl postcard::ser_flavors::Flavor for Sink<'_> {
    type Output = u64;

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.put(&[data]);
        Ok(())
    }

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.put(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<u64> {
        Ok(self.0.digest())
    }
}

/// The digest of a value. The value's `Serialize` must not fail, which holds for every type
/// derived here.
#[must_use]
pub fn digest_of<T: Serialize + ?Sized>(value: &T) -> u64 {
    postcard::serialize_with_flavor(value, Sink(&mut Input::new()))
        .expect("derived serializers of plain values do not fail")
}

/// The digest of raw bytes.
#[must_use]
pub fn digest_bytes(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_digest_of_a_value_is_that_of_its_encoding(
            numbers in proptest::collection::vec(any::<u64>(), 0..200),
            texts in proptest::collection::vec(".{0,80}", 0..12),
        ) {
            let value = (numbers, texts);
            let encoded = postcard::to_stdvec(&value).expect("a plain value");
            prop_assert_eq!(digest_of(&value), digest_bytes(&encoded));
        }
    }
}
