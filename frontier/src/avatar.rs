//! What an avatar does: it walks where its client points, and does what its client asks.

use crate::map::{PORTAL_REACH, bounds_of, home_of, portal};
use crate::schema::avatar_props as prop;
use crate::walk::ahead;
use crate::words::{Method, Word, decode, encode};
use marchland_cellapp_core::behaviour::{Behaviour, RealCtx, Sight, SignalCtx};
use marchland_common::order::EntityId;
use marchland_common::time::{LatePolicy, TimerFire, TimerSpec};
use marchland_common::world::{
    CommandOutcome, METRE, MessageOutcome, OutMessage, Rejection, Value,
};

/// The timer of healing.
const MEND: u32 = 1;
/// Health that one beat of the timer gives.
const MEND_BY: i64 = 5;
/// Full health.
const HEALTH_MAX: i64 = 100;
/// From how far an attack lands.
const REACH: i32 = 10 * METRE;
/// From how far a gift or a word arrives.
const EARSHOT: i32 = 40 * METRE;
/// What every new avatar is given.
const PURSE: i64 = 100;
/// Longest diary.
const DIARY_MAX: usize = 1_000;

/// The behaviour of avatars.
#[derive(Debug)]
pub(crate) struct Avatar;

fn rule(text: &str) -> CommandOutcome {
    CommandOutcome::Rejected(Rejection::Rule(text.to_owned()))
}

fn done<T>(result: Result<T, Rejection>) -> CommandOutcome {
    match result {
        Ok(_) => CommandOutcome::Applied(Vec::new()),
        Err(reason) => CommandOutcome::Rejected(reason),
    }
}

impl Behaviour for Avatar {
    fn born(&self, me: &mut RealCtx<'_>, argument: &[u8]) {
        // A name that does not fit is none, and who holds all the gold there can be gets no more.
        let _ = me.set(prop::NAME, Value::Bytes(argument.to_vec()));
        let _ = me.mint(PURSE);
    }

    fn input(&self, me: &mut RealCtx<'_>, payload: &[u8]) {
        // A sector of the compass, or anything above 15 to stand still.
        if let Some(sector) = decode::<u8>(payload) {
            let walk = if sector < 16 { i64::from(sector) + 1 } else { 0 };
            let written = me.set(prop::WALK, walk);
            assert!(written.is_ok(), "a number always fits");
        }
    }

    fn tick(&self, me: &mut RealCtx<'_>, _: &Sight<'_>) {
        let walk = me.int(prop::WALK);
        if walk == 0 {
            return;
        }
        let place = me.place();
        let (pos, heading) = ahead(place, walk.wrapping_sub(1) as u8, me.int(prop::SPEED));
        if pos == place.pos && heading == place.heading {
            return;
        }
        me.move_to(pos, heading);
    }

    fn command(
        &self,
        me: &mut RealCtx<'_>,
        sight: &Sight<'_>,
        method: u8,
        args: &[u8],
    ) -> CommandOutcome {
        let Some(call) = Method::read(method, args) else {
            return CommandOutcome::Rejected(Rejection::BadArguments);
        };
        match call {
            Method::Attack(target) => attack(me, sight, target),
            Method::Give(target, amount) => give(me, sight, target, amount),
            Method::Heal => heal(me),
            Method::Portal => through_the_portal(me),
            Method::Write(text) if text.len() > DIARY_MAX => rule("the diary is full"),
            Method::Write(text) => done(me.set(prop::DIARY, Value::Bytes(text))),
            Method::Say(_) => say(me, sight),
            Method::Scout => {
                me.work(me.tick().0, encode(&me.id()));
                CommandOutcome::Applied(Vec::new())
            }
        }
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
        if message.value > 0 && !outcome.is_kept() {
            let count = me.int(prop::RETURNED).saturating_add(1);
            let written = me.set(prop::RETURNED, count);
            assert!(written.is_ok(), "a number always fits");
        }
    }

    fn timer(&self, me: &mut RealCtx<'_>, _: &Sight<'_>, fire: &TimerFire) {
        if fire.id != MEND {
            return;
        }
        let by = MEND_BY.saturating_mul(i64::try_from(fire.count).unwrap_or(i64::MAX));
        let health = me.int(prop::HEALTH).saturating_add(by).min(HEALTH_MAX);
        let mended = me.int(prop::MENDED).saturating_add(1);
        let written = me.set(prop::HEALTH, health).and(me.set(prop::MENDED, mended));
        assert!(written.is_ok(), "a number always fits");
        if health == HEALTH_MAX {
            me.cancel_timer(MEND);
        }
    }

