//! What a tick costs: `tick_cost MOVING IDLE TICKS` runs a core with so many entities, to be
//! counted by an instruction counter. The cost of one tick is the difference of two runs.

use bytes::Bytes;
use marchland_cellapp_core::CellCore;
use marchland_cellapp_core::behaviour::{Behaviour, RealCtx, Sight, World};
use marchland_cellapp_core::io::{CellConfig, CellInput};
use marchland_common::cluster::{MapChange, Member, MemberState, SlotOwner};
use marchland_common::msg::{BaseToCell, Bundle, Frame, Grant, GrantWhy, Header, Moment, Msg};
use marchland_common::order::{
    CellId, EntityId, Epoch, KindId, Node, NodeKind, Seq, SlotId, SpaceId, Term, Tick,
};
use marchland_common::world::{
    EntityState, KindDef, Kinds, Lasting, Layout, Place, Pos, PropDef, Rect, Scope, Tree, Value,
};
use std::sync::Arc;

const SPACE: SpaceId = SpaceId(1);
const STEP_US: u64 = 50_000;

struct Plain(Kinds);

struct Walker;

impl World for Plain {
    fn kinds(&self) -> &Kinds {
        &self.0
    }

    fn behaviour(&self, _: KindId) -> &dyn Behaviour {
        &Walker
    }
}

impl Behaviour for Walker {
    fn tick(&self, me: &mut RealCtx<'_>, _: &Sight<'_>) {
        if me.int(0) == 0 {
            return me.set_awake(false);
        }
        let (place, step) = (me.place(), if me.tick().0 % 20 < 10 { 100 } else { -100 });
        me.move_to(Pos::new(place.pos.x + step, place.pos.y), 0);
    }
}

fn world() -> Plain {
    let speed = PropDef {
        name: "speed".into(),
        scope: Scope::AllClients,
        lasting: Lasting::Durable,
        default: Value::Int(0),
        conserved: false,
        detail_distance: None,
    };
    let kind = KindDef {
        id: KindId(1),
        name: "walker".into(),
        props: vec![speed],
        methods: Vec::new(),
        has_base: true,
    };
    Plain(Kinds::new(vec![kind]))
}

fn map(me: Node, base: Node) -> Vec<MapChange> {
    let members = [me, base].map(|node| Member { node, state: MemberState::Serving });
    let slot = SlotOwner { slot: SlotId(0), base: base.name, term: Term(1) };
    let bounds = Rect::new(Pos::metres(0, 0), Pos::metres(10_000, 10_000));
    let tree = Tree::Leaf { cell: CellId(1), owner: Some(me) };
    vec![
        MapChange::Members(members.to_vec()),
        MapChange::Slots(vec![slot]),
        MapChange::Layout(Layout { space: SPACE, version: 1, bounds, tree }),
    ]
}

/// One entity every 10 m: the density does not depend on their number.
fn grant(me: Node, world: &Plain, n: u64, speed: i64) -> Option<Msg> {
    let kind = world.0.get(KindId(1))?;
    let pos = Pos::metres((n % 300) as i32 * 10 + 20, (n / 300) as i32 * 10 + 20);
    let mut state = EntityState::new(kind, Place { space: SPACE, pos, heading: 0 }, n);
    state.props[0] = Value::Int(speed);
    let digest = state.durable_digest(kind);
    Some(Msg::BaseToCell(BaseToCell::Grant(Grant {
        entity: EntityId::new(SlotId(0), n),
        epoch: Epoch::of_grant(1),
        to: me,
        seq: Seq(0),
        digest,
        why: GrantWhy::Birth,
        state: Box::new(state),
        sessions: Vec::new(),
        argument: Bytes::new(),
        last_tick: None,
    })))
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [moving, idle, ticks] = numbers[..] else {
        eprintln!("usage: tick_cost MOVING IDLE TICKS");
        std::process::exit(2);
    };
    let (me, base) = (Node::new(NodeKind::Cell, 1, 10), Node::new(NodeKind::Base, 1, 20));
    let mut config = CellConfig::new(me, 1, STEP_US);
    config.reals_max = 1_000_000;
    config.bundle_bytes_max = 1 << 30;
    let mut core = CellCore::new(config, Arc::new(world()));
    for tick in 1..=20 + ticks {
        let mut input = CellInput::empty(Tick(tick));
        let mut msgs = Vec::new();
        match tick {
            1 => input.map = map(me, base),
            2 => {
                let all =
                    (1..=moving + idle).map(|n| grant(me, &world(), n, i64::from(n <= moving)));
                msgs.extend(all.flatten());
            }
            _ => {}
        }
        let header = Header::BaseToCell { durable_tick: Some(Tick(tick - 1)) };
        let (src_tick, moment, phase_us) = (Tick(tick), Moment::Flush, 0);
        let bundle = Bundle { n: tick, src_tick, moment, phase_us, header, msgs };
        input.frames.push(Frame { from: base, bundle });
        core.tick(input);
    }
    eprintln!("digest {:016x}", core.digest().whole);
}
