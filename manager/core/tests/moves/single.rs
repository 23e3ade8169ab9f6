//! One thing at a time.

use crate::stage::{ALL, Stage, base};
use marchland_common::cluster::{MemberState, MoveStage, SlotMove};
use marchland_common::order::{SlotId, Term};
use marchland_manager_core::{MOVES_MAX, Plan, Slow, Write};

/// The stage of two, with the first one's slots on their way to the second.
fn leaving() -> Stage {
    let mut stage = Stage::new(2);
    stage.drain(1);
    stage.round();
    assert_eq!(stage.under_way(), MOVES_MAX);
    stage
}

#[test]
fn a_baseapp_that_leaves_gives_its_slots_to_those_with_the_fewest_a_bounded_number_at_once() {
    let mut stage = Stage::new(3);
    stage.drain(1);
    let first = stage.plan();
    let ordered: usize = first.gives.iter().map(|g| g.slots.len()).sum();
    assert_eq!((ordered, first.writes.len()), (MOVES_MAX, 0), "nothing changes hands by an order");
    assert!(first.gives.iter().all(|g| Some(g.keeper) == stage.life(1)));
    stage.settle();
    let (second, third) = (stage.kept(2), stage.kept(3));
    assert_eq!((stage.kept(1), second + third), (0, ALL));
    assert!(second.abs_diff(third) <= 1, "{second} and {third}");
}

#[test]
fn an_order_that_nobody_heard_is_said_again_and_one_that_is_carried_out_is_not() {
    let mut stage = Stage::new(2);
    stage.drain(1);
    let first = stage.plan();
    stage.report();
    assert_eq!(stage.plan(), first, "the same facts, the same plan");
    stage.give(&first.gives);
    stage.report();
    assert_eq!(stage.plan(), Plan::default(), "everything that may be on its way is");
}

#[test]
fn a_baseapp_that_said_nothing_of_its_moves_is_asked_for_none() {
    let mut stage = Stage::new(2);
    stage.drain(1);
    stage.facts.moves.clear();
    assert_eq!(stage.plan(), Plan::default());
}

#[test]
fn the_last_baseapp_keeps_its_slots_and_so_do_all_that_leave_together() {
    let mut stage = Stage::new(1);
    stage.drain(1);
    assert_eq!(stage.plan(), Plan::default());
    let mut stage = Stage::new(2);
    stage.drain(1);
    stage.drain(2);
    assert_eq!(stage.plan(), Plan::default());
}

#[test]
fn a_move_is_committed_when_it_is_held_and_not_before() {
    let mut stage = leaving();
    stage.report();
    assert_eq!(stage.plan().writes, []);
    stage.advance(|slot| slot.0.is_multiple_of(4));
    stage.report();
    let held = stage.facts.moves[&stage.life(1).unwrap()].clone();
    let held: Vec<_> = held.iter().filter(|m| matches!(m.stage, MoveStage::Held(_))).collect();
    assert!(!held.is_empty());
    let commits: Vec<Write> = held.iter().map(|m| Write::Slot(m.slot, base(2))).collect();
    assert_eq!(stage.plan().writes, commits);
}

/// What becomes of moves to the second baseapp after something happened to it.
fn called_off_after(what: impl Fn(&mut Stage)) {
    for rounds in 0..2 {
        let mut stage = leaving();
        (0..rounds).for_each(|_| stage.advance(|_| true));
        what(&mut stage);
        stage.report();
        let plan = stage.plan();
        assert_eq!(plan.writes.len(), MOVES_MAX, "stage {rounds}");
        let back = |w: &Write| matches!(w, Write::Slot(_, to) if *to == base(1));
        assert!(plan.writes.iter().all(back), "stage {rounds}");
        assert_eq!(plan.gives, [], "there is nobody else");
        let seen = stage.facts.clone();
        stage.write(&plan, &seen);
        assert_eq!((stage.under_way(), stage.plan().writes.len()), (0, 0));
    }
}

