#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::kit::{CAVE, DIARY, FUR, HEALTH, MOOD, PLAIN, WOLF, at, epoch, id, kinds};
use crate::interest::{ghosted_props, pose_of};
use proptest::prelude::*;

const AREA: Rect = Rect { min: Pos::metres(0, 0), max: Pos::metres(300, 100) };

fn wolf(x: i32, y: i32, seq: u64) -> Shown {
    let kinds = kinds();
    let kind = kinds.get(WOLF).unwrap();
    Shown {
        kind: WOLF,
        space: PLAIN,
        pose: pose_of(&at(x, y)),
        epoch: epoch(1),
        seq: Seq(seq),
        since: epoch(1),
        props: ghosted_props(kind, &kind.defaults()),
        is_real: false,
    }
}

fn looks() -> Looks {
    let mut looks = Looks::new(20_000);
    looks.open_space(PLAIN, AREA);
    looks
}

fn near(looks: &Looks, space: SpaceId, x: i32, y: i32) -> Vec<EntityId> {
    let mut ids = Vec::new();
    looks.each_within(space, Pos::metres(x, y), 30_000, &mut |other| ids.push(other.id));
    ids
}

fn reread(looks: &Looks) -> Looks {
    postcard::from_bytes(&postcard::to_stdvec(looks).unwrap()).unwrap()
}

#[test]
fn a_look_has_only_the_properties_that_ghosts_carry() {
    let mut looks = looks();
    looks.show(id(1), wolf(10, 10, 5));
    looks.with(id(1), &mut |other| {
        assert_eq!(other.prop(HEALTH), Some(&Value::Int(100)));
        assert!(other.prop(MOOD).is_some() && other.prop(FUR).is_some());
        assert_eq!(other.prop(DIARY), None);
    });
}

#[test]
fn each_step_marks_the_fields_that_changed_and_no_others() {
    let mut looks = looks();
    looks.show(id(1), wolf(10, 10, 5));
    let still = looks.get(id(1)).unwrap().pose();
    let step = looks.advance(id(1), PLAIN, still, [(HEALTH, Value::Int(100))], false);
    assert_eq!(step, Advanced::default(), "an equal value is no change");
    let pose = pose_of(&at(11, 10));
    assert_eq!(looks.advance(id(1), PLAIN, pose, [], false).fields, POSITION);
    let health = [(HEALTH, Value::Int(90))];
    assert_eq!(looks.advance(id(1), PLAIN, pose, health, false).fields, 1 << HEALTH);
    let look = looks.get(id(1)).unwrap();
    assert_eq!(look.seq(), Seq(7));
    assert_eq!(look.fields_after(Seq(6)), 1 << HEALTH);
    assert_eq!(look.fields_after(Seq(5)), 1 << HEALTH | POSITION);
    assert_eq!(look.fields_after(Seq(7)), 0);
    assert_eq!(looks.advance(id(1), PLAIN, pose, [(DIARY, Value::Int(1))], true).fields, 0);
    assert_eq!(looks.get(id(1)).unwrap().seq(), Seq(8), "a forced step counts");
}

#[test]
fn a_whole_state_after_a_gap_counts_every_field_as_changed() {
    let mut looks = looks();
    looks.show(id(1), wolf(10, 10, 5));
    looks.show(id(1), wolf(10, 10, 5));
    assert_eq!(looks.get(id(1)).unwrap().fields_after(Seq(5)), 0);
    looks.show(id(1), wolf(10, 10, 9));
    let all = POSITION | HEADING | 1 << HEALTH | 1 << MOOD | 1 << FUR;
    assert_eq!(looks.get(id(1)).unwrap().fields_after(Seq(8)), all);
    looks.adopt(id(1), epoch(2), Seq(9));
    assert_eq!(looks.get(id(1)).unwrap().fields_after(Seq(9)), 0);
    looks.adopt(id(1), epoch(3), Seq(11));
    assert_eq!(looks.get(id(1)).unwrap().fields_after(Seq(10)), all);
}

