//! A small world: things that walk, count, send, jump and set timers, all by command.

use super::{PLAIN, STEP_US};
use marchland_cellapp_core::behaviour::{Behaviour, LateMessages, RealCtx, Sight, World};
use marchland_common::order::{EntityId, KindId, SpaceId};
use marchland_common::time::{LatePolicy, TimerFire, TimerSpec};
use marchland_common::world::{
    CommandOutcome, KindDef, Kinds, Lasting, MessageOutcome, MethodDef, OutMessage, Place, Pos,
    PropDef, Rejection, Scope, Value,
};
use std::sync::Arc;

/// The kind that takes late messages.
pub const THING: KindId = KindId(1);
/// The kind that refuses them.
pub const STRICT: KindId = KindId(2);

pub const HEALTH: u8 = 0;
pub const GOLD: u8 = 1;
pub const MOOD: u8 = 2;
pub const LOG: u8 = 3;
pub const SPEED: u8 = 4;

/// Appends its arguments to the log.
pub const ADD: u8 = 0;
/// Not exposed.
pub const HIDDEN: u8 = 1;
/// Walks east with so many millimetres a tick (i32).
pub const WALK: u8 = 2;
/// Jumps: space (u8), x and y in metres (i16 each).
pub const JUMP: u8 = 3;
/// Sleeps (0) or wakes (1).
pub const AWAKE: u8 = 4;
/// Sends gold (u8) to an entity (u64).
pub const GIVE: u8 = 5;
/// Sets timer 7 to fire after so many ticks (u8).
pub const ALARM: u8 = 6;
/// Sets timer 9 to fire every so many ticks (u8).
pub const CLOCK: u8 = 7;
/// Asks for work.
pub const WORK: u8 = 8;
/// Signals an entity (u64).
pub const WAVE: u8 = 9;
/// Says something large to the own client (u16 bytes).
pub const SHOUT: u8 = 10;

pub struct Small(pub Kinds);

struct Thing {
    late: LateMessages,
}

const FORGIVING: Thing = Thing { late: LateMessages::Apply };
const UNFORGIVING: Thing = Thing { late: LateMessages::Reject };

pub fn small() -> Small {
    Small(Kinds::new(vec![kind(THING, "thing"), kind(STRICT, "strict")]))
}

pub fn world() -> Arc<dyn World + Send + Sync> {
    Arc::new(small())
}

fn kind(id: KindId, name: &str) -> KindDef {
    let prop = |name: &str, scope, lasting, default: Value, conserved| PropDef {
        name: name.into(),
        scope,
        lasting,
        default,
        conserved,
        detail_distance: None,
    };
    let (durable, volatile) = (Lasting::Durable, Lasting::Volatile);
    let methods = [
        "add", "hidden", "walk", "jump", "awake", "give", "alarm", "clock", "work", "wave", "shout",
    ];
    KindDef {
        id,
        name: name.into(),
        props: vec![
            prop("health", Scope::AllClients, durable, Value::Int(100), false),
            prop("gold", Scope::OwnClient, durable, Value::Int(0), true),
            prop("mood", Scope::Ghosted, volatile, Value::Int(0), false),
            prop("log", Scope::Private, durable, Value::Bytes(Vec::new()), false),
            prop("speed", Scope::Private, durable, Value::Int(0), false),
        ],
        methods: methods
            .iter()
            .map(|name| MethodDef { name: (*name).into(), exposed: *name != "hidden" })
            .collect(),
        has_base: true,
    }
}

impl World for Small {
    fn kinds(&self) -> &Kinds {
        &self.0
    }

    fn behaviour(&self, kind: KindId) -> &dyn Behaviour {
        if kind == STRICT { &UNFORGIVING } else { &FORGIVING }
    }
}

fn note(me: &mut RealCtx<'_>, what: &[u8]) {
    let mut log = me.prop(LOG).bytes().to_vec();
    log.extend_from_slice(what);
    me.set(LOG, Value::Bytes(log)).expect("the log is short");
}

fn number<const N: usize>(args: &[u8]) -> Option<[u8; N]> {
    args.get(..N)?.try_into().ok()
}

