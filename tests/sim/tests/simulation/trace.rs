//! One seed, one trace, in whatever process.

use marchland_common::journal::Record;
use marchland_sim::{SimConfig, run};
use std::process::{Command, Stdio};

/// Processes that run the same seed.
const PROCESSES: usize = 20;

#[test]
fn the_same_seed_makes_the_same_trace_and_another_seed_another() {
    let of = |seed| run(&SimConfig { ticks: 500, ..SimConfig::of_seed(seed) }).trace;
    let first = of(3);
    assert_eq!(first, of(3));
    assert_ne!(first, of(4));
}

/// Not a test of its own: another test starts this program again with it.
#[test]
#[ignore = "tells its digests to another test, as a child process"]
fn a_child_process_tells_its_digests() {
    for (node, records) in run(&SimConfig { ticks: 400, ..SimConfig::of_seed(5) }).journals {
        for record in records {
            if let Record::Tick(tick) = record {
                println!("at {node} {} {:?} {:016x}", tick.tick, tick.moment, tick.digest.whole);
            }
        }
    }
}

#[test]
fn twenty_fresh_processes_compute_one_digest_for_each_tick() {
    let program = std::env::current_exe().unwrap();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let start = || {
        let mut child = Command::new(&program);
        child.args(["--exact", "trace::a_child_process_tells_its_digests"]);
        child.args(["--ignored", "--nocapture"]).stdin(Stdio::null()).stdout(Stdio::piped());
        child.spawn().unwrap()
    };
    let mut told = Vec::new();
    while told.len() < PROCESSES {
        let batch = at_once.min(PROCESSES - told.len());
        let children: Vec<_> = (0..batch).map(|_| start()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            let digests: Vec<String> =
                text.lines().filter(|l| l.starts_with("at ")).map(str::to_owned).collect();
            told.push(digests);
        }
    }
    let first = &told[0];
    assert!(first.len() > 5 * 400, "only {} digests", first.len());
    for (other, digests) in told.iter().enumerate().skip(1) {
        let differs = first.iter().zip(digests).find(|(one, two)| one != two);
        assert_eq!(differs, None, "process {other}");
        assert_eq!(first.len(), digests.len(), "process {other}");
    }
}
