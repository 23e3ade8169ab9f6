//! One process is lost.

use super::stage::{Stage, base, cell, first_verdict};
use marchland_common::cluster::{Member, MemberState};
use marchland_common::order::{Node, NodeKind};
use marchland_manager_core::verdict::{Asked, Judge, JudgeConfig, Look, Sight, Verdict};
use std::collections::BTreeSet;

/// A fault, who is asked about, what is said of it and by when.
struct Case {
    name: &'static str,
    stage: Stage,
    about: Node,
    verdict: Option<Verdict>,
    by_ms: u64,
}

fn cases() -> Vec<Case> {
    let case = |name, stage, about, verdict, by_ms| Case { name, stage, about, verdict, by_ms };
    let three = || Stage::new(3, 2);
    let (manager, long) = (None, 60_000);
    let (dead, silent) = (Some(Verdict::Dead), Some(Verdict::Silent));
    let cut_off = |stage: Stage, node: Node, from: &[Option<Node>]| {
        from.iter().fold(stage, |stage, a| stage.cut(*a, Some(node), 2_000, long))
    };
    vec![
        case("nothing happens", three(), cell(1), None, 0),
        case("kill -9", three().kill(cell(2), 2_010), cell(2), dead, 2_300),
        case("kill -9 of one of two", Stage::new(1, 1).kill(cell(1), 2_010), cell(1), dead, 2_300),
        case("hung", three().stop(cell(2), 2_000, long), cell(2), silent, 3_250),
        case("hung for less than a second", three().stop(cell(2), 2_000, 2_900), cell(2), None, 0),
        case(
            "cut off from everybody",
            cut_off(three(), cell(2), &[manager, Some(base(1)), Some(base(2))]),
            cell(2),
            silent,
            3_250,
        ),
        case("cut off from the manager", cut_off(three(), cell(2), &[manager]), cell(2), None, 0),
        case(
            "heard by one baseapp alone",
            cut_off(three(), cell(2), &[manager, Some(base(1))]),
            cell(2),
            None,
            0,
        ),
        case(
            "cut off from all baseapps, but well",
            cut_off(three(), cell(2), &[Some(base(1)), Some(base(2))]),
            cell(2),
            None,
            0,
        ),
        case("kill -9 of a baseapp", three().kill(base(2), 2_010), base(2), dead, 2_300),
        case(
            "kill -9 of the only baseapp, which its cellapps see",
            Stage::new(3, 1).kill(base(1), 2_010),
            base(1),
            dead,
            2_300,
        ),
        case(
            "a cellapp without any baseapp that could tell",
            Stage::new(3, 0).kill(cell(2), 2_010),
            cell(2),
            None,
            0,
        ),
        case(
            "killed where the manager cannot see that nobody is there",
            three().kill(cell(2), 2_010).cut(manager, Some(cell(2)), 2_000, long),
            cell(2),
            silent,
            3_250,
        ),
    ]
}

#[test]
fn each_single_fault_gets_its_verdict_in_time_and_nobody_else_gets_any() {
    for mut case in cases() {
        let story = case.stage.run(0, 20_000);
        let found = first_verdict(&story, case.about);
        assert_eq!(found.map(|(_, v)| v), case.verdict, "{}", case.name);
        if let Some((at, _)) = found {
            assert!(at <= case.by_ms, "{}: at {at}", case.name);
        }
        for (at, judgement) in &story {
            let others = judgement.verdicts.iter().any(|j| j.node != case.about);
            assert!(!others, "{} at {at}: {judgement:?}", case.name);
            assert_eq!(judgement.brake, None, "{} at {at}", case.name);
        }
    }
}

#[test]
fn a_verdict_comes_again_until_there_is_a_tombstone_and_then_no_more() {
    let mut stage = Stage::new(3, 2).kill(cell(2), 2_010);
    for now in (0..4_000).step_by(50) {
        let look = stage.look_at(now);
        let again = stage.judge.look(&look);
        assert_eq!(again.verdicts.len(), usize::from(now >= 2_200), "at {now}");
    }
    stage.dead.insert(cell(2).incarnation);
    assert!(stage.look(4_000).verdicts.is_empty());
}

#[test]
fn the_evidence_names_who_saw_it() {
    let mut stage = Stage::new(3, 2).kill(cell(2), 2_010);
    let story = stage.run(0, 3_000);
    let judged = story.iter().find_map(|(_, j)| j.verdicts.first()).unwrap();
    assert!(judged.evidence.contains("base-1, base-2"), "{}", judged.evidence);
}

#[test]
fn a_life_whose_key_ran_out_is_judged_like_one_that_is_registered() {
    let mut stage = Stage::new(3, 2).kill(cell(2), 2_010);
    stage.unregistered.insert(cell(2), 2_050);
    assert_eq!(first_verdict(&stage.run(0, 4_000), cell(2)), Some((2_200, Verdict::Dead)));
}

