//! One thing at a time.

use crate::stage::{ALL, Stage, base};
use marchland_common::cluster::{TakeOverStage, TakeOverState};
use marchland_common::order::{Incarnation, Node};
use marchland_manager_core::{LostState, Plan, Write};

/// The stage of so many, the first one lost and overdue.
fn bereft(bases: u16) -> Stage {
    let mut stage = Stage::new(bases);
    stage.write(1);
    stage.lose(1);
    stage.report();
    stage
}

/// The state of the first one's slots.
fn state(plan: &Plan) -> &LostState {
    let [lost] = &plan.lost[..] else { panic!("{:?}", plan.lost) };
    assert_eq!(lost.name, base(1));
    &lost.state
}

fn is_back(write: &Write) -> bool {
    matches!(write, Write::Slot(_, to) if *to == base(1))
}

#[test]
fn the_slots_of_who_is_lost_go_to_whoever_holds_them_from_its_log_and_not_before() {
    let mut stage = bereft(2);
    let first = stage.plan();
    let [take] = &first.takes[..] else { panic!("{:?}", first.takes) };
    let log = &stage.facts.logs[&base(1)];
    assert_eq!((take.taker, &take.order.log), (stage.life(2).unwrap(), &log.folder));
    assert_eq!(take.order.from, Node { name: base(1), incarnation: log.life });
    assert_eq!(take.order.slots.len(), ALL / 2);
    assert!(first.writes.is_empty(), "nothing changes hands by an order");
    assert_eq!(state(&first), &LostState::Asked(take.taker));
    stage.order(&first.takes);
    stage.report();
    let reading = stage.plan();
    assert_eq!((reading.writes.len(), reading.takes.len()), (0, 0), "it was heard");
    assert_eq!(state(&reading), &LostState::Taken(take.taker));
    stage.advance();
    stage.report();
    assert_eq!(stage.plan().writes.len(), ALL / 2);
    stage.settle();
    assert_eq!((stage.kept(1), stage.kept(2)), (0, ALL));
    assert_eq!(stage.plan().lost, [], "whoever keeps nothing is not waited for");
}

#[test]
fn nothing_is_taken_over_before_the_wait_is_over_and_the_last_life_given_up() {
    let mut stage = Stage::new(2);
    stage.end(1);
    stage.report();
    assert_eq!(stage.plan(), Plan::default(), "it may come back");
    stage.facts.overdue.insert(base(1));
    let plan = stage.plan();
    assert_eq!((plan.takes.len(), state(&plan)), (0, &LostState::NotDead));
    stage.wait_for(1);
    assert_eq!(stage.plan().takes.len(), 1);
    stage.start(1);
    assert_eq!(stage.plan(), Plan::default(), "its next life is there, if not ready yet");
}

#[test]
fn what_was_lost_is_shared_by_all_who_are_left_one_after_the_other() {
    let mut stage = bereft(4);
    let mut takers = Vec::new();
    while stage.kept(1) > 0 {
        let plan = stage.round();
        assert!(plan.takes.len() <= 1, "one at a time has the lock");
        takers.extend(plan.takes.iter().map(|take| take.taker.name));
    }
    assert_eq!(takers, [base(2), base(3), base(4)]);
    let kept: Vec<usize> = (2..=4).map(|number| stage.kept(number)).collect();
    assert_eq!(kept.iter().sum::<usize>(), ALL);
    assert!(kept.iter().all(|n| (85..=86).contains(n)), "{kept:?}");
}

#[test]
fn two_that_are_lost_are_taken_over_side_by_side() {
    let mut stage = Stage::new(4);
    stage.lose(1);
    stage.lose(2);
    stage.report();
    let takers: Vec<_> = stage.plan().takes.iter().map(|take| take.taker.name).collect();
    assert_eq!(takers, [base(3), base(4)]);
    stage.settle();
    assert_eq!((stage.kept(3), stage.kept(4)), (ALL / 2, ALL / 2));
}

#[test]
fn who_drains_or_takes_nothing_or_said_nothing_yet_or_is_slow_is_asked_for_nothing() {
    type Change = fn(&mut Stage);
    let changes: [Change; 4] = [
        |stage| stage.drain(2),
        |stage| {
            let life = stage.life(2).unwrap();
            stage.facts.unwilling.insert(life);
        },
        |stage| {
            let life = stage.life(2).unwrap();
            stage.facts.moves.remove(&life);
        },
        |stage| {
            stage.facts.slow.takers.insert(base(2));
        },
    ];
    for change in changes {
        let mut stage = bereft(2);
        change(&mut stage);
        let plan = stage.plan();
        assert_eq!((plan.takes.len(), state(&plan)), (0, &LostState::NoTaker));
        assert!(plan.lost[0].to_string().contains("128 slots wait for base-1@"));
    }
}

#[test]
fn who_cannot_reach_the_log_leaves_it_to_the_next_and_says_so() {
    let mut stage = bereft(3);
    stage.blind.insert(base(2));
    stage.round();
    stage.report();
    let second = stage.life(2).unwrap();
    let from = stage.plan().takes[0].order.from;
    stage.facts.slow.refused.insert((second, from));
    let plan = stage.plan();
    let [take] = &plan.takes[..] else { panic!("{:?}", plan.takes) };
    assert_eq!((take.taker.name, take.order.slots.len()), (base(3), 86), "all that are left");
    let LostState::Refused(all) = state(&plan) else { panic!("{:?}", plan.lost) };
    assert_eq!(all[0].0, second);
    assert!(plan.lost[0].reason().contains("base-2 says: there is no such folder"));
    stage.settle();
    assert_eq!((stage.kept(1), stage.kept(2) + stage.kept(3)), (0, ALL));
}

