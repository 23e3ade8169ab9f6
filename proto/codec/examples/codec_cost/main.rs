//! What the packed ghost deltas cost beside protobuf messages of the same fields.
//!
//! `codec_cost` (or `codec_cost check`) runs every mode below under valgrind with k and 2k ticks,
//! prints the difference per ghost, so that set-up cancels, and ends with code 1 if a bound is
//! broken; code 2 says what is missing. `codec_cost MODE TICKS` is one such run. Modes:
//! `encode-packed`, `encode-protobuf`, `apply-packed`, `apply-protobuf`.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

mod check;
mod protobuf;
mod valgrind;
mod workload;

use marchland_codec_core::DeltaWriter;
use std::hint::black_box;
use std::process::ExitCode;
use workload::{GHOSTS, Ghosts, Ticks};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        [] | ["check"] => return check::run(),
        [mode, ticks] => ticks.parse().map_err(|_| ()).and_then(|ticks| run(mode, ticks)),
        _ => Err(()),
    };
    match outcome {
        Ok(sum) => {
            println!("{sum}");
            ExitCode::SUCCESS
        }
        Err(()) => {
            eprintln!("usage: codec_cost [check | MODE TICKS], MODE one of {:?}", check::MODES);
            ExitCode::from(2)
        }
    }
}

/// Runs one mode; the sum depends on every tick, so that no work can be left out.
fn run(mode: &str, ticks: usize) -> Result<u64, ()> {
    let work = Ticks::walking();
    Ok(match mode {
        "encode-packed" => {
            let mut writer = DeltaWriter::new();
            sum_of(&work, ticks, |tick| workload::encode(&mut writer, black_box(tick)).len())
        }
        "encode-protobuf" => {
            let mut writer = protobuf::Writer::default();
            sum_of(&work, ticks, |tick| writer.encode(black_box(tick)).len())
        }
        "apply-packed" => {
            let (blocks, mut ghosts) = (work.packed(), Ghosts::default());
            let apply = |block: &Vec<u8>| workload::apply(black_box(block), &mut ghosts);
            blocks.iter().cycle().take(ticks).map(apply).sum()
        }
        "apply-protobuf" => {
            let (blocks, mut ghosts) = (work.protobuf(), Ghosts::default());
            let mut reader = protobuf::Reader::default();
            let apply = |block: &Vec<u8>| reader.apply(black_box(block), &mut ghosts);
            blocks.iter().cycle().take(ticks).map(apply).sum()
        }
        _ => return Err(()),
    })
}

fn sum_of(work: &Ticks, ticks: usize, encode: impl FnMut(&workload::Tick) -> usize) -> u64 {
    debug_assert!(work.iter().all(|tick| tick.len() == GHOSTS));
    work.iter().cycle().take(ticks).map(encode).sum::<usize>() as u64
}
