//! How often, and from which seed.

use marchland_common::digest::digest_bytes;
use marchland_common::rng::Rng;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Says which round it was when a test fails in it.
struct Told<'a> {
    name: &'a str,
    round: u64,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: again with MARCH_FUZZ_ROUND={}", self.name, self.round);
        }
    }
}

/// Runs so many rounds, each from its own seed. `MARCH_FUZZ_ROUNDS` multiplies them,
/// `MARCH_FUZZ_ROUND` runs that one alone.
pub fn each_round(name: &str, usual: u64, mut round: impl FnMut(&mut Rng)) {
    let purpose = digest_bytes(name.as_bytes());
    let times = number("MARCH_FUZZ_ROUNDS").unwrap_or(1);
    let rounds = number("MARCH_FUZZ_ROUND").map_or(0..usual * times, |only| only..only + 1);
    for n in rounds {
        let _told = Told { name, round: n };
        round(&mut Rng::child(n, purpose));
    }
}
