//! When nobody is given up.

use super::stage::{Stage, base, cell, first_verdict};
use marchland_manager_core::verdict::{Brake, Verdict};

#[test]
fn two_of_five_at_once_wait_for_one_lease_time_and_are_judged_then() {
    let mut stage = Stage::new(3, 2).kill(cell(1), 2_010).kill(cell(2), 2_010);
    let story = stage.run(0, 9_000);
    assert!(story.iter().any(|(_, j)| j.brake == Some(Brake::TooMany { lost: 2, of: 5 })));
    assert!(story.iter().any(|(_, j)| j.withheld.len() == 2));
    for n in 1..=2 {
        let (at, verdict) = first_verdict(&story, cell(n)).unwrap();
        assert_eq!(verdict, Verdict::Dead);
        assert!((7_150..7_300).contains(&at), "cell-{n} at {at}");
    }
}

#[test]
fn losses_within_one_lease_time_add_up_also_when_the_first_was_judged() {
    let mut stage = Stage::new(3, 2).kill(cell(1), 2_010).kill(cell(2), 5_010);
    let story = stage.run(0, 12_000);
    assert_eq!(first_verdict(&story, cell(1)), Some((2_200, Verdict::Dead)));
    let (at, _) = first_verdict(&story, cell(2)).unwrap();
    assert!((10_150..10_300).contains(&at), "at {at}");
}

#[test]
fn losses_further_apart_are_judged_one_by_one() {
    let mut stage = Stage::new(3, 2).kill(cell(1), 2_010).kill(cell(2), 8_010);
    let story = stage.run(0, 12_000);
    assert_eq!(first_verdict(&story, cell(2)), Some((8_200, Verdict::Dead)));
    assert!(story.iter().all(|(_, j)| j.brake.is_none()));
}

#[test]
fn a_baseapp_that_has_been_away_for_long_holds_nobody_back() {
    let mut stage = Stage::new(3, 2).kill(base(2), 2_010).kill(cell(1), 30_010);
    stage.unregistered.insert(base(2), 7_000);
    assert_eq!(first_verdict(&stage.run(0, 32_000), cell(1)), Some((30_200, Verdict::Dead)));
}

#[test]
fn a_manager_that_hears_nobody_judges_nobody() {
    let mut stage = Stage::new(2, 2);
    for node in [cell(1), cell(2), base(1), base(2)] {
        stage = stage.cut(None, Some(node), 2_000, 6_000);
    }
    let story = stage.kill(cell(1), 3_000).run(0, 15_000);
    let heard_nobody = |b: Option<Brake>| matches!(b, Some(Brake::HeardNobody { of: 4 }));
    assert!(story.iter().any(|(_, j)| heard_nobody(j.brake)));
    let (at, _) = first_verdict(&story, cell(1)).unwrap();
    assert!((10_500..11_300).contains(&at), "one lease time after it heard somebody: {at}");
}

#[test]
fn half_the_cluster_that_falls_silent_for_a_moment_is_left_alone_and_costs_no_lease_time() {
    let mut stage = Stage::new(3, 2);
    for node in [cell(1), cell(2)] {
        stage = stage.stop(node, 2_000, 2_800);
    }
    let story = stage.kill(cell(3), 3_510).run(0, 6_000);
    assert!(story.iter().any(|(at, j)| *at < 3_000 && j.brake.is_some()));
    assert_eq!(first_verdict(&story, cell(3)), Some((3_700, Verdict::Dead)));
}

#[test]
fn a_store_that_does_not_answer_holds_verdicts_back_until_one_lease_time_after_it_does() {
    let mut stage = Stage::new(3, 2).kill(cell(1), 6_010);
    stage.store_away = Some((2_000, 10_000));
    let story = stage.run(0, 20_000);
    assert!(story.iter().any(|(_, j)| matches!(j.brake, Some(Brake::StoreSilent { .. }))));
    let (at, _) = first_verdict(&story, cell(1)).unwrap();
    assert!((14_900..15_100).contains(&at), "at {at}");
}

#[test]
fn a_manager_that_was_paused_begins_with_its_evidence_anew() {
    let mut stage = Stage::new(3, 2).stop(cell(1), 1_000, 60_000);
    let mut story = stage.run(0, 1_500);
    story.extend(stage.run(4_500, 8_000));
    assert_eq!(story.iter().filter_map(|(_, j)| j.paused_ms).collect::<Vec<_>>(), [3_050]);
    let (at, verdict) = first_verdict(&story, cell(1)).unwrap();
    assert_eq!(verdict, Verdict::Silent);
    assert!((5_500..5_700).contains(&at), "a whole second after it came back: {at}");
}
