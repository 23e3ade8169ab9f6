#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::kit::{
    CAVE, DIARY, FUR, HEALTH, PLAIN, SECRET, WOLF, at, cell, epoch, id, kinds, map_of, strips,
};
use marchland_codec_core::DeltaReader;
use marchland_common::cluster::MapChange;
use marchland_common::world::{Kinds, Pos};
use proptest::prelude::*;

const RANGE: GhostRange = GhostRange { distance: 60_000, margin: 5_000, min_life: 40 };

/// One owner of reals: cell 1, in the second of five strips.
struct Owner {
    haunts: Haunts,
    looks: Looks,
    kinds: Kinds,
    now: Tick,
    out: GhostOut,
    props: Vec<Value>,
}

impl Owner {
    fn new() -> Self {
        let kinds = kinds();
        let mut haunts = Haunts::new(cell(1), RANGE);
        let map = map_of(strips(&[cell(2), cell(1), cell(3), cell(2), cell(4)]));
        haunts.set_reach(Reach::new(cell(1), &map));
        Self {
            haunts,
            looks: Looks::new(30_000),
            props: kinds.get(WOLF).unwrap().defaults(),
            kinds,
            now: Tick(100),
            out: GhostOut::default(),
        }
    }

    fn begin(&mut self, n: u64, e: u64, place: Place, from: Beginning<'_>) {
        let kind = self.kinds.get(WOLF).unwrap();
        let real = NewReal { entity: id(n), epoch: epoch(e), kind, place, props: &self.props };
        self.haunts.begin(&real, from, self.now, &mut self.looks, &mut self.out);
    }

    fn touch(&mut self, n: u64, place: Place, dirty: u32) {
        let kind = self.kinds.get(WOLF).unwrap();
        self.haunts.touch(id(n), kind, &place, (&self.props, dirty), &mut self.looks);
    }

    /// Ends the tick and returns what was said, as (receiver, words).
    fn flush(&mut self) -> Vec<(u16, String)> {
        self.haunts.flush(self.now, &self.looks, &mut self.out);
        self.now = self.now.next();
        let mail = std::mem::take(&mut self.out.mail);
        mail.iter().map(|(to, message)| (to.name.number, words(message))).collect()
    }

    /// Walks one entity step by step, one metre a tick, and returns what was said of its hosts.
    fn walk(&mut self, n: u64, from: i32, to: i32) -> Vec<(i32, u16, String)> {
        let mut said = Vec::new();
        let step = if to > from { 1 } else { -1 };
        let mut x = from;
        while x != to {
            x += step;
            self.touch(n, at(x, 50), 0);
            let lines = self.flush().into_iter().filter(|(_, words)| !words.starts_with("delta"));
            said.extend(lines.map(|(host, words)| (x, host, words)));
        }
        said
    }
}

fn words(message: &CellToCell) -> String {
    match message {
        CellToCell::GhostCreate(c) => format!("create {}#{} seq {}", c.entity, c.index, c.seq),
        CellToCell::GhostDeltas(block) => {
            let deltas: Vec<_> = DeltaReader::new(block).unwrap().flatten().collect();
            let fields = |d: &marchland_codec_core::Delta<'_>| {
                let props: Vec<_> = d.props.map(|prop| prop.slot.to_string()).collect();
                format!("#{}{}", d.index, props.concat().replace('0', "+health"))
            };
            format!("delta {}", deltas.iter().map(fields).collect::<Vec<_>>().join(" "))
        }
        CellToCell::GhostAdopt { entity, seq, index, .. } => {
            format!("adopt {entity}#{index} seq {seq}")
        }
        CellToCell::GhostRemove { entity, destroyed: false, .. } => format!("remove {entity}"),
        CellToCell::GhostRemove { entity, .. } => format!("destroy {entity}"),
        CellToCell::GhostDisown { entity, index, .. } => format!("disown {entity}#{index}"),
        other => format!("{other:?}"),
    }
}

fn said(to: u16, words: &str) -> (u16, String) {
    (to, words.replace("E1", &id(1).to_string()).replace("E2", &id(2).to_string()))
}

