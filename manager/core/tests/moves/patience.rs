//! Who lets a slot wait for too long gets none for a while.

use crate::stage::base;
use marchland_common::cluster::{MoveStage, SlotMove};
use marchland_common::order::{Node, NodeKind, SlotId, Term};
use marchland_manager_core::{MOVE_MAX_MS, Patience, SLOW_FOR_MS};
use std::collections::{BTreeMap, BTreeSet};

fn going(slot: u8, term: u64) -> SlotMove {
    SlotMove { slot: SlotId(slot), term: Term(term), to: base(2), stage: MoveStage::Copying }
}

#[test]
fn who_lets_a_slot_wait_for_too_long_gets_none_for_a_while() {
    let keeper = Node::new(NodeKind::Base, 1, 7);
    let mut patience = Patience::default();
    let mut slow = |moves: &[SlotMove], now_ms: u64| {
        patience.lose(&BTreeMap::from([(keeper, moves.to_vec())]), now_ms)
    };
    assert!(slow(&[going(1, 4)], 0).is_empty());
    assert!(slow(&[going(1, 4)], MOVE_MAX_MS - 1).is_empty());
    assert!(slow(&[going(1, 5)], MOVE_MAX_MS).is_empty(), "that one began later");
    let late = MOVE_MAX_MS + MOVE_MAX_MS;
    assert_eq!(slow(&[going(1, 5)], late), BTreeSet::from([base(2)]));
    assert_eq!(slow(&[], late + SLOW_FOR_MS - 1).len(), 1);
    assert!(slow(&[], late + SLOW_FOR_MS).is_empty());
}