#[test]
fn an_entity_that_changes_its_space_is_found_there_only() {
    let mut looks = looks();
    looks.show(id(1), wolf(10, 10, 5));
    let pose = pose_of(&at(10, 10));
    let step = looks.advance(id(1), CAVE, pose, [], false);
    assert!(step.jumped && step.fields == POSITION);
    assert_eq!(near(&looks, PLAIN, 10, 10), []);
    assert_eq!(near(&looks, CAVE, 10, 10), [id(1)]);
    looks.open_space(CAVE, AREA);
    assert_eq!(near(&looks, CAVE, 10, 10), [id(1)], "a grid that is fitted loses nobody");
    looks.close_space(CAVE);
    assert_eq!(near(&looks, CAVE, 10, 10), [id(1)], "nor one that is closed too early");
    looks.remove(id(1));
    assert_eq!(looks.spaces.keys().collect::<Vec<_>>(), [&PLAIN]);
}

#[test]
fn made_up_spaces_and_places_cost_little_and_break_nothing() {
    let mut looks = looks();
    for n in 1..200 {
        looks.show(id(n), Shown { space: SpaceId(n as u32 + 9), ..wolf(0, 0, 1) });
    }
    for n in 1..200 {
        looks.show(id(n), wolf(0, 0, 1));
    }
    assert_eq!(looks.spaces.len(), 1, "no grid is kept for nobody");
    let mut found = Vec::new();
    looks.collect(PLAIN, Pos::new(i32::MIN, i32::MAX), i32::MAX, &mut found);
    looks.each_within(PLAIN, Pos::new(i32::MAX, i32::MIN), i32::MAX, &mut |_| ());
    assert!(!looks.changed_within(PLAIN, Pos::new(i32::MAX, 0), -1));
}

#[test]
fn a_crowd_that_left_takes_no_room() {
    let mut looks = looks();
    looks.show(id(1), wolf(1, 1, 1));
    for n in 2..5_000 {
        looks.show(id(n), wolf(n as i32 % 300, 50, 1));
    }
    for n in 2..5_000 {
        assert!(looks.remove(id(n)).is_some());
    }
    assert_eq!(looks.len(), 1);
    assert!(looks.slots() < 2_100, "{} slots for one entity", looks.slots());
    assert_eq!(near(&looks, PLAIN, 1, 1), [id(1)]);
}

#[test]
fn a_broken_snapshot_is_refused() {
    let mut looks = looks();
    looks.show(id(1), wolf(10, 10, 5));
    let image = LooksImage::from(looks);
    let mut twice = image.clone();
    twice.looks.push(twice.looks[0].clone());
    assert!(Looks::try_from(twice).is_err());
    let mut unordered = image.clone();
    unordered.looks[0].props.swap(0, 1);
    assert!(Looks::try_from(unordered).is_err());
    let mut high = image;
    high.looks[0].props[2].0 = 40;
    assert!(Looks::try_from(high).is_err());
}

proptest! {
    #[test]
    fn a_table_that_was_written_and_read_back_is_equal_and_goes_on_alike(
        ops in proptest::collection::vec((1..12_u64, 0..5_u8, 0..300_i32, 0..100_i32), 1..60),
        later in proptest::collection::vec((1..12_u64, 0..5_u8, 0..300_i32, 0..100_i32), 1..20),
    ) {
        let mut looks = looks();
        let run = |looks: &mut Looks, (n, what, x, y): (u64, u8, i32, i32)| match what {
            0 => looks.show(id(n), wolf(x, y, 3)),
            1 => drop(looks.remove(id(n))),
            2 => looks.turn_over(),
            3 => {
                let health = [(HEALTH, Value::Int(i64::from(y)))];
                looks.advance(id(n), PLAIN, pose_of(&at(x, y)), health, false);
            }
            _ => drop(looks.advance(id(n), CAVE, pose_of(&at(x, y)), [], false)),
        };
        ops.into_iter().for_each(|op| run(&mut looks, op));
        let mut copy = reread(&looks);
        prop_assert_eq!(&copy, &looks);
        for op in later {
            run(&mut looks, op);
            run(&mut copy, op);
            prop_assert_eq!(&copy, &looks);
            prop_assert_eq!(near(&copy, PLAIN, 150, 50), near(&looks, PLAIN, 150, 50));
            for x in (0..300).step_by(40) {
                let centre = Pos::metres(x, 50);
                let changed = |looks: &Looks| looks.changed_within(PLAIN, centre, 9_000);
                prop_assert_eq!(changed(&copy), changed(&looks));
            }
        }
    }
}