#[test]
fn a_ghost_is_made_at_the_distance_and_goes_behind_the_margin_after_its_life() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    assert_eq!(owner.flush(), [said(2, "create E1#0 seq 1"), said(3, "create E1#0 seq 1")]);
    owner.now = Tick(200);
    let gone = (165, 2, format!("remove {}", id(1)));
    assert_eq!(owner.walk(1, 150, 199), [gone], "65 m from the first strip, and old enough");
    assert_eq!(owner.walk(1, 199, 160), [], "behind the distance, before the margin");
    let come = (159, 2, format!("create {}#0 seq 90", id(1)));
    assert_eq!(owner.walk(1, 160, 140), [come]);
}

#[test]
fn a_young_ghost_stays_for_its_life_although_nothing_moves_any_more() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.touch(1, at(170, 50), 0);
    assert_eq!(owner.flush(), [(2, "delta #0".to_owned()), (3, "delta #0".to_owned())]);
    let quiet: Vec<_> = (0..38).flat_map(|_| owner.flush()).collect();
    assert_eq!(quiet, []);
    assert_eq!(owner.flush(), [said(2, "remove E1")], "40 ticks after it was made");
}

#[test]
fn two_cells_of_one_owner_make_one_ghost_and_a_dead_owner_none() {
    let mut owner = Owner::new();
    let mut map = map_of(strips(&[cell(2), cell(1), cell(2), cell(3)]));
    map.apply(MapChange::Dead(vec![cell(3).incarnation]));
    owner.haunts.set_reach(Reach::new(cell(1), &map));
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    assert_eq!(owner.flush(), [said(2, "create E1#0 seq 1")]);
}

#[test]
fn a_new_layout_finds_the_hosts_of_reals_that_rest() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.now = Tick(200);
    let map = map_of(strips(&[cell(4), cell(1), cell(3)]));
    owner.haunts.set_reach(Reach::new(cell(1), &map));
    assert_eq!(owner.flush(), [said(2, "remove E1"), said(4, "create E1#0 seq 1")]);
    owner.haunts.set_reach(Reach::new(cell(1), &map));
    assert!(owner.haunts.unsettled.is_empty(), "an equal geometry changes nothing");
}

#[test]
fn a_tick_is_one_block_per_host_with_only_what_changed_and_may_be_seen() {
    let mut owner = Owner::new();
    for n in 1..=3 {
        owner.begin(n, 1, at(150, 50), Beginning::Birth);
    }
    owner.flush();
    owner.props[usize::from(HEALTH)] = Value::Int(7);
    owner.props[usize::from(DIARY)] = Value::Bytes(b"more".to_vec());
    owner.touch(3, at(151, 50), 1 << HEALTH | 1 << DIARY);
    owner.touch(1, at(151, 50), 0);
    owner.touch(2, at(150, 50), 1 << DIARY);
    let block = "delta #0 #2+health";
    assert_eq!(owner.flush(), [said(2, block), said(3, block)]);
    assert_eq!(owner.out.deltas, 4);
    assert_eq!(owner.looks.get(id(2)).unwrap().seq(), Seq(1), "nothing that ghosts know changed");
    assert_eq!(owner.flush(), []);
}

#[test]
fn a_move_below_the_rounding_is_not_told() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    let mut place = at(150, 50);
    place.pos.x += 20;
    owner.touch(1, place, 0);
    assert_eq!(owner.flush(), []);
    place.pos.x += 20;
    owner.touch(1, place, 0);
    assert_eq!(owner.flush().len(), 2, "but it adds up");
}

#[test]
fn a_host_that_asks_gets_the_whole_ghost_and_no_delta_of_that_tick() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.haunts.need_snapshot(cell(3), id(1), epoch(1), &mut owner.out);
    owner.touch(1, at(151, 50), 0);
    assert_eq!(owner.flush(), [said(3, "create E1#0 seq 2"), said(2, "delta #0")]);
    for (from, n, e) in [(4, 1, 1), (3, 2, 1), (3, 1, 2)] {
        owner.haunts.need_snapshot(cell(from), id(n), epoch(e), &mut owner.out);
        assert_eq!(owner.out.refusals.pop().unwrap().reason, Refused::GhostStale);
    }
    assert_eq!(owner.flush(), []);
    owner.haunts.restart_host(cell(2));
    assert_eq!(owner.flush(), [said(2, "create E1#0 seq 2")]);
}

