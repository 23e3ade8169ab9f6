//! Births: an id, a record with epoch 1, and a grant to the owner of the place.

use crate::core::BaseCore;
use crate::entity::Now;
use crate::io::BaseBug;
use crate::log::{Created, LogRecord};
use bytes::Bytes;
use marchland_common::journal::{Event, OwnerWhy};
use marchland_common::order::{EntityId, KindId, Lsn, Seq, SlotId};
use marchland_common::rng::Rng;
use marchland_common::world::{Change, EntityState, KindDef, Place, Value};

/// What is to be born.
pub(crate) struct Birth {
    /// The slot that gives the id.
    pub slot: SlotId,
    /// The kind.
    pub kind: KindId,
    /// Where.
    pub place: Place,
    /// Properties that differ from the kind's defaults.
    pub props: Vec<(u8, Value)>,
    /// How much of the conserved number it is born with; the kind's default if none is given.
    pub value: Option<i64>,
    /// The message that asks for it.
    pub source: Option<(EntityId, u64)>,
    /// The account that is to play it.
    pub account: Option<String>,
    /// What the behaviour is told.
    pub argument: Bytes,
}

/// Counters in the range of ids that begins with each accepted loss of a log. A slot that hands out
/// a thousand ids a second uses one up in eight years.
const LOSS_RANGE: u64 = 1 << 38;

/// Where ids of slots begin that nobody has a record of, after so many accepted losses of logs: the
/// marks of what was handed out are lost with a log, so ids go on in a range that was never used.
/// None when all ranges were begun.
#[must_use]
pub fn ids_from(losses: u64) -> Option<u64> {
    losses.checked_mul(LOSS_RANGE).filter(|from| *from < EntityId::COUNTER_MAX)
}

/// How many losses lie before an id: the number of its range.
#[must_use]
pub const fn losses_before(counter: u64) -> u64 {
    counter / LOSS_RANGE
}

impl BaseCore {
    /// Whether an id was ever handed out here; without a record, its entity ended.
    pub(crate) fn was_handed_out(&self, id: EntityId) -> bool {
        self.counters.get(&id.slot()).is_some_and(|counter| id.counter() <= *counter)
    }

    /// Creates an entity, or says why not, for people.
    pub(crate) fn give_birth(&mut self, birth: Birth) -> Result<(EntityId, Lsn), String> {
        let kinds = self.kinds.clone();
        let kind = kinds.get(birth.kind).filter(|kind| kind.has_base);
        let kind = kind.ok_or_else(|| format!("no kind {} with a base", birth.kind))?;
        let owner = self
            .owner_at(birth.place)
            .ok_or_else(|| format!("no cellapp owns a cell of space {}", birth.place.space))?;
        let mut state = EntityState::new(kind, birth.place, 0);
        set_props(&mut state, kind, &birth)?;
        let size = state.encoded_len();
        if size > EntityState::BYTES_MAX {
            return Err(format!("{size} bytes of state; {} are allowed", EntityState::BYTES_MAX));
        }
        let entity = self.next_id(birth.slot)?;
        state.rng = Rng::child(self.config.seed, entity.0);
        let value = state.held_value(kind);
        let source = birth.source;
        let created = Created {
            entity,
            state,
            owner,
            source,
            account: birth.account,
            argument: birth.argument,
        };
        let lsn = self.write(&LogRecord::Created(Box::new(created)));
        self.event(Event::Created { entity, kind: kind.id, value, source, lsn });
        self.now.insert(entity, Now::default());
        self.note_first_owner(entity, owner, lsn);
        self.begin_granting(entity, lsn);
        Ok((entity, lsn))
    }

    fn note_first_owner(&mut self, entity: EntityId, to: marchland_common::order::Node, lsn: Lsn) {
        let epoch = self.store.entities[&entity].epoch;
        self.event(Event::OwnerChanged {
            entity,
            epoch,
            seq: Seq(0),
            from: None,
            to,
            why: OwnerWhy::Birth,
            last_tick: None,
            lsn,
        });
    }

    /// The next id of a slot. What the log reserved and nobody used is skipped after a restart.
    fn next_id(&mut self, slot: SlotId) -> Result<EntityId, String> {
        if !self.keeps(slot) {
            return Err(format!("slot {slot} is not kept here"));
        }
        let used = self.counters.get(&slot).copied().unwrap_or(0);
        let again = self.has_bug(BaseBug::ReuseId) && used > 0 && used % 4 == 0;
        let counter = if again { used } else { used + 1 };
        if counter > EntityId::COUNTER_MAX {
            return Err(format!("slot {slot} has handed out all its ids"));
        }
        let reserved = self.store.slots.get(&slot).map_or(0, |row| row.reserved);
        if counter > reserved {
            let upto =
                reserved.saturating_add(self.config.id_reserve.max(1)).min(EntityId::COUNTER_MAX);
            self.write(&LogRecord::IdsReserved { slot, upto });
        }
        // The deliberate fault moves on after the second use, or nothing else would be born.
        let next = if again { used + 1 } else { counter };
        self.counters.insert(slot, next);
        Ok(EntityId::new(slot, counter))
    }

    /// A slot kept here for something that no slot is prescribed for: each in turn.
    pub(crate) fn any_slot(&mut self) -> Option<SlotId> {
        let kept: Vec<SlotId> = self
            .map
            .slots_of(self.config.node.name)
            .map(|s| s.slot)
            .filter(|slot| self.store.slots.contains_key(slot))
            .collect();
        kept.into_iter().min_by_key(|slot| (self.counters.get(slot).copied().unwrap_or(0), *slot))
    }
}

fn set_props(state: &mut EntityState, kind: &KindDef, birth: &Birth) -> Result<(), String> {
    for (index, value) in &birth.props {
        state.apply(&Change::Prop(*index, value.clone())).map_err(|bad| bad.to_string())?;
    }
    let Some(value) = birth.value else { return Ok(()) };
    let mut left = value;
    for (index, def) in kind.props.iter().enumerate().filter(|(_, def)| def.conserved) {
        state.props[index] = match def.default {
            Value::Int(_) => Value::Int(std::mem::take(&mut left)),
            Value::Bytes(_) => def.default.clone(),
        };
    }
    match left {
        0 => Ok(()),
        _ => Err(format!("kind {} cannot hold {value} of the conserved number", kind.name)),
    }
}
