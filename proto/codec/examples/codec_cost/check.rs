//! Runs all modes, prints the table, and compares it with the bounds.

use crate::valgrind::{CountError, allocations, instructions};
use crate::workload::{GHOSTS, Ticks};
use std::process::ExitCode;

/// Everything that one run can do.
pub const MODES: [&str; 4] = ["encode-packed", "encode-protobuf", "apply-packed", "apply-protobuf"];

/// The k of k and 2k: enough that one tick more or less is far below a percent.
const TICKS: u64 = 100;

const BYTES_PER_GHOST_MAX: f64 = 5.0;
const BYTES_RATIO_MIN: f64 = 2.5;
const INSTRUCTIONS_RATIO_MIN: f64 = 3.5;

/// The whole check.
pub fn run() -> ExitCode {
    match measure() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Prints one line per bound; true if all hold.
fn measure() -> Result<bool, CountError> {
    println!("{GHOSTS} walking ghosts; per ghost and tick:");
    println!("{:24} {:>9} {:>9} {:>7}  bound", "", "packed", "protobuf", "ratio");
    let work = Ticks::walking();
    let (packed, protobuf) = (bytes(&work.packed()), bytes(&work.protobuf()));
    let mut good = line("bytes", packed, protobuf, BYTES_RATIO_MIN);
    good &= at_most("bytes", packed, BYTES_PER_GHOST_MAX);
    for what in ["encode", "apply"] {
        let [packed, protobuf] = pair(what, instructions)?;
        good &= line(&format!("{what}: instructions"), packed, protobuf, INSTRUCTIONS_RATIO_MIN);
        let [packed, protobuf] = pair(what, allocations)?;
        println!("{:24} {packed:9.3} {protobuf:9.3}", format!("{what}: allocations"));
        good &= at_most(&format!("{what}: allocations"), packed, 0.0);
    }
    println!("{}", if good { "all bounds hold" } else { "a bound is broken" });
    Ok(good)
}

fn bytes(blocks: &[Vec<u8>]) -> f64 {
    blocks.iter().map(Vec::len).sum::<usize>() as f64 / (blocks.len() * GHOSTS) as f64
}

/// What packed and protobuf cost, by the difference of k and 2k ticks.
fn pair(
    what: &str,
    count: impl Fn(&str, u64) -> Result<u64, CountError>,
) -> Result<[f64; 2], CountError> {
    let per_ghost = |codec: &str| {
        let mode = format!("{what}-{codec}");
        let difference = count(&mode, 2 * TICKS)? as f64 - count(&mode, TICKS)? as f64;
        Ok(difference / (TICKS * GHOSTS as u64) as f64)
    };
    Ok([per_ghost("packed")?, per_ghost("protobuf")?])
}

fn line(name: &str, packed: f64, protobuf: f64, ratio_min: f64) -> bool {
    let ratio = protobuf / packed;
    let good = ratio >= ratio_min;
    println!(
        "{name:24} {packed:9.3} {protobuf:9.3} {ratio:7.2}  >= {ratio_min} {}",
        if good { "" } else { "BROKEN" }
    );
    good
}

fn at_most(name: &str, packed: f64, max: f64) -> bool {
    let good = packed <= max;
    println!("{name:24} {packed:9.3} {:17}  <= {max} {}", "", if good { "" } else { "BROKEN" });
    good
}
