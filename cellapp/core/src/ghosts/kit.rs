//! What the tests of these rooms share: a small world, its map, and short names.

use marchland_common::cluster::{ClusterMap, MapChange};
use marchland_common::order::{
    CellId, EntityId, Epoch, KindId, Node, NodeKind, SessionId, SlotId, SpaceId,
};
use marchland_common::world::{
    Axis, KindDef, Kinds, Lasting, Layout, MethodDef, Place, Pos, PropDef, Rect, Scope, Tree, Value,
};

/// The secret that must never leave an owner.
pub const SECRET: &[u8] = b"S3CR3T";
/// The properties of a wolf, by index.
pub const HEALTH: u8 = 0;
pub const DIARY: u8 = 2;
pub const MOOD: u8 = 3;
pub const FUR: u8 = 4;

pub const WOLF: KindId = KindId(1);
pub const PLAIN: SpaceId = SpaceId(1);
pub const CAVE: SpaceId = SpaceId(2);

pub fn id(n: u64) -> EntityId {
    EntityId::new(SlotId(3), n)
}

pub fn cell(n: u16) -> Node {
    Node::new(NodeKind::Cell, n, u64::from(n) * 10)
}

pub fn epoch(n: u64) -> Epoch {
    Epoch::of_grant(n)
}

pub fn session(n: u64) -> SessionId {
    SessionId(n)
}

pub fn at(x: i32, y: i32) -> Place {
    Place { space: PLAIN, pos: Pos::metres(x, y), heading: 0 }
}

fn prop(name: &str, scope: Scope, lasting: Lasting, default: Value) -> PropDef {
    let name = name.to_owned();
    PropDef { name, scope, lasting, default, conserved: false, detail_distance: None }
}

/// A world with one kind that has a property of each scope.
pub fn kinds() -> Kinds {
    let mut fur = prop("fur", Scope::AllClients, Lasting::Volatile, Value::Bytes(b"grey".to_vec()));
    fur.detail_distance = Some(20_000);
    let props = vec![
        prop("health", Scope::AllClients, Lasting::Durable, Value::Int(100)),
        prop("den", Scope::Private, Lasting::Durable, Value::Bytes(SECRET.to_vec())),
        prop("diary", Scope::OwnClient, Lasting::Durable, Value::Bytes(SECRET.to_vec())),
        prop("mood", Scope::Ghosted, Lasting::Volatile, Value::Bytes(b"hungry".to_vec())),
        fur,
    ];
    let name = "wolf".to_owned();
    let methods = vec![MethodDef { name: "howl".to_owned(), exposed: true }];
    Kinds::new(vec![KindDef { id: WOLF, name, props, methods, has_base: true }])
}

/// Vertical strips of 100 m over the plain, from west to east, one for each owner.
pub fn strips(owners: &[Node]) -> Layout {
    let width = owners.len() as i32 * 100;
    let bounds = Rect::new(Pos::metres(0, 0), Pos::metres(width, 100));
    Layout { space: PLAIN, version: 1, bounds, tree: strip_tree(owners, 0) }
}

fn strip_tree(owners: &[Node], from: i32) -> Tree {
    let (first, rest) = owners.split_first().expect("a strip has an owner");
    let leaf = Tree::Leaf { cell: CellId(from as u32 + 1), owner: Some(*first) };
    if rest.is_empty() {
        return leaf;
    }
    Tree::Split {
        axis: Axis::X,
        at: (from + 1) * 100_000,
        low: Box::new(leaf),
        high: Box::new(strip_tree(rest, from + 1)),
    }
}

pub fn map_of(layout: Layout) -> ClusterMap {
    let mut map = ClusterMap::default();
    assert!(map.apply(MapChange::Layout(layout)));
    map
}