#[test]
fn a_move_whose_next_keeper_is_not_there_to_take_it_is_called_off_in_every_stage() {
    called_off_after(|stage| stage.condemn(2));
    called_off_after(|stage| stage.end(2));
    called_off_after(|stage| stage.drain(2));
    called_off_after(|stage| stage.facts.slow.takers.extend([base(2)]));
}

#[test]
fn a_keeper_that_brings_nothing_to_a_standstill_gives_nothing_and_may_take() {
    let mut stage = Stage::new(2);
    stage.drain(1);
    stage.give(&stage.plan().gives);
    stage.advance(|slot| slot.0.is_multiple_of(4));
    stage.report();
    stage.facts.slow.keepers.extend([base(1)]);
    let keeper = stage.life(1).unwrap();
    let closing = |m: &&SlotMove| m.stage == MoveStage::Closing;
    let running: Vec<SlotMove> =
        stage.facts.moves[&keeper].iter().filter(closing).copied().collect();
    assert!(!running.is_empty() && running.len() < MOVES_MAX);
    let back: Vec<Write> = running.iter().map(|m| Write::Slot(m.slot, base(1))).collect();
    let plan = stage.plan();
    assert_eq!((&plan.writes, &plan.gives), (&back, &vec![]), "what stands still goes on");
    let seen = stage.facts.clone();
    stage.write(&plan, &seen);
    stage.report();
    assert_eq!(stage.under_way(), MOVES_MAX - back.len());
    assert_eq!(stage.plan(), Plan::default(), "there is room, and it is asked for nothing");
    stage.facts.slow = Slow::default();
    stage.settle();
    assert_eq!(stage.kept(1), 0);

    let mut stage = Stage::new(2);
    stage.start(3);
    stage.report();
    stage.facts.slow.keepers.extend([base(3)]);
    assert!(stage.plan().gives.iter().all(|give| give.to == base(3)));
    assert_eq!(stage.plan().gives.len(), 2);
}

#[test]
fn nothing_is_given_to_a_life_that_said_nothing_yet() {
    let mut stage = Stage::new(2);
    stage.drain(1);
    stage.start(2);
    assert_eq!(stage.plan(), Plan::default(), "it may still be reading its log");
    let all_to = |stage: &Stage, number: u16| {
        let gives = stage.plan().gives;
        !gives.is_empty() && gives.iter().all(|give| give.to == base(number))
    };
    let mut with_a_third = stage.clone();
    with_a_third.start(3);
    with_a_third.report_of(with_a_third.life(3).unwrap());
    assert!(all_to(&with_a_third, 3));
    stage.report();
    assert!(all_to(&stage, 2));
}

#[test]
fn nothing_new_is_given_to_who_takes_nothing_at_present_and_what_is_on_its_way_goes_on() {
    let mut stage = Stage::new(2);
    stage.facts.unwilling.extend(stage.life(2));
    stage.drain(1);
    assert_eq!(stage.plan(), Plan::default());
    let mut stage = leaving();
    stage.facts.unwilling.extend(stage.life(2));
    stage.report();
    assert_eq!(stage.plan(), Plan::default(), "it is not called off either");
    stage.advance(|_| true);
    stage.report();
    assert_eq!(stage.plan().writes.len(), MOVES_MAX);
}

#[test]
fn a_move_goes_on_with_the_next_life_of_either_side() {
    for number in [1, 2] {
        let mut stage = leaving();
        stage.start(number);
        stage.report();
        assert_eq!(stage.plan().writes, [], "of {number}");
        stage.advance(|_| true);
        stage.report();
        assert_eq!(stage.plan().writes.len(), MOVES_MAX, "of {number}");
    }
}

#[test]
fn what_was_called_off_goes_to_somebody_else() {
    let mut stage = Stage::new(3);
    stage.drain(1);
    stage.round();
    stage.end(2);
    stage.settle();
    assert_eq!((stage.kept(1), stage.kept(2)), (0, 85), "the slots of who is away wait for it");
    assert_eq!(stage.kept(3), ALL - 85);
}

