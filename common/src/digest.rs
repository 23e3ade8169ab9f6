//! One digest for everything that is compared: XXH3 over the value's compact encoding.
//!
//! It finds divergence, it does not resist an attacker; peers of a cluster are trusted.

use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

/// Feeds an encoder's output into the hash without a buffer.
struct HashSink(Xxh3);

impl postcard::ser_flavors::Flavor for HashSink {
    type Output = u64;

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.update(&[data]);
        Ok(())
    }

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.update(data);
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
    postcard::serialize_with_flavor(value, HashSink(Xxh3::new()))
        .expect("derived serializers of plain values do not fail")
}

/// The digest of raw bytes.
#[must_use]
pub fn digest_bytes(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}