#[test]
fn a_lost_lease_alone_takes_nothing_away() {
    let mut stage = Stage::new(3, 2);
    stage.unregistered.extend([(cell(1), 1_000), (cell(2), 1_000), (base(1), 1_000)]);
    let story = stage.run(0, 20_000);
    assert!(story.iter().all(|(_, j)| j.verdicts.is_empty() && j.withheld.is_empty()));
}

#[test]
fn a_life_is_replaced_by_a_later_one_of_its_name_whatever_else_is_known() {
    let (old, later) = (cell(1), Node::new(NodeKind::Cell, 1, 99));
    let mut judge = Judge::new(JudgeConfig::default());
    let judgement = judge.look(&Look {
        members: vec![Member { node: later, state: MemberState::Serving }],
        known: BTreeSet::from([old]),
        store_answered_ms: 0,
        now_ms: 4_000,
        ..Look::default()
    });
    assert!(judgement.brake.is_some(), "the store is silent, and it does not matter");
    assert_eq!(judgement.verdicts.len(), 1);
    assert_eq!(
        (judgement.verdicts[0].node, judgement.verdicts[0].verdict),
        (old, Verdict::Replaced)
    );
}

#[test]
fn who_left_in_order_is_given_up_when_it_is_gone_and_is_no_loss() {
    // Three of five leave; none of them makes the judge brake for the fourth, which is killed.
    let mut stage = Stage::new(4, 1).kill(cell(4), 4_010);
    for n in 1..=3 {
        stage.draining.insert(cell(n));
        stage = stage.kill(cell(n), 2_010);
        stage.unregistered.insert(cell(n), 2_000);
    }
    let story = stage.run(0, 6_000);
    for n in 1..=3 {
        assert_eq!(first_verdict(&story, cell(n)), Some((2_200, Verdict::Dead)));
    }
    assert_eq!(first_verdict(&story, cell(4)), Some((4_200, Verdict::Dead)));
    assert!(story.iter().all(|(_, j)| j.brake.is_none()));
}

#[test]
fn the_verdict_about_a_baseapp_is_a_fact_and_no_tombstone_unless_it_is_overdue_or_was_replaced() {
    let mut stage = Stage::new(3, 2).kill(base(2), 2_010);
    let story = stage.run(0, 4_000);
    let (_, last) = story.last().unwrap();
    assert_eq!(last.verdicts.len(), 1);
    let nobody = BTreeSet::new();
    assert_eq!(last.to_bury(&nobody).count(), 0);
    assert_eq!(last.lost_bases(), BTreeSet::from([base(2)]));
    let buried = |overdue: Node| last.to_bury(&BTreeSet::from([overdue])).count();
    assert_eq!((buried(base(2)), buried(base(1))), (1, 0), "only of whom there is a verdict");
    let later = Node::new(NodeKind::Base, 2, 99);
    stage.fates.insert(later, super::stage::Fate::default());
    stage.unregistered.insert(base(2), 0);
    let replaced = stage.look(4_000);
    assert_eq!(replaced.to_bury(&nobody).map(|j| j.node).collect::<Vec<_>>(), [base(2)]);
}

#[test]
fn a_baseapp_that_has_only_begun_is_no_witness_of_silence() {
    // A new baseapp has heard nothing of anybody yet, and has no links.
    let newcomer = base(1);
    let mut judge = Judge::new(JudgeConfig::default());
    for now_ms in (0..5_000).step_by(50) {
        let stage = Stage::new(1, 1).stop(cell(1), 1_000, 60_000);
        let mut look = stage.look_at(now_ms);
        look.reports.clear();
        if now_ms >= 3_000 {
            let report = marchland_manager_core::verdict::Report {
                at_ms: now_ms,
                sights: std::collections::BTreeMap::new(),
            };
            look.reports.insert(newcomer, report);
        }
        let judged = !judge.look(&look).verdicts.is_empty();
        assert_eq!(judged, now_ms >= 4_000, "at {now_ms}");
    }
}

#[test]
fn who_never_answered_has_one_lease_time_to_begin() {
    let mut stage = Stage::new(3, 2).stop(cell(1), 0, 60_000);
    assert_eq!(first_verdict(&stage.run(0, 8_000), cell(1)), Some((5_000, Verdict::Silent)));
}

#[test]
fn refusals_are_no_death_while_a_witness_has_a_stream_with_that_life() {
    // Its address is unreachable for the manager and for one baseapp; the other one hears it.
    let mut stage = Stage::new(3, 2);
    let mut judged = |heard_by_second: bool, now_ms: u64| {
        let mut look = stage.look_at(now_ms);
        let refused_ms = vec![now_ms - 90, now_ms - 60, now_ms - 30];
        look.asked.insert(cell(1), Asked { heard_ms: None, refused_ms });
        let gone = Sight { heard_ms: 0, stands: false, absent: true };
        for witness in [base(1), base(2)] {
            let report = look.reports.get_mut(&witness).unwrap();
            report.at_ms = now_ms;
            if witness == base(1) || !heard_by_second {
                report.sights.insert(cell(1), gone);
            }
        }
        stage.judge.look(&look).verdicts.len()
    };
    judged(true, 100);
    assert_eq!(judged(true, 300), 0);
    assert_eq!(judged(false, 400), 1);
}
