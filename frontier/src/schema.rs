//! The kinds of the Frontier.

use marchland_common::order::KindId;
use marchland_common::world::{KindDef, Kinds, Lasting, METRE, MethodDef, PropDef, Scope, Value};

/// A client's character.
pub const AVATAR: KindId = KindId(1);
/// A beast.
pub const WOLF: KindId = KindId(2);

/// Property indices of an avatar.
pub mod avatar_props {
    /// Its account, seen by all.
    pub const NAME: u8 = 0;
    /// Health, 0 to 100.
    pub const HEALTH: u8 = 1;
    /// Gold: conserved.
    pub const GOLD: u8 = 2;
    /// How many wounds it took, each counted once.
    pub const WOUNDS: u8 = 3;
    /// How often it healed itself by its timer.
    pub const MENDED: u8 = 4;
    /// The compass sector that it walks in plus one; 0 stands still. Volatile.
    pub const WALK: u8 = 5;
    /// Speed in millimetres a second. Volatile.
    pub const SPEED: u8 = 6;
    /// Known to its own client only.
    pub const DIARY: u8 = 7;
    /// How many howls it heard. Volatile.
    pub const HOWLS: u8 = 8;
    /// How many of its gifts came back.
    pub const RETURNED: u8 = 9;
    /// What the last scouting found.
    pub const SCOUTED: u8 = 10;
}

/// Property indices of a wolf.
pub mod wolf_props {
    /// Health, 0 to 30.
    pub const HEALTH: u8 = 0;
    /// Gold that it swallowed: conserved.
    pub const GOLD: u8 = 1;
    /// Where it runs to, east. Volatile.
    pub const GOAL_X: u8 = 2;
    /// Where it runs to, north. Volatile.
    pub const GOAL_Y: u8 = 3;
    /// The tick of its last bite.
    pub const BITTEN: u8 = 4;
    /// Its mood, seen by all: 0 roams, 1 hunts. Volatile.
    pub const MOOD: u8 = 5;
    /// Whether it is dying: its cub is on the way.
    pub const DYING: u8 = 6;
}

fn prop(name: &str, scope: Scope, lasting: Lasting, default: Value) -> PropDef {
    PropDef {
        name: name.to_owned(),
        scope,
        lasting,
        default,
        conserved: false,
        detail_distance: None,
    }
}

fn number(name: &str, scope: Scope, lasting: Lasting, default: i64) -> PropDef {
    prop(name, scope, lasting, Value::Int(default))
}

fn method(name: &str) -> MethodDef {
    MethodDef { name: name.to_owned(), exposed: true }
}

fn avatar_kind() -> KindDef {
    use Lasting::{Durable, Volatile};
    let mut gold = number("gold", Scope::OwnClient, Durable, 0);
    gold.conserved = true;
    let mut walk = number("walk", Scope::AllClients, Volatile, 0);
    walk.detail_distance = Some(40 * METRE);
    KindDef {
        id: AVATAR,
        name: "avatar".to_owned(),
        props: vec![
            prop("name", Scope::AllClients, Durable, Value::Bytes(Vec::new())),
            number("health", Scope::AllClients, Durable, 100),
            gold,
            number("wounds", Scope::OwnClient, Durable, 0),
            number("mended", Scope::Private, Durable, 0),
            walk,
            number("speed", Scope::Private, Volatile, 6_000),
            prop("diary", Scope::OwnClient, Durable, Value::Bytes(Vec::new())),
            number("howls", Scope::OwnClient, Volatile, 0),
            number("returned", Scope::OwnClient, Durable, 0),
            number("scouted", Scope::OwnClient, Durable, 0),
        ],
        methods: ["attack", "give", "heal", "portal", "write", "say", "scout"]
            .into_iter()
            .map(method)
            .chain([MethodDef { name: "smite".to_owned(), exposed: false }])
            .collect(),
        has_base: true,
    }
}

fn wolf_kind() -> KindDef {
    use Lasting::{Durable, Volatile};
    let mut gold = number("gold", Scope::Private, Durable, 0);
    gold.conserved = true;
    KindDef {
        id: WOLF,
        name: "wolf".to_owned(),
        props: vec![
            number("health", Scope::AllClients, Durable, 30),
            gold,
            number("goal-x", Scope::Private, Volatile, 0),
            number("goal-y", Scope::Private, Volatile, 0),
            number("bitten", Scope::Private, Durable, 0),
            number("mood", Scope::AllClients, Volatile, 0),
            number("dying", Scope::Ghosted, Durable, 0),
        ],
        methods: Vec::new(),
        has_base: true,
    }
}

/// The registry of this world.
#[must_use]
pub fn kinds() -> Kinds {
    Kinds::new(vec![avatar_kind(), wolf_kind()])
}
