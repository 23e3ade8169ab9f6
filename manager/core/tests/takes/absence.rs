//! How long keepers are waited for.

use crate::stage::{Stage, base};
use marchland_common::order::{Node, NodeName};
use marchland_manager_core::Absence;
use std::collections::BTreeSet;

const AFTER: u64 = 10_000;

struct Watch {
    absence: Absence,
    lost: BTreeSet<Node>,
}

impl Watch {
    fn new() -> Self {
        Self { absence: Absence::default(), lost: BTreeSet::new() }
    }

    fn overdue(&mut self, stage: &Stage, now_ms: u64) -> Vec<NodeName> {
        let time = (now_ms, Some(AFTER));
        self.absence.overdue(&stage.facts, &self.lost, time).into_iter().collect()
    }
}

#[test]
fn a_keeper_is_overdue_when_it_has_been_away_for_so_long_without_a_break() {
    let (mut watch, mut stage) = (Watch::new(), Stage::new(2));
    assert_eq!(watch.overdue(&stage, 0), []);
    stage.end(1);
    assert_eq!(watch.overdue(&stage, 1_000), []);
    assert_eq!(watch.overdue(&stage, 999 + AFTER), []);
    assert_eq!(watch.absence.away_ms(base(1), 2_000), Some(1_000));
    assert_eq!(watch.overdue(&stage, 1_000 + AFTER), [base(1)]);
    stage.start(1);
    stage.begin(1);
    assert_eq!(watch.overdue(&stage, 1_001 + AFTER), []);
    stage.end(1);
    assert_eq!(watch.overdue(&stage, 1_002 + AFTER), [], "it counts anew");
    assert_eq!(watch.overdue(&stage, 1_002 + 2 * AFTER), [base(1)]);
}

#[test]
fn a_life_that_nobody_hears_is_away_though_it_is_registered() {
    let (mut watch, stage) = (Watch::new(), Stage::new(2));
    watch.lost.extend(stage.life(1));
    assert_eq!(watch.overdue(&stage, 0), []);
    assert_eq!(watch.overdue(&stage, AFTER), [base(1)]);
    watch.lost.clear();
    assert_eq!(watch.overdue(&stage, AFTER + 1), []);
}

#[test]
fn lives_that_end_before_they_begin_make_nobody_wait_for_ever() {
    let (mut watch, mut stage) = (Watch::new(), Stage::new(2));
    stage.end(1);
    assert_eq!(watch.overdue(&stage, 0), []);
    for now_ms in (1_000..AFTER).step_by(1_000) {
        stage.start(1);
        assert_eq!(watch.overdue(&stage, now_ms), []);
    }
    assert_eq!(watch.overdue(&stage, AFTER), [base(1)]);
}

#[test]
fn who_keeps_nothing_is_not_waited_for_and_without_a_time_nobody_is_ever_overdue() {
    let (mut watch, mut stage) = (Watch::new(), Stage::new(2));
    stage.end(1);
    let never = |watch: &mut Watch, now_ms| {
        watch.absence.overdue(&stage.facts, &BTreeSet::new(), (now_ms, None))
    };
    assert!(never(&mut watch, 0).is_empty() && never(&mut watch, u64::MAX).is_empty());
    let mut empty = stage.clone();
    empty.facts.slots.retain(|owner| owner.base != base(1));
    assert_eq!(watch.overdue(&empty, 0), []);
    assert_eq!(watch.overdue(&empty, AFTER), []);
}
