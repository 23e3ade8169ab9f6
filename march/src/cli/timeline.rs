//! What is told to the verb that exports a recording.

use super::Output;
use crate::durations::parse_step;
use clap::Args;
use marchland_common::order::Tick;
use marchland_observe::causal::Span;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, Args)]
pub(crate) struct TimelineArgs {
    /// The folder with the journals; the cluster's own if none.
    pub(crate) dir: Option<PathBuf>,
    /// The folder of a demo, to find its journals.
    #[arg(long, env = "MARCH_CLUSTER")]
    pub(crate) cluster: Option<String>,
    /// Writes a trace for ui.perfetto.dev: NAME.json in the Chrome trace event format, NAME.pftrace
    /// in Perfetto's own.
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) perfetto: PathBuf,
    /// Only these ticks, both included: 1200..1300.
    #[arg(long, value_name = "A..B", value_parser = ticks)]
    pub(crate) tick: Option<Span>,
    /// The length of a tick, where the journals do not say it.
    #[arg(long, value_parser = parse_step)]
    pub(crate) step: Option<Duration>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Reads `1200..1300`, `1200..`, `..1300` or `1200`.
fn ticks(text: &str) -> Result<Span, String> {
    let wrong = || format!("`{text}` is no span of ticks: expected A..B, like 1200..1300");
    let tick = |text: &str, default: u64| match text.trim() {
        "" => Ok(Tick(default)),
        number => number.parse().map_err(|_| wrong()),
    };
    let span = match text.split_once("..") {
        Some((from, to)) => Span { from: tick(from, 0)?, to: tick(to, u64::MAX)? },
        None => {
            let one: Tick = text.trim().parse().map_err(|_| wrong())?;
            Span { from: one, to: one }
        }
    };
    if span.from > span.to { Err(wrong()) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_ticks_reads_with_one_end_both_or_none() {
        let span = |from, to| Ok(Span { from: Tick(from), to: Tick(to) });
        assert_eq!(ticks("1200..1300"), span(1200, 1300));
        assert_eq!(ticks("1200.."), span(1200, u64::MAX));
        assert_eq!(ticks("..7"), span(0, 7));
        assert_eq!(ticks("9"), span(9, 9));
        for wrong in ["", "x", "3..2", "1...2", "1-2"] {
            assert!(ticks(wrong).is_err(), "{wrong}");
        }
    }
}
