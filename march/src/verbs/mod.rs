//! The operator's verbs. Answers go to stdout, everything else to stderr.

pub(crate) mod audit;
pub(crate) mod console;
pub(crate) mod drain;
pub(crate) mod entity;
pub(crate) mod handoff;
pub(crate) mod healthcheck;
pub(crate) mod order;
pub(crate) mod recover;
pub(crate) mod replay;
#[cfg(feature = "sim")]
pub(crate) mod sim;
pub(crate) mod space;
pub(crate) mod status;
pub(crate) mod timeline;
pub(crate) mod void;

use std::io::Write;

/// Writes a line of the answer. A reader that went away is no fault of ours.
pub(crate) fn print_line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Writes an answer as JSON on one line.
pub(crate) fn print_json<T: serde::Serialize>(value: &T) {
    print_line(&serde_json::to_string(value).unwrap_or_default());
}

/// A table whose columns are as wide as they need to be.
pub(crate) fn print_table(head: &[&str], rows: &[Vec<String>]) {
    let width = |i: usize| {
        let longest = rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
        longest.max(head[i].len())
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    print_line(&line(head.to_vec()));
    for row in rows {
        print_line(&line(row.iter().map(String::as_str).collect()));
    }
}
