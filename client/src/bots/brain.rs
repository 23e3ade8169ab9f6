//! What a bot wants next.

use crate::view::WorldView;
use marchland_common::order::{EntityId, KindId};
use marchland_common::rng::Rng;
use marchland_frontier_core::{AVATAR, Method, WOLF, encode};

/// Something that a bot wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To walk in a compass sector; 16 stands still.
    Walk(u8),
    /// To do something.
    Do(Method),
}

/// A bot's will: equal seeds and equal sights give equal wishes.
#[derive(Clone, Debug)]
pub struct Brain {
    rng: Rng,
    keep_walking: u32,
}

impl Brain {
    /// The will of bot `number` of a crowd.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        Self { rng: Rng::child(seed, 0x626f_7400 + number), keep_walking: 0 }
    }

    /// What it wants now. Called a few times a second.
    pub fn wishes(&mut self, view: &WorldView) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if self.keep_walking == 0 {
            self.keep_walking = self.rng.between(8, 60) as u32;
            let stands = self.rng.chance(1, 12);
            let sector = if stands { 16 } else { self.rng.below(16) as u8 };
            wishes.push(Wish::Walk(sector));
        }
        self.keep_walking -= 1;
        if self.rng.chance(1, 4)
            && let Some(method) = self.deed(view)
        {
            wishes.push(Wish::Do(method));
        }
        wishes
    }

    fn deed(&mut self, view: &WorldView) -> Option<Method> {
        Some(match self.rng.below(100) {
            0..45 => Method::Attack(self.somebody(view, WOLF)?),
            45..52 => Method::Attack(self.somebody(view, AVATAR)?),
            52..72 => {
                let friend = self.somebody(view, AVATAR)?;
                Method::Give(friend, self.rng.between(1, 9) as u32)
            }
            72..84 => Method::Heal,
            84..88 => Method::Portal,
            88..92 => {
                let length = self.rng.between(0, 40) as usize;
                Method::Write(encode(&self.rng.next_u64()).repeat(length / 8 + 1))
            }
            92..97 => Method::Say(b"well met".to_vec()),
            _ => Method::Scout,
        })
    }

    /// Anybody of a kind who is in view; which one is drawn.
    fn somebody(&mut self, view: &WorldView, kind: KindId) -> Option<EntityId> {
        let all: Vec<EntityId> =
            view.iter().filter(|(_, s)| s.kind == kind).map(|(id, _)| id).collect();
        if all.is_empty() {
            return None;
        }
        Some(all[self.rng.below(all.len() as u64) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_sight_give_the_same_wishes() {
        let view = WorldView::default();
        let wishes = |seed, number| {
            let mut brain = Brain::new(seed, number);
            (0..500).map(|_| brain.wishes(&view)).collect::<Vec<_>>()
        };
        assert_eq!(wishes(7, 1), wishes(7, 1));
        assert_ne!(wishes(7, 1), wishes(7, 2));
        assert_ne!(wishes(7, 1), wishes(8, 1));
    }
}
