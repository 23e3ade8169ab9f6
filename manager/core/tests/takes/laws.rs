//! Whatever begins, writes, ends and is waited for, in any order, and however old the reports are.

use crate::stage::{ALL, Stage, base};
use marchland_common::order::SlotId;
use marchland_manager_core::{Plan, Slow, Write, plan};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Something that happens to a baseapp, or to what is said.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Start(u16),
    Begin(u16),
    Write(u16),
    End(u16),
    WaitFor(u16),
    Drain(u16),
    Blind(u16),
    /// One says what it takes over.
    Report(u16),
    /// Whoever reads has read.
    Advance,
    /// A manager looks at the facts, for a plan that is carried out later.
    Look,
    /// The plan that was made then is carried out now: all of it, or only the orders or writes.
    CarryOut(u8),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (1u16..5).prop_map(Happens::Start),
        4 => (1u16..5).prop_map(Happens::Begin),
        4 => (1u16..5).prop_map(Happens::Write),
        3 => (1u16..5).prop_map(Happens::End),
        5 => (1u16..5).prop_map(Happens::WaitFor),
        1 => (1u16..5).prop_map(Happens::Drain),
        1 => (1u16..5).prop_map(Happens::Blind),
        6 => (1u16..5).prop_map(Happens::Report),
        6 => Just(Happens::Advance),
        8 => Just(Happens::Look),
        8 => (0u8..4).prop_map(Happens::CarryOut),
    ]
}

/// What must be true of every plan.
fn hold(stage: &Stage, plan: &Plan) -> Result<(), TestCaseError> {
    let mut named = BTreeSet::new();
    for write in &plan.writes {
        let slot: SlotId = match *write {
            Write::Slot(slot, _) | Write::TakeOver { slot, .. } => slot,
            ref other => panic!("{other:?}"),
        };
        prop_assert!(named.insert(slot), "two writes for slot {}", slot);
    }
    let (mut takers, mut logs) = (BTreeSet::new(), BTreeSet::new());
    for take in &plan.takes {
        let from = take.order.from;
        prop_assert!(takers.insert(take.taker), "{} is asked twice", take.taker);
        prop_assert!(logs.insert(from.name), "two are to lock the log of {}", from.name);
        prop_assert!(stage.facts.dead.contains(&from.incarnation));
        prop_assert!(stage.facts.overdue.contains(&from.name));
        prop_assert_eq!(stage.life(from.name.number), None);
        prop_assert!(!take.order.slots.is_empty());
        for (slot, term) in &take.order.slots {
            prop_assert!(named.insert(*slot), "slot {} is named twice", slot);
            let owner = stage.owner(*slot).unwrap();
            prop_assert_eq!((owner.base, owner.term), (from.name, *term));
        }
    }
    Ok(())
}

fn happen(stage: &mut Stage, looked: &mut Stage, what: Happens) -> Result<(), TestCaseError> {
    match what {
        Happens::Start(number) => stage.start(number),
        Happens::Begin(number) => drop(stage.begin(number)),
        Happens::Write(number) => stage.write(number),
        Happens::End(number) => stage.end(number),
        Happens::WaitFor(number) => stage.wait_for(number),
        Happens::Drain(number) => stage.drain(number),
        Happens::Blind(number) => drop(stage.blind.insert(base(number))),
        Happens::Report(number) => {
            if let Some(node) = stage.life(number) {
                stage.report_of(node);
            }
        }
        Happens::Advance => stage.advance(),
        Happens::Look => {
            *looked = stage.clone();
            hold(looked, &looked.plan())?;
            prop_assert_eq!(plan(&looked.facts), looked.plan());
        }
        Happens::CarryOut(part) => {
            let plan = looked.plan();
            if part != 1 {
                stage.order(&plan.takes);
            }
            if part != 2 {
                // Checks by itself that nothing changes hands that is not all there.
                stage.carry_out(&plan, &looked.facts);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn nothing_that_was_written_is_left_behind_and_in_the_end_those_who_serve_share_all_slots(
        history in prop::collection::vec(happens(), 1..160),
    ) {
        let mut stage = Stage::new(3);
        let mut looked = stage.clone();
        for what in history {
            happen(&mut stage, &mut looked, what)?;
            prop_assert_eq!(stage.facts.slots.len(), ALL);
        }
        // One serves for certain, and nobody else ever comes back.
        stage.facts.slow = Slow::default();
        stage.blind.clear();
        stage.start(1);
        for number in 2..5 {
            stage.lose(number);
        }
        // Its log may be locked until the keys are written anew.
        for _ in 0..4 {
            stage.round();
            stage.begin(1);
        }
        stage.settle();
        prop_assert_eq!(stage.kept(1), ALL);
    }
}