impl Behaviour for Thing {
    fn born(&self, me: &mut RealCtx<'_>, argument: &[u8]) {
        note(me, argument);
    }

    fn tick(&self, me: &mut RealCtx<'_>, sight: &Sight<'_>) {
        let speed = me.int(SPEED) as i32;
        if speed != 0 {
            let place = me.place();
            me.move_to(Pos::new(place.pos.x.saturating_add(speed), place.pos.y), 0);
        }
        let mut near = 0;
        sight.each_within(me.place().pos, 10_000, |_| near += 1);
        if me.int(MOOD) != near {
            me.set(MOOD, near).expect("a plain property");
        }
    }

    fn input(&self, me: &mut RealCtx<'_>, payload: &[u8]) {
        note(me, payload);
    }

    fn command(
        &self,
        me: &mut RealCtx<'_>,
        _: &Sight<'_>,
        method: u8,
        args: &[u8],
    ) -> CommandOutcome {
        match obey(me, method, args) {
            Some(Ok(())) => CommandOutcome::Applied(args.to_vec()),
            Some(Err(why)) => CommandOutcome::Rejected(why),
            None => CommandOutcome::Rejected(Rejection::BadArguments),
        }
    }

    fn message(
        &self,
        me: &mut RealCtx<'_>,
        _: &Sight<'_>,
        _: EntityId,
        payload: &[u8],
        _: i64,
    ) -> MessageOutcome {
        if payload == b"die" {
            me.destroy();
            return MessageOutcome::Applied(Vec::new());
        }
        if payload == b"no" {
            return MessageOutcome::Rejected(Rejection::Rule("no".into()));
        }
        note(me, payload);
        MessageOutcome::Applied(vec![1])
    }

    fn late_messages(&self) -> LateMessages {
        self.late
    }

    fn answered(&self, me: &mut RealCtx<'_>, _: &OutMessage, outcome: &MessageOutcome) {
        note(me, if outcome.is_kept() { b"k" } else { b"r" });
    }

    fn timer(&self, me: &mut RealCtx<'_>, _: &Sight<'_>, fire: &TimerFire) {
        note(me, &[b'0' + fire.id as u8]);
    }

    fn completed(&self, me: &mut RealCtx<'_>, _: u64, payload: &[u8]) {
        note(me, payload);
    }
}

fn obey(me: &mut RealCtx<'_>, method: u8, args: &[u8]) -> Option<Result<(), Rejection>> {
    match method {
        ADD => note(me, args),
        WALK => return Some(me.set(SPEED, i64::from(i32::from_le_bytes(number(args)?)))),
        JUMP => {
            let [space, x0, x1, y0, y1] = number(args)?;
            let metres = |low, high| i32::from(i16::from_le_bytes([low, high]));
            let pos = Pos::metres(metres(x0, x1), metres(y0, y1));
            me.teleport(SpaceId(u32::from(space)), pos);
        }
        AWAKE => me.set_awake(*args.first()? == 1),
        GIVE => {
            let value = i64::from(*args.first()?);
            let to = EntityId(u64::from_le_bytes(number(args.get(1..)?)?));
            return Some(me.send(to, b"g".to_vec(), value).map(|_| ()));
        }
        ALARM => {
            let after_us = u64::from(*args.first()?) * STEP_US;
            return Some(me.set_timer(7, TimerSpec::Once { after_us }));
        }
        CLOCK => {
            let period_us = u64::from(*args.first()?) * STEP_US;
            let late = LatePolicy::Coalesce;
            let spec = TimerSpec::Every { after_us: period_us, period_us, late };
            return Some(me.set_timer(9, spec));
        }
        WORK => me.work(5, args.to_vec()),
        WAVE => me.signal(EntityId(u64::from_le_bytes(number(args)?)), b"w".to_vec()),
        SHOUT => me.notice(vec![0; usize::from(u16::from_le_bytes(number(args)?))]),
        _ => return None,
    }
    Some(Ok(()))
}

/// A place on the plain, in millimetres.
pub fn at(x: i32, y: i32) -> Place {
    Place { space: PLAIN, pos: Pos::new(x, y), heading: 0 }
}