#[test]
fn a_new_owner_tells_every_host_before_anything_else() {
    let mut owner = Owner::new();
    let hosts = [cell(1), cell(3)];
    let (from, ghost_since) = (cell(2), epoch(1));
    let handoff = Beginning::Handoff { from, ghost_seq: Seq(30), ghost_since, hosts: &hosts };
    owner.begin(1, 2, at(120, 50), handoff);
    owner.touch(1, at(121, 50), 0);
    assert_eq!(
        owner.flush(),
        [
            said(2, "adopt E1#0 seq 30"),
            said(3, "adopt E1#0 seq 30"),
            said(2, "delta #0"),
            said(3, "delta #0"),
        ]
    );
    let flushed = owner.out.events.iter().map(|event| match event {
        Event::GhostFlushed { epoch, seq, .. } => (epoch.grant(), seq.0),
        other => panic!("{other:?}"),
    });
    assert_eq!(flushed.collect::<Vec<_>>(), [(2, 30), (2, 31)]);
    let far: Vec<_> = (0..40).flat_map(|_| owner.flush()).collect();
    assert_eq!(far, [said(3, "remove E1")], "cell 3 is 79 m away");
}

#[test]
fn a_real_that_is_brought_up_to_date_twice_in_a_tick_is_told_whole() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.touch(1, at(151, 50), 0);
    owner.touch(1, at(150, 50), 0);
    assert_eq!(owner.flush(), [said(2, "create E1#0 seq 3"), said(3, "create E1#0 seq 3")]);
    owner.touch(1, at(151, 50), 0);
    assert_eq!(owner.flush(), [(2, "delta #0".to_owned()), (3, "delta #0".to_owned())]);
}

#[test]
fn a_frozen_real_says_nothing_until_it_goes_on() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    let handed = owner.haunts.freeze(id(1), &owner.looks).unwrap();
    owner.touch(1, at(151, 50), 0);
    assert_eq!((handed.ghost_seq, handed.hosts), (Seq(1), vec![cell(2), cell(3)]));
    owner.haunts.need_snapshot(cell(3), id(1), epoch(1), &mut owner.out);
    let map = map_of(strips(&[cell(4), cell(1)]));
    owner.haunts.set_reach(Reach::new(cell(1), &map));
    assert_eq!(owner.flush(), []);
    owner.haunts.thaw(id(1));
    assert_eq!(owner.flush(), [said(3, "create E1#0 seq 1"), said(4, "create E1#0 seq 1")]);
}

#[test]
fn an_end_is_told_once_and_its_numbers_are_used_again_after_it() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.touch(1, at(151, 50), 0);
    owner.haunts.disown(id(1), &mut owner.out);
    owner.begin(2, 1, at(150, 50), Beginning::Birth);
    assert_eq!(
        owner.flush(),
        [
            said(2, "disown E1#0"),
            said(3, "disown E1#0"),
            said(2, "create E2#0 seq 1"),
            said(3, "create E2#0 seq 1"),
        ]
    );
    assert!(owner.looks.get(id(1)).is_some(), "its look is the caller's");
    owner.touch(2, at(151, 50), 0);
    owner.haunts.destroy(id(2), &mut owner.looks, &mut owner.out);
    assert_eq!(owner.flush(), [said(2, "destroy E2"), said(3, "destroy E2")]);
    assert!(owner.looks.get(id(2)).is_none());
    assert!(owner.haunts.is_empty() && owner.haunts.links.is_empty());
}