    fn signal(&self, me: &mut SignalCtx<'_>, _: EntityId, payload: &[u8]) {
        match decode::<Word>(payload) {
            Some(Word::Howl) => {
                let heard = me.int(prop::HOWLS).saturating_add(1);
                let written = me.set_volatile(prop::HOWLS, heard);
                assert!(written.is_ok(), "howls are volatile");
            }
            Some(Word::Speech) => me.notice(payload.to_vec()),
            _ => {}
        }
    }

    fn completed(&self, me: &mut RealCtx<'_>, _: u64, payload: &[u8]) {
        if let Some(found) = decode::<u32>(payload) {
            let written = me.set(prop::SCOUTED, i64::from(found));
            assert!(written.is_ok(), "a number always fits");
        }
    }
}

fn attack(me: &mut RealCtx<'_>, sight: &Sight<'_>, target: EntityId) -> CommandOutcome {
    let near = sight.with(target, |other| other.pos.within(me.place().pos, REACH));
    if near != Some(true) {
        return rule("out of reach");
    }
    let amount = me.rng().between(5, 15) as u32;
    done(me.send(target, encode(&Word::Hurt { amount }), 0))
}

fn give(me: &mut RealCtx<'_>, sight: &Sight<'_>, target: EntityId, gold: u32) -> CommandOutcome {
    if gold == 0 || i64::from(gold) > me.int(prop::GOLD) {
        return rule("not enough gold");
    }
    let near = sight.with(target, |other| other.pos.within(me.place().pos, EARSHOT));
    if near != Some(true) {
        return rule("out of sight");
    }
    done(me.send(target, encode(&Word::Gift), i64::from(gold)))
}

fn heal(me: &mut RealCtx<'_>) -> CommandOutcome {
    if me.int(prop::HEALTH) >= HEALTH_MAX {
        return rule("in full health");
    }
    let every =
        TimerSpec::Every { after_us: 1_000_000, period_us: 1_000_000, late: LatePolicy::Coalesce };
    done(me.set_timer(MEND, every))
}

fn through_the_portal(me: &mut RealCtx<'_>) -> CommandOutcome {
    let place = me.place();
    let (here, space, there) = portal(place.space);
    if !place.pos.within(here, PORTAL_REACH) {
        return rule("the portal is not here");
    }
    me.teleport(space, bounds_of(space).clamp(there));
    CommandOutcome::Applied(Vec::new())
}

fn say(me: &mut RealCtx<'_>, sight: &Sight<'_>) -> CommandOutcome {
    let mut heard = Vec::new();
    sight.each_within(me.place().pos, EARSHOT, |other| {
        if other.kind == crate::AVATAR && heard.len() < 16 {
            heard.push(other.id);
        }
    });
    for listener in &heard {
        me.signal(*listener, encode(&Word::Speech));
    }
    CommandOutcome::Applied(encode(&(heard.len() as u32)))
}

/// Takes a wound. Who falls loses half of the gold to whoever struck, and wakes at home.
fn hurt(me: &mut RealCtx<'_>, source: EntityId, amount: i64) -> MessageOutcome {
    let health = me.int(prop::HEALTH).saturating_sub(amount);
    let wounds = me.int(prop::WOUNDS).saturating_add(1);
    let fell = health <= 0;
    let health = if fell { HEALTH_MAX } else { health };
    if let Err(reason) = me.set(prop::HEALTH, health).and(me.set(prop::WOUNDS, wounds)) {
        return MessageOutcome::Rejected(reason);
    }
    if fell {
        let loot = me.int(prop::GOLD) / 2;
        if loot > 0 {
            // With a full outbox the loot stays; the wound is taken all the same.
            let _ = me.send(source, encode(&Word::Gift), loot);
        }
        let name = String::from_utf8_lossy(me.prop(prop::NAME).bytes()).into_owned();
        let home = home_of(&name);
        me.teleport(home.space, home.pos);
    }
    MessageOutcome::Applied(encode(&fell))
}