#[test]
fn a_baseapp_that_was_emptied_gets_its_share_again_once_it_serves() {
    let mut stage = Stage::new(2);
    stage.drain(1);
    stage.settle();
    assert_eq!(stage.plan(), Plan::default(), "who leaves gets nothing");
    stage.start(1);
    stage.settle();
    assert_eq!((stage.kept(1), stage.kept(2)), (ALL / 2, ALL / 2));
    stage.start(3);
    stage.settle();
    assert_eq!((stage.kept(1), stage.kept(2), stage.kept(3)), (86, 85, 85));
}

#[test]
fn nothing_is_shared_out_while_a_keeper_is_away_or_leaves() {
    for what in [Stage::end, Stage::condemn] {
        let mut stage = Stage::new(2);
        what(&mut stage, 2);
        stage.start(3);
        stage.report();
        assert_eq!(stage.plan(), Plan::default(), "its slots wait for it");
    }
}

#[test]
fn a_report_of_an_earlier_term_or_life_or_of_somebody_else_counts_for_nothing() {
    let mut stage = Stage::new(2);
    let (first, second) = (stage.life(1).unwrap(), stage.life(2).unwrap());
    let slot = stage.facts.slots.iter().find(|s| s.base == base(1)).unwrap().slot;
    let term = stage.owner(slot).unwrap().term;
    let stage_held = MoveStage::Held(second.incarnation);
    let held = |term: Term| SlotMove { slot, term, to: base(2), stage: stage_held };
    let nothing = |stage: &Stage, why: &str| assert_eq!(stage.plan(), Plan::default(), "{why}");

    stage.facts.moves.insert(first, vec![held(Term(term.0 - 1))]);
    nothing(&stage, "the key was written since");
    stage.facts.moves.insert(first, Vec::new());
    stage.facts.moves.insert(second, vec![held(term)]);
    nothing(&stage, "another one keeps it");
    stage.facts.moves.insert(second, Vec::new());
    stage.facts.moves.insert(first, vec![held(term)]);
    assert_eq!(stage.plan().writes, [Write::Slot(slot, base(2))], "the same in time");
    let old = stage.facts.moves.remove(&first).unwrap();
    stage.start(1);
    stage.facts.moves.insert(first, old);
    nothing(&stage, "another life keeps it");
}

#[test]
fn a_commit_that_rests_on_an_old_term_is_refused_by_the_key() {
    let mut stage = leaving();
    stage.advance(|_| true);
    stage.report();
    let (seen, late) = (stage.facts.clone(), stage.plan());
    assert_eq!(late.writes.len(), MOVES_MAX);
    // Meanwhile another leader calls everything off.
    stage.drain(2);
    stage.settle();
    let before = stage.facts.slots.clone();
    stage.write(&late, &seen);
    assert_eq!(stage.facts.slots, before, "nothing is committed twice, or after it was called off");
    stage.give(&late.gives);
    assert_eq!(stage.under_way(), 0, "nor is anything begun under an old term");
}

#[test]
fn whoever_leaves_gets_no_slot_that_nobody_keeps() {
    let mut stage = Stage::new(2);
    stage.facts.waited_enough = true;
    stage.facts.slots.retain(|s| s.slot >= SlotId(8));
    stage.drain(1);
    stage.facts.moves.clear();
    let writes = stage.plan().writes;
    assert_eq!(writes.len(), 8);
    assert!(writes.iter().all(|w| matches!(w, Write::Slot(_, to) if *to == base(2))));
    stage.drain(2);
    assert!(stage.facts.members.iter().all(|m| m.state == MemberState::Draining));
    assert_eq!(stage.plan().writes, []);
    assert_eq!(stage.plan().waiting, ["0 of 2 baseapps"]);
}
