//! Values of a type from its shape: postcard writes a variant as its place and numbers as varints,
//! so that bytes drawn from words of the cluster read as values full of them.

use crate::mutate::{token, varint};
use marchland_common::order::Node;
use marchland_common::rng::Rng;
use serde::de::DeserializeOwned;

/// Most variants that are looked for.
const VARIANTS_MAX: u64 = 128;
/// Bytes that are drawn for one value.
const DRAWN: usize = 1_024;

/// What a cluster speaks of: numbers and lives that mean something in it.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<Vec<u8>>);

impl Words {
    /// Adds numbers: ids, epochs, steps, ticks, sessions.
    #[must_use]
    pub fn with(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        self.0.extend(numbers.into_iter().map(varint));
        self
    }

    /// Adds lives.
    #[must_use]
    pub fn with_nodes(mut self, nodes: impl IntoIterator<Item = Node>) -> Self {
        let bytes = |node: Node| postcard::to_stdvec(&node).expect("a life encodes");
        self.0.extend(nodes.into_iter().map(bytes));
        self
    }

    fn draw(&self, rng: &mut Rng) -> Vec<u8> {
        match rng.below(8) {
            0 => token(rng),
            1..=3 if !self.0.is_empty() => self.0[rng.below(self.0.len() as u64) as usize].clone(),
            _ => varint(rng.below(5)),
        }
    }
}

/// A value of the variant at this place, drawn; none if there is no such variant or the draw made
/// none of it.
fn drawn<T: DeserializeOwned>(rng: &mut Rng, words: &Words, variant: u64) -> Option<T> {
    let mut bytes = varint(variant);
    while bytes.len() < DRAWN {
        bytes.extend(words.draw(rng));
    }
    postcard::take_from_bytes(&bytes).ok().map(|(value, _)| value)
}

/// The plainest value of the variant at this place.
fn plain<T: DeserializeOwned>(variant: u64) -> Option<T> {
    let mut bytes = varint(variant);
    bytes.resize(DRAWN, 0);
    postcard::take_from_bytes(&bytes).ok().map(|(value, _)| value)
}

/// How many variants an enumeration has. Panics if one of them has no plainest value: nobody would
/// notice that it has no examples.
#[must_use]
pub fn variants<T: DeserializeOwned>() -> u64 {
    let (mut rng, words) = (Rng(1), Words::default());
    let mut is_there =
        |n| plain::<T>(n).is_some() || (0..8).any(|_| drawn::<T>(&mut rng, &words, n).is_some());
    let count = (0..VARIANTS_MAX).take_while(|n| is_there(*n)).count() as u64;
    assert!((count..VARIANTS_MAX).all(|n| !is_there(n)), "a variant has no value of zeros");
    count
}

/// Values of every variant of an enumeration: the plainest, and `each` that are drawn.
#[must_use]
pub fn examples<T: DeserializeOwned>(rng: &mut Rng, words: &Words, each: usize) -> Vec<T> {
    let mut examples = Vec::new();
    for variant in 0..variants::<T>() {
        examples.extend(plain::<T>(variant));
        let mut draws = (0..each * 20).filter_map(|_| drawn::<T>(rng, words, variant));
        examples.extend(draws.by_ref().take(each));
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    enum Few {
        One(u64),
        Two { words: Vec<u64>, life: Node },
        Three,
    }

    #[test]
    fn every_variant_is_found_and_drawn_from_the_words() {
        let life = Node::new(marchland_common::order::NodeKind::Base, 2, 77);
        let words = Words::default().with([123_456]).with_nodes([life]);
        assert_eq!(variants::<Few>(), 3);
        let drawn: Vec<Few> = examples(&mut Rng(1), &words, 200);
        for (name, is) in [
            ("one", drawn.contains(&Few::One(123_456))),
            (
                "two",
                drawn.iter().any(|few| matches!(few, Few::Two { words, .. } if !words.is_empty())),
            ),
            ("life", drawn.iter().any(|few| matches!(few, Few::Two { life: l, .. } if *l == life))),
            ("three", drawn.contains(&Few::Three)),
        ] {
            assert!(is, "{name}");
        }
    }
}
