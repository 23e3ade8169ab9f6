//! Whatever comes, goes, drains and dies, in any order, and however old the reports are.

use crate::stage::{ALL, Stage, base};
use marchland_common::order::SlotId;
use marchland_manager_core::{MOVES_MAX, Plan, Slow, Write, plan};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Something that happens to a baseapp, or to what is said.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Start(u16),
    End(u16),
    Condemn(u16),
    Drain(u16),
    SlowTaker(u16),
    SlowKeeper(u16),
    Fast,
    /// One says what is under way.
    Report(u16),
    /// Some moves get further.
    Advance(u8),
    /// A manager looks at the facts, for a plan that is carried out later.
    Look,
    /// The plan that was made then is carried out now: all of it, or only the orders or writes.
    CarryOut(u8),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        1 => (1u16..5).prop_map(Happens::Start),
        1 => (1u16..5).prop_map(Happens::End),
        1 => (1u16..5).prop_map(Happens::Condemn),
        2 => (1u16..5).prop_map(Happens::Drain),
        1 => (1u16..5).prop_map(Happens::SlowTaker),
        1 => (1u16..5).prop_map(Happens::SlowKeeper),
        1 => Just(Happens::Fast),
        6 => (1u16..5).prop_map(Happens::Report),
        6 => any::<u8>().prop_map(Happens::Advance),
        6 => Just(Happens::Look),
        6 => (0u8..4).prop_map(Happens::CarryOut),
    ]
}

/// What must be true of every plan.
fn hold(stage: &Stage, plan: &Plan) -> Result<(), TestCaseError> {
    let mut named = BTreeSet::new();
    for write in &plan.writes {
        let Write::Slot(slot, to) = *write else { panic!("{write:?}") };
        prop_assert!(named.insert(slot), "two writes for slot {}", slot);
        let keeper = stage.owner(slot).map(|o| o.base);
        prop_assert!(keeper == Some(to) || stage.is_serving(to), "{} gets slot {}", to, slot);
    }
    let mut ordered = 0;
    for give in &plan.gives {
        prop_assert!(stage.is_serving(give.to) && !stage.facts.slow.takers.contains(&give.to));
        prop_assert!(stage.has_reported(give.to) && stage.has_reported(give.keeper.name));
        prop_assert!(!stage.facts.slow.keepers.contains(&give.keeper.name));
        prop_assert!(give.to != give.keeper.name);
        prop_assert!(stage.lives().contains(&give.keeper.incarnation));
        for (slot, term) in &give.slots {
            prop_assert!(named.insert(*slot), "slot {} is named twice", slot);
            let owner = stage.owner(*slot).unwrap();
            prop_assert_eq!((owner.base, owner.term), (give.keeper.name, *term));
            ordered += 1;
        }
    }
    prop_assert!(ordered <= MOVES_MAX);
    Ok(())
}

fn happen(stage: &mut Stage, looked: &mut Stage, what: Happens) -> Result<(), TestCaseError> {
    match what {
        Happens::Start(number) => stage.start(number),
        Happens::End(number) => stage.end(number),
        Happens::Condemn(number) => stage.condemn(number),
        Happens::Drain(number) => stage.drain(number),
        Happens::SlowTaker(number) => stage.facts.slow.takers.extend([base(number)]),
        Happens::SlowKeeper(number) => stage.facts.slow.keepers.extend([base(number)]),
        Happens::Fast => stage.facts.slow = Slow::default(),
        Happens::Report(number) => {
            if let Some(node) = stage.life(number) {
                stage.report_of(node);
            }
        }
        Happens::Advance(dice) => stage.advance(|slot: SlotId| slot.0 % 3 != dice % 3),
        Happens::Look => {
            *looked = stage.clone();
            hold(looked, &looked.plan())?;
            prop_assert_eq!(plan(&looked.facts), looked.plan());
        }
        Happens::CarryOut(part) => {
            let plan = looked.plan();
            if part != 1 {
                stage.give(&plan.gives);
            }
            if part != 2 {
                // Checks by itself that nothing changes hands that is not held.
                stage.write(&plan, &looked.facts);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_slot_changes_hands_only_when_it_is_held_and_in_the_end_those_who_serve_share_all_of_them(
        history in prop::collection::vec(happens(), 1..120),
    ) {
        let mut stage = Stage::new(3);
        let mut looked = stage.clone();
        for what in history {
            happen(&mut stage, &mut looked, what)?;
            prop_assert_eq!(stage.facts.slots.len(), ALL);
        }
        // Everybody who keeps something is there again, and one serves for certain.
        stage.facts.slow = Slow::default();
        for number in 1..5 {
            let is_lost = stage.life(number).is_none_or(|n| stage.facts.dead.contains(&n.incarnation));
            if number == 1 || is_lost {
                stage.start(number);
            }
        }
        stage.settle();
        let serving: Vec<u16> = (1..5).filter(|n| stage.is_serving(base(*n))).collect();
        let kept: Vec<usize> = serving.iter().map(|n| stage.kept(*n)).collect();
        prop_assert_eq!(kept.iter().sum::<usize>(), ALL, "those who leave keep nothing");
        let (least, most) = (kept.iter().min().unwrap(), kept.iter().max().unwrap());
        prop_assert!(most - least <= 1, "{:?}", kept);
    }
}