#[test]
fn a_restored_real_says_since_when_its_lineage_holds() {
    let mut owner = Owner::new();
    owner.begin(1, 4, at(150, 50), Beginning::Restore);
    owner.haunts.flush(owner.now, &owner.looks, &mut owner.out);
    for (_, message) in &owner.out.mail {
        let CellToCell::GhostCreate(create) = message else { panic!("{message:?}") };
        assert_eq!((create.since, create.epoch), (epoch(4), epoch(4)));
    }
}

#[test]
fn a_jump_into_another_space_is_told_whole() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.touch(1, Place { space: CAVE, ..at(150, 50) }, 0);
    assert_eq!(owner.flush(), [said(2, "create E1#0 seq 2"), said(3, "create E1#0 seq 2")]);
    owner.now = Tick(200);
    assert_eq!(owner.flush(), [said(2, "remove E1"), said(3, "remove E1")]);
}

#[test]
fn a_life_that_is_gone_is_forgotten_without_a_word() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.flush();
    owner.haunts.forget_host(cell(2));
    assert_eq!(owner.haunts.hosts(id(1)), [cell(3)]);
    let mut map = map_of(strips(&[cell(2), cell(1), cell(3)]));
    map.apply(MapChange::Dead(vec![cell(2).incarnation]));
    owner.haunts.set_reach(Reach::new(cell(1), &map));
    assert_eq!(owner.flush(), []);
}

#[test]
fn private_and_own_client_values_never_leave_the_owner() {
    let mut owner = Owner::new();
    owner.begin(1, 1, at(150, 50), Beginning::Birth);
    owner.haunts.flush(owner.now, &owner.looks, &mut owner.out);
    owner.props[usize::from(FUR)] = Value::Bytes(b"white".to_vec());
    owner.touch(1, at(151, 50), u32::MAX);
    owner.haunts.flush(owner.now, &owner.looks, &mut owner.out);
    let bytes = postcard::to_stdvec(&owner.out.mail).unwrap();
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    assert!(holds(b"white") && holds(b"hungry"));
    assert!(!holds(SECRET));
}

#[test]
fn a_real_deep_inside_is_looked_at_only_when_it_has_gone_far() {
    let mut owner = Owner::new();
    let wide = [cell(1); 9];
    let mut strip: Vec<Node> = wide.to_vec();
    strip.push(cell(2));
    owner.haunts.set_reach(Reach::new(cell(1), &map_of(strips(&strip))));
    owner.begin(1, 1, at(10, 50), Beginning::Birth);
    owner.flush();
    let mut checks = 0;
    for x in 11..=500 {
        owner.touch(1, at(x, 50), 0);
        checks += owner.haunts.unsettled.len();
        owner.flush();
    }
    assert!((1..=10).contains(&checks), "{checks} searches in 490 moves");
}

proptest! {
    /// However a real walks, its hosts are always exactly whom the rule names, although they are
    /// searched only now and then.
    #[test]
    fn the_hosts_are_those_of_the_rule_at_every_tick(
        steps in proptest::collection::vec((-20_000..20_000_i32, -9_000..9_000_i32), 1..150),
        min_life in 0..30_u64,
    ) {
        let mut owner = Owner::new();
        owner.haunts.range.min_life = min_life;
        let mut place = at(150, 50);
        owner.begin(1, 1, place, Beginning::Birth);
        let mut since: BTreeMap<Node, Tick> = BTreeMap::new();
        for (dx, dy) in steps {
            place.pos = Pos::new(place.pos.x + dx, (place.pos.y + dy).clamp(0, 100_000));
            owner.touch(1, place, 0);
            let now = owner.now;
            owner.flush();
            let all = owner.haunts.reach.near(PLAIN, place.pos, i32::MAX);
            let within = |node: &Node, reach: i64| {
                all.iter().any(|n| n.node == *node && n.distance_sq <= reach * reach)
            };
            since.retain(|node, since| within(node, 65_000) || now.0 - since.0 < min_life);
            for near in all.iter().filter(|n| n.distance_sq <= 60_000 * 60_000) {
                since.entry(near.node).or_insert(now);
            }
            let truth: Vec<Node> = since.keys().copied().collect();
            prop_assert_eq!(owner.haunts.hosts(id(1)), truth);
        }
    }
}
