//! Whoever refuses to take something over is asked again after a while.

use crate::stage::{Stage, base};
use marchland_common::order::Node;
use marchland_manager_core::{ASK_AGAIN_MS, Patience, Take};
use std::collections::BTreeSet;

/// The first one is lost, and the second one cannot reach its log.
fn refused() -> (Stage, Vec<Take>, BTreeSet<(Node, Node)>) {
    let mut stage = Stage::new(2);
    stage.lose(1);
    stage.blind.insert(base(2));
    stage.report();
    let order = stage.plan().takes;
    stage.order(&order);
    stage.report();
    let who = BTreeSet::from([(order[0].taker, order[0].order.from)]);
    (stage, order, who)
}

#[test]
fn a_refusal_holds_for_a_while_from_when_it_was_asked_for_and_then_it_is_asked_once_more() {
    let (stage, order, who) = refused();
    let mut patience = Patience::default();
    let mut asked = 0;
    for now_ms in (0..3 * ASK_AGAIN_MS).step_by(25) {
        let slow = patience.lose(&stage.facts, now_ms);
        assert!(slow.refused.is_subset(&who));
        if slow.refused.is_empty() {
            asked += 1;
            patience.asked(&order, now_ms);
            assert_eq!(patience.lose(&stage.facts, now_ms).refused, who, "it was just asked");
        }
    }
    assert_eq!(asked, 2, "after one and after two times");
}

#[test]
fn a_life_that_did_not_refuse_is_asked_whenever_it_may_be() {
    let (mut stage, order, who) = refused();
    let mut patience = Patience::default();
    patience.asked(&order, 0);
    stage.facts.takes.clear();
    assert!(patience.lose(&stage.facts, 1).refused.is_empty(), "it may not have heard it");
    stage.report();
    assert_eq!(patience.lose(&stage.facts, 2).refused, who);
    assert!(patience.lose(&stage.facts, ASK_AGAIN_MS).refused.is_empty());
}

#[test]
fn a_log_that_holds_none_of_the_slots_is_as_good_as_a_refusal() {
    let mut stage = Stage::new(2);
    stage.lose(1);
    stage.round();
    stage.report();
    let taker = stage.life(2).unwrap();
    let mut patience = Patience::default();
    assert!(patience.lose(&stage.facts, 0).refused.is_empty());
    stage.facts.takes.get_mut(&taker).unwrap()[0].slots.clear();
    assert_eq!(patience.lose(&stage.facts, 0).refused.len(), 1);
}
