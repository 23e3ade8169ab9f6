//! What holds whatever goes wrong.

use super::stage::{LOOK_EVERY_MS, Stage, base, cell};
use marchland_common::order::{Node, NodeKind};
use marchland_manager_core::verdict::Verdict;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Fault {
    Kill(usize, u64),
    Stop(usize, u64, u64),
    /// Between two of the manager (0) and the lives (from 1).
    Cut(usize, usize, u64, u64),
    StoreAway(u64, u64),
}

fn fault(lives: usize) -> impl Strategy<Value = Fault> {
    let (at, long) = (500..8_000u64, 100..6_000u64);
    prop_oneof![
        (0..lives, at.clone()).prop_map(|(who, at)| Fault::Kill(who, at)),
        (0..lives, at.clone(), long.clone()).prop_map(|(who, at, long)| Fault::Stop(
            who,
            at,
            at + long
        )),
        (0..=lives, 1..=lives, at.clone(), long.clone()).prop_map(|(a, b, at, long)| Fault::Cut(
            a,
            b,
            at,
            at + long
        )),
        (at, long).prop_map(|(at, long)| Fault::StoreAway(at, at + long)),
    ]
}

fn lives(cells: u16, bases: u16) -> Vec<Node> {
    (1..=cells).map(cell).chain((1..=bases).map(base)).collect()
}

fn staged(cells: u16, bases: u16, faults: &[Fault]) -> Stage {
    let lives = lives(cells, bases);
    let end = |i: usize| i.checked_sub(1).map(|i| lives[i]);
    faults.iter().fold(Stage::new(cells, bases), |mut stage, fault| match *fault {
        Fault::Kill(who, at) => stage.kill(lives[who], at),
        Fault::Stop(who, from, to) => stage.stop(lives[who], from, to),
        Fault::Cut(a, b, from, to) => stage.cut(end(a), end(b), from, to),
        Fault::StoreAway(from, to) => {
            stage.store_away = Some((from, to));
            stage
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nobody_is_given_up_whom_a_witness_of_the_manager_hears(
        (cells, bases) in (1u16..4, 1u16..3),
        faults in prop::collection::vec(fault(4), 0..6),
    ) {
        let lives = lives(cells, bases);
        let faults: Vec<_> = faults.into_iter().map(|f| match f {
            Fault::Kill(who, at) => Fault::Kill(who % lives.len(), at),
            Fault::Stop(who, from, to) => Fault::Stop(who % lives.len(), from, to),
            Fault::Cut(a, b, from, to) => {
                Fault::Cut(a % (lives.len() + 1), 1 + b % lives.len(), from, to)
            }
            away => away,
        }).collect();
        let mut stage = staged(cells, bases, &faults);
        for now in (0..15_000).step_by(LOOK_EVERY_MS as usize) {
            let judgement = stage.look(now);
            prop_assert!(judgement.brake.is_none() || judgement.verdicts.is_empty());
            prop_assert!(judgement.brake.is_some() || judgement.withheld.is_empty());
            for judged in &judgement.verdicts {
                let node = judged.node;
                let fate = stage.fates[&node];
                let really_gone = fate.killed.is_some_and(|at| at <= now);
                if judged.verdict == Verdict::Dead {
                    prop_assert!(really_gone, "{node} at {now}");
                    continue;
                }
                // To the manager it was silent for a second, to its witnesses when they reported.
                let asked = now - now % 100;
                let answered = stage.heard(None, node, asked).unwrap_or(0);
                prop_assert!(now - answered >= 990, "{node} answered at {answered}, now {now}");
                let bases = lives.iter().filter(|n| n.name.kind == NodeKind::Base && **n != node);
                for witness in bases {
                    let reported = stage.heard(None, *witness, asked).unwrap_or(0);
                    let fresh = now - reported <= 500;
                    let heard = stage.heard(Some(*witness), node, reported).unwrap_or(0);
                    prop_assert!(
                        !fresh || reported.saturating_sub(heard) >= 990,
                        "{witness} had heard {node} at {heard}, reported at {reported}, now {now}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_gone_for_good_is_given_up_in_the_end_whatever_came_before(
        faults in prop::collection::vec(fault(4), 0..6),
    ) {
        // Somebody who can tell stays: the second baseapp.
        let harmless = |f: &Fault| !matches!(f, Fault::Kill(4.., _));
        let faults: Vec<_> = faults.into_iter().filter(harmless).collect();
        let mut stage = staged(3, 2, &faults).kill(cell(1), 8_000);
        for now in (0..30_000).step_by(LOOK_EVERY_MS as usize) {
            stage.look(now);
        }
        prop_assert!(stage.dead.contains(&cell(1).incarnation));
    }
}
