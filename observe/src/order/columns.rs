//! The merged order for people: a column for each process, an arrow from each cause.
//!
//! ```text
//! tick   cell-1@5               base-1@9               cell-2@6
//! 1200   :12 stepped 258 e1 s4  .                      .
//! 1200   :12 ------------------>:31 accepted 258 e1 s4 .
//! ```

use super::Line;
use std::fmt::Write as _;

/// Narrowest and widest column, in characters.
const WIDTHS: (usize, usize) = (16, 44);

/// Draws lines as text, a header first, then one text for each event. What does not fit its column
/// is cut off; the JSON lines say all.
#[must_use]
pub fn columns(lines: &[Line]) -> Vec<String> {
    let mut procs: Vec<(String, u64)> =
        lines.iter().map(|line| (line.proc.clone(), line.inc)).collect();
    procs.sort();
    procs.dedup();
    let names: Vec<String> = procs.iter().map(|(proc, inc)| format!("{proc}@{inc}")).collect();
    let longest = lines.iter().map(|line| cell(line).chars().count()).max().unwrap_or(0);
    let width = longest.clamp(WIDTHS.0, WIDTHS.1) + 2;
    let mut out = Vec::with_capacity(lines.len() + 1);
    let mut head = format!("{:<8}", "tick");
    names.iter().for_each(|name| {
        let _ = write!(head, "{name:<width$}");
    });
    out.push(head.trim_end().to_owned());
    out.extend(lines.iter().map(|line| row(line, &names, width)));
    out
}

fn cell(line: &Line) -> String {
    format!(":{} {}", line.n, line.text)
}

fn row(line: &Line, names: &[String], width: usize) -> String {
    let own = format!("{}@{}", line.proc, line.inc);
    let column = |name: &str| names.iter().position(|other| other == name);
    let mut text = vec![' '; width * names.len()];
    (0..names.len()).for_each(|at| text[at * width] = '.');
    let Some(at) = column(&own) else { return String::new() };
    for cause in &line.cause {
        let (name, event) = cause.split_once([':', ' ']).unwrap_or((cause, ""));
        if let Some(from) = column(name) {
            draw_arrow(&mut text, from, at, width, event);
        }
    }
    put(&mut text, at * width, &cell(line), width - 2);
    let text: String = text.into_iter().collect();
    format!("{:<8}{}", line.tick, text).trim_end().to_owned()
}

/// An arrow in the space between two columns, with the cause's number at its beginning.
fn draw_arrow(text: &mut [char], from: usize, to: usize, width: usize, event: &str) {
    let (start, end) = (from * width, to * width);
    if start < end {
        (start..end).for_each(|at| text[at] = '-');
        text[end - 1] = '>';
        put(text, start, &format!(":{event} "), width - 2);
    } else {
        let tip = end + width - 2;
        (tip..start).for_each(|at| text[at] = '-');
        text[tip] = '<';
        put(text, start, &format!(":{event}"), width - 1);
    }
}

fn put(text: &mut [char], at: usize, what: &str, room: usize) {
    for (slot, c) in text[at..].iter_mut().take(room).zip(what.chars()) {
        *slot = c;
    }
}
