//! What a wolf does: it roams, hunts avatars, bites, howls, and leaves a cub behind.

use crate::map::somewhere;
use crate::schema::{AVATAR, WOLF, wolf_props as prop};
use crate::walk::towards;
use crate::words::{Word, decode, encode};
use marchland_cellapp_core::behaviour::{Behaviour, RealCtx, Sight, SignalCtx};
use marchland_common::order::EntityId;
use marchland_common::world::{
    Address, METRE, MessageOutcome, OutMessage, Place, Pos, Rejection, Value,
};

/// How far a wolf smells an avatar.
const SCENT: i32 = 12 * METRE;
/// From how far it bites.
const BITE: i32 = 2 * METRE;
/// Ticks between two bites.
const BITE_EVERY: i64 = 40;
/// Speed in millimetres a second.
const SPEED: i64 = 5_500;
/// What a wolf that nobody sent is born with.
const SWALLOWED: i64 = 10;

/// The behaviour of wolves.
#[derive(Debug)]
pub(crate) struct Wolf;

impl Behaviour for Wolf {
    fn born(&self, me: &mut RealCtx<'_>, _: &[u8]) {
        if me.int(prop::GOLD) == 0 {
            // Nothing is held, so that it fits.
            let _ = me.mint(SWALLOWED);
        }
        roam(me);
    }

    fn tick(&self, me: &mut RealCtx<'_>, sight: &Sight<'_>) {
        if me.int(prop::DYING) != 0 {
            return;
        }
        let place = me.place();
        // Looking around costs; a wolf sniffs every fourth tick, each at its own.
        let sniffs = (me.tick().0 + me.id().counter()).is_multiple_of(4);
        if sniffs {
            let prey = sight.nearest(place.pos, SCENT, |other| other.kind == AVATAR);
            hunt(me, prey);
        }
        let goal = Pos::new(me.int(prop::GOAL_X) as i32, me.int(prop::GOAL_Y) as i32);
        if place.pos.within(goal, METRE) {
            roam(me);
        }
        let (pos, heading) = towards(place, goal, SPEED);
        me.move_to(pos, heading);
    }

    fn message(
        &self,
        me: &mut RealCtx<'_>,
        _: &Sight<'_>,
        source: EntityId,
        payload: &[u8],
        _: i64,
    ) -> MessageOutcome {
        match decode::<Word>(payload) {
            Some(Word::Hurt { amount }) if amount <= 50 => hurt(me, source, i64::from(amount)),
            Some(Word::Gift) => MessageOutcome::Applied(Vec::new()),
            _ => MessageOutcome::Rejected(Rejection::BadArguments),
        }
    }

    fn answered(&self, me: &mut RealCtx<'_>, message: &OutMessage, outcome: &MessageOutcome) {
        if let (Address::Spawn { .. }, MessageOutcome::Spawned(_)) = (&message.to, outcome) {
            me.destroy();
        }
    }

    fn signal(&self, me: &mut SignalCtx<'_>, _: EntityId, payload: &[u8]) {
        if decode::<Word>(payload) == Some(Word::Howl) {
            let written = me.set_volatile(prop::MOOD, 1);
            assert!(written.is_ok(), "mood is volatile");
        }
    }
}

fn write(me: &mut RealCtx<'_>, index: u8, value: i64) {
    let written = me.set(index, Value::Int(value));
    assert!(written.is_ok(), "a number always fits");
}

/// Picks the next goal.
fn roam(me: &mut RealCtx<'_>) {
    let space = me.place().space;
    let goal = somewhere(space, me.rng());
    write(me, prop::GOAL_X, i64::from(goal.x));
    write(me, prop::GOAL_Y, i64::from(goal.y));
    write(me, prop::MOOD, 0);
}

/// Goes for the prey, bites it when near, and howls to it now and then.
fn hunt(me: &mut RealCtx<'_>, prey: Option<(EntityId, Pos)>) {
    let Some((id, pos)) = prey else { return };
    write(me, prop::MOOD, 1);
    let tick = me.tick().0 as i64;
    if !me.place().pos.within(pos, BITE) || tick.saturating_sub(me.int(prop::BITTEN)) < BITE_EVERY {
        return;
    }
    let amount = me.rng().between(4, 12) as u32;
    // With a full outbox this bite does not happen; the next may.
    if me.send(id, encode(&Word::Hurt { amount }), 0).is_ok() {
        write(me, prop::BITTEN, tick);
        me.signal(id, encode(&Word::Howl));
        roam(me);
    }
}

/// Takes a wound. A wolf that falls leaves its gold to whoever struck, and a cub somewhere else
/// that inherits nothing; it is gone when the cub is born.
fn hurt(me: &mut RealCtx<'_>, source: EntityId, amount: i64) -> MessageOutcome {
    if me.int(prop::DYING) != 0 {
        return MessageOutcome::Rejected(Rejection::Rule("it is dead".to_owned()));
    }
    let health = me.int(prop::HEALTH).saturating_sub(amount);
    if health > 0 {
        write(me, prop::HEALTH, health);
        return MessageOutcome::Applied(encode(&false));
    }
    let place = me.place();
    let pos = somewhere(place.space, me.rng());
    let den = Place { space: place.space, pos, heading: 0 };
    if let Err(reason) = me.spawn(WOLF, den, Vec::new(), 0) {
        return MessageOutcome::Rejected(reason);
    }
    let gold = me.int(prop::GOLD);
    if gold > 0 {
        // With a full outbox the gold leaves the world with the wolf, and is counted as burned.
        let _ = me.send(source, encode(&Word::Gift), gold);
    }
    write(me, prop::HEALTH, 0);
    write(me, prop::DYING, 1);
    MessageOutcome::Applied(encode(&true))
}