#[test]
fn a_log_that_is_locked_is_asked_for_again_after_a_while_and_nothing_changes_hands() {
    let mut stage = bereft(2);
    let order = stage.plan().takes;
    let (taker, from) = (order[0].taker, order[0].order.from);
    let slots = order[0].order.slots.clone();
    let stage_of = TakeOverStage::Refused("it lives".to_owned());
    let refused = TakeOverState { from, stage: stage_of, slots };
    stage.facts.takes.insert(taker, vec![refused]);
    stage.facts.slow.refused.insert((taker, from));
    let plan = stage.plan();
    assert_eq!((plan.writes.len(), plan.takes.len()), (0, 0));
    assert!(matches!(state(&plan), LostState::Refused(_)));
    stage.facts.slow.refused.clear();
    assert_eq!(stage.plan().takes, order, "the same once more");
}

#[test]
fn a_life_that_comes_back_before_the_commit_keeps_what_it_had_under_new_terms() {
    for rounds in 0..2 {
        let mut stage = bereft(2);
        let taken = stage.plan().takes;
        stage.order(&taken);
        (0..rounds).for_each(|_| stage.advance());
        stage.start(1);
        assert!(!stage.begin(1), "its log is locked");
        stage.report();
        let plan = stage.plan();
        assert_eq!(plan.writes.len(), ALL / 2);
        assert!(plan.writes.iter().all(is_back));
        let seen = stage.facts.clone();
        stage.carry_out(&plan, &seen);
        assert!(stage.begin(1), "nobody has any use for it now");
        stage.settle();
        assert_eq!((stage.kept(1), stage.kept(2)), (ALL / 2, ALL / 2));
    }
}

#[test]
fn what_was_read_before_a_later_life_wrote_is_void_even_if_that_one_is_gone_again() {
    let mut stage = bereft(2);
    stage.round();
    stage.report();
    let held = stage.facts.takes.clone();
    assert!(stage.plan().writes.iter().all(|write| matches!(write, Write::TakeOver { .. })));
    // The taker is gone, another life of the first writes, and nobody leads meanwhile.
    stage.start(2);
    stage.begin(2);
    stage.start(1);
    assert!(stage.begin(1));
    stage.write(1);
    stage.lose(1);
    // The next life of the taker goes on saying what its earlier one held.
    let taker = stage.life(2).unwrap();
    let said = held.into_values().next().unwrap();
    stage.facts.takes.insert(taker, said);
    stage.facts.moves.insert(taker, Vec::new());
    let plan = stage.plan();
    assert!(!plan.writes.is_empty() && plan.writes.iter().all(is_back), "{:?}", plan.writes);
    let seen = stage.facts.clone();
    stage.carry_out(&plan, &seen);
    stage.settle();
    assert_eq!(stage.kept(2), ALL, "from what the log holds now");
}

#[test]
fn a_commit_that_rests_on_what_was_seen_before_another_life_came_is_refused_by_the_store() {
    let mut stage = bereft(2);
    stage.round();
    stage.report();
    let (seen, late) = (stage.facts.clone(), stage.plan());
    assert_eq!(late.writes.len(), ALL / 2);
    stage.start(1);
    let before = stage.facts.slots.clone();
    stage.carry_out(&late, &seen);
    assert_eq!(stage.facts.slots, before, "it is registered");
    stage.start(2);
    stage.begin(2);
    assert!(stage.begin(1));
    stage.write(1);
    stage.end(1);
    stage.carry_out(&late, &seen);
    assert_eq!(stage.facts.slots, before, "it wrote");
}

#[test]
fn another_leader_goes_on_with_what_is_held_whatever_it_counted_itself() {
    let mut stage = bereft(2);
    stage.round();
    stage.report();
    stage.facts.overdue.clear();
    assert_eq!(stage.plan().writes.len(), ALL / 2);
    stage.settle();
    assert_eq!(stage.kept(2), ALL);
}

#[test]
fn a_taker_that_is_lost_itself_is_followed_by_another_one() {
    let mut stage = bereft(3);
    stage.round();
    stage.lose(2);
    stage.report();
    let plan = stage.plan();
    assert!(plan.writes.is_empty(), "what a lost one held does not count");
    assert_eq!(plan.takes.len(), 1, "one log after the other");
    stage.settle();
    assert_eq!(stage.kept(3), ALL);
}

#[test]
fn a_log_that_nobody_knows_where_it_is_is_waited_for() {
    let mut stage = bereft(2);
    stage.facts.logs.get_mut(&base(1)).unwrap().folder.clear();
    assert_eq!(state(&stage.plan()), &LostState::NoLog);
    stage.facts.logs.remove(&base(1));
    let plan = stage.plan();
    assert_eq!((plan.takes.len(), state(&plan)), (0, &LostState::NoLog));
    assert!(plan.lost[0].to_string().contains("128 slots wait for base-1, which is lost"));
}

#[test]
fn who_was_taken_over_comes_back_empty_and_gets_its_share_again() {
    let mut stage = bereft(2);
    stage.settle();
    stage.start(1);
    assert!(stage.begin(1));
    assert_ne!(stage.facts.logs[&base(1)].life, Incarnation(0));
    stage.settle();
    assert_eq!((stage.kept(1), stage.kept(2)), (ALL / 2, ALL / 2));
}
