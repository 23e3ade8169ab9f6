//! How much a bundle may hold: counted before anything is reserved for it.
//!
//! A change of a step may be one byte and takes a hundred in memory; a message takes two bytes and
//! some hundred. So a bundle of the allowed bytes could ask for gigabytes. It is refused for its
//! counts instead, which are far above what a process says at once.

use super::common::BadMessage;
use crate::link::Item;
use crate::link::item::What;
use marchland_common::order::{EntityId, Epoch, Seq, Tick};
use marchland_common::time::EntityTime;
use marchland_common::world::{Change, EntityState};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;

/// Most messages of a bundle: so many that what a cellapp says at once, a megabyte, holds fewer.
pub const BUNDLE_MSGS_MAX: usize = 1 << 18;
/// Most changes in all steps of a bundle.
pub const BUNDLE_CHANGES_MAX: usize = 1 << 18;

/// Whether the items of a bundle hold no more than it may.
///
/// # Errors
/// [`BadMessage::TooMany`], or what is counted does not decode.
pub(super) fn check(items: &[Item]) -> Result<(), BadMessage> {
    let (mut msgs, mut bytes) = (0_usize, 0_usize);
    for item in items {
        msgs = msgs.saturating_add(match &item.what {
            Some(What::Steps(steps)) => {
                bytes = bytes.saturating_add(steps.len());
                len_of(steps, "steps")?
            }
            Some(What::Acks(acks)) => len_of(acks, "acks")?,
            _ => 1,
        });
    }
    if msgs > BUNDLE_MSGS_MAX {
        return Err(BadMessage::TooMany("messages"));
    }
    // A change takes a byte at least: hardly any bundle has to be counted.
    if bytes <= BUNDLE_CHANGES_MAX { Ok(()) } else { count_changes(items) }
}

/// How many elements a packed list says that it has.
fn len_of(bytes: &[u8], field: &'static str) -> Result<usize, BadMessage> {
    let (len, _) =
        postcard::take_from_bytes::<u64>(bytes).map_err(|_| BadMessage::Packed(field))?;
    Ok(usize::try_from(len).unwrap_or(usize::MAX))
}

fn count_changes(items: &[Item]) -> Result<(), BadMessage> {
    let mut changes = 0_usize;
    for item in items {
        let Some(What::Steps(steps)) = &item.what else { continue };
        let bad = |_| BadMessage::Packed("steps");
        let (count, mut rest) = postcard::take_from_bytes::<u64>(steps).map_err(bad)?;
        for _ in 0..count {
            let (step, behind) = postcard::take_from_bytes::<CountedStep>(rest).map_err(bad)?;
            if let CountedBody::Delta(Counted(more)) = step.body {
                changes += more;
            }
            if changes > BUNDLE_CHANGES_MAX {
                return Err(BadMessage::TooMany("changes"));
            }
            rest = behind;
        }
    }
    Ok(())
}

/// The fields of a step, and of its changes only how many there are.
#[derive(Deserialize)]
struct CountedStep {
    _entity: EntityId,
    _epoch: Epoch,
    _seq: Seq,
    _prev_digest: u64,
    _digest: u64,
    _time: EntityTime,
    _first_tick: Option<Tick>,
    body: CountedBody,
}

/// The variants of a step's body.
#[derive(Deserialize)]
enum CountedBody {
    Delta(Counted),
    Snapshot(#[allow(dead_code)] Box<EntityState>),
}

/// How many changes there are. Beyond the most nothing is counted, and nothing read.
struct Counted(usize);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Counted;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("changes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Counted, A::Error> {
                let mut count = 0;
                while count <= BUNDLE_CHANGES_MAX && seq.next_element::<Change>()?.is_some() {
                    count += 1;
                }
                Ok(Counted(count))
            }
        }
        deserializer.deserialize_seq(Count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::msg::{Step, StepBody};
    use marchland_common::order::{KindId, SpaceId};
    use marchland_common::world::{KindDef, Place, Pos};

    fn step(changes: usize) -> Step {
        Step {
            entity: EntityId(7),
            epoch: Epoch::of_grant(1),
            seq: Seq(2),
            prev_digest: 3,
            digest: u64::MAX,
            time: EntityTime(5),
            first_tick: Some(Tick(6)),
            body: StepBody::Delta(vec![Change::Destroyed; changes]),
        }
    }

    fn items(of: &[&[usize]]) -> Vec<Item> {
        let pack = |changes: &&[usize]| {
            let steps: Vec<Step> = changes.iter().map(|count| step(*count)).collect();
            Item { what: Some(What::Steps(postcard::to_stdvec(&steps).unwrap().into())) }
        };
        of.iter().map(pack).collect()
    }

    #[test]
    fn changes_are_counted_over_all_steps_of_all_items() {
        const HALF: usize = BUNDLE_CHANGES_MAX / 2;
        assert_eq!(check(&items(&[&[HALF, 0], &[3, HALF - 3]])), Ok(()));
        let too_many = Err(BadMessage::TooMany("changes"));
        assert_eq!(check(&items(&[&[HALF, 0], &[3, HALF - 2]])), too_many);
        assert_eq!(check(&items(&[&[BUNDLE_CHANGES_MAX + 1]])), too_many);
        assert_eq!(check(&items(&[&[40 * BUNDLE_CHANGES_MAX, 5]])), too_many);
    }

    #[test]
    fn messages_are_counted_by_what_their_lists_say() {
        let acks = |count: u64| {
            let what = What::Acks(postcard::to_stdvec(&count).unwrap().into());
            [Item { what: Some(what) }, Item { what: None }]
        };
        assert_eq!(check(&acks(BUNDLE_MSGS_MAX as u64 - 1)), Ok(()));
        for count in [BUNDLE_MSGS_MAX as u64, u64::MAX] {
            assert_eq!(check(&acks(count)), Err(BadMessage::TooMany("messages")));
        }
    }

    #[test]
    fn whole_states_between_the_steps_are_no_changes() {
        let kind = KindDef {
            id: KindId(1),
            name: "stone".to_owned(),
            props: Vec::new(),
            methods: Vec::new(),
            has_base: true,
        };
        let place = Place { space: SpaceId(1), pos: Pos::metres(1, 2), heading: 3 };
        let state = EntityState::new(&kind, place, 7);
        let whole = Step { body: StepBody::Snapshot(Box::new(state)), ..step(0) };
        let steps = vec![step(1), whole, step(BUNDLE_CHANGES_MAX - 1)];
        let what = What::Steps(postcard::to_stdvec(&steps).unwrap().into());
        assert_eq!(check(&[Item { what: Some(what) }]), Ok(()));
    }
}
