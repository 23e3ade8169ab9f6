//! Who lets a slot wait for too long is asked for nothing for a while.

use crate::stage::base;
use marchland_common::cluster::{Member, MemberState, MoveStage, SlotMove, SlotOwner};
use marchland_common::order::{Incarnation, Node, NodeKind, SlotId, Term};
use marchland_manager_core::{Facts, MOVE_MAX_MS, Patience, SLOW_FOR_MS, Slow};
use std::collections::{BTreeMap, BTreeSet};

const SLOT: SlotId = SlotId(1);

fn going(term: u64, stage: MoveStage) -> SlotMove {
    SlotMove { slot: SLOT, term: Term(term), to: base(2), stage }
}

/// A life of the first baseapp, which keeps the slot under a term and says that this is on its way.
fn facts(life: u64, term: u64, moves: &[SlotMove]) -> Facts {
    let keeper = Node::new(NodeKind::Base, 1, life);
    Facts {
        members: vec![Member { node: keeper, state: MemberState::Serving }],
        slots: vec![SlotOwner { slot: SLOT, base: base(1), term: Term(term) }],
        moves: BTreeMap::from([(keeper, moves.to_vec())]),
        ..Facts::default()
    }
}

fn taker() -> Slow {
    Slow { takers: BTreeSet::from([base(2)]), ..Slow::default() }
}

fn keeper() -> Slow {
    Slow { keepers: BTreeSet::from([base(1)]), ..Slow::default() }
}

#[test]
fn who_lets_a_slot_wait_for_too_long_gets_none_for_a_while() {
    let (mut patience, nobody) = (Patience::default(), Slow::default());
    let mut slow =
        |term: u64, moves: &[SlotMove], now_ms: u64| patience.lose(&facts(7, term, moves), now_ms);
    let copying = |term| [going(term, MoveStage::Copying)];
    assert_eq!(slow(4, &copying(4), 0), nobody);
    assert_eq!(slow(4, &copying(4), MOVE_MAX_MS - 1), nobody);
    assert_eq!(slow(5, &copying(5), MOVE_MAX_MS), nobody, "that one began later");
    let late = MOVE_MAX_MS + MOVE_MAX_MS;
    assert_eq!(slow(5, &copying(5), late), taker());
    assert_eq!(slow(5, &[], late + SLOW_FOR_MS - 1), taker());
    assert_eq!(slow(5, &[], late + SLOW_FOR_MS), nobody);
}

#[test]
fn a_move_that_does_not_stand_is_nobodys_fault_however_long_a_keeper_speaks_of_it() {
    let old = [going(4, MoveStage::Copying)];
    let of_another_base = || {
        let mut facts = facts(7, 4, &old);
        facts.slots[0].base = base(3);
        facts
    };
    let of_an_earlier_life = || {
        let mut facts = facts(7, 4, &old);
        facts.members[0].node = Node::new(NodeKind::Base, 1, 8);
        facts
    };
    let of_the_dead = || {
        let mut facts = facts(7, 4, &old);
        facts.dead.insert(facts.members[0].node.incarnation);
        facts
    };
    let cases = [facts(7, 5, &old), of_another_base(), of_an_earlier_life(), of_the_dead()];
    for after in cases {
        let mut patience = Patience::default();
        patience.lose(&facts(7, 4, &old), 0);
        assert_eq!(patience.lose(&facts(7, 4, &old), MOVE_MAX_MS), taker());
        for now_ms in (MOVE_MAX_MS..MOVE_MAX_MS + SLOW_FOR_MS).step_by(1_000) {
            assert_eq!(patience.lose(&after, now_ms), taker());
        }
        let over = MOVE_MAX_MS + SLOW_FOR_MS;
        assert_eq!(patience.lose(&after, over), Slow::default(), "{after:?}");
    }
}

#[test]
fn what_does_not_come_to_a_standstill_is_the_keepers_fault_and_what_stands_still_the_takers() {
    let held = MoveStage::Held(Incarnation(9));
    for (stage, whose) in
        [(MoveStage::Closing, keeper()), (MoveStage::Copying, taker()), (held, taker())]
    {
        let mut patience = Patience::default();
        let now = facts(7, 4, &[going(4, stage)]);
        assert_eq!(patience.lose(&now, 0), Slow::default());
        assert_eq!(patience.lose(&now, MOVE_MAX_MS - 1), Slow::default());
        assert_eq!(patience.lose(&now, MOVE_MAX_MS), whose, "{stage:?}");
        let called_off = facts(7, 5, &[]);
        let over = MOVE_MAX_MS + SLOW_FOR_MS;
        assert_eq!(patience.lose(&called_off, over - 1), whose, "{stage:?}");
        assert_eq!(patience.lose(&called_off, over), Slow::default());
    }
}
