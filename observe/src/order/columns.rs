//! The merged order for people: a column for each process, an arrow from each cause.
//!
//! ```text
//! tick   base-1                 cell-1                 cell-2
//! 1200   .                      :12 stepped 258 e1 s4  .
//! 1200   :31 accepted 258 e1 s4<-:12                   .
//! ```
//!
//! The name of an event is that of its column and its number: `cell-1:12`.

use super::Line;
use std::fmt::Write as _;

/// Narrowest and widest column, in characters.
const WIDTHS: (usize, usize) = (16, 44);

/// Draws lines as text, a header first, then one text for each event. What does not fit its column
/// is cut off; the JSON lines say all.
#[must_use]
pub fn columns(lines: &[Line]) -> Vec<String> {
    let mut columns = Columns::default();
    let longest = lines.iter().map(|line| cell(line).chars().count()).max().unwrap_or(0);
    columns.width = longest.clamp(WIDTHS.0, WIDTHS.1) + 2;
    columns.add(lines);
    let mut out = vec![columns.head()];
    out.extend(lines.iter().map(|line| columns.row(line)));
    out
}

/// Columns that stay while lines come in.
#[derive(Clone, Debug)]
pub struct Columns {
    names: Vec<(String, String)>,
    width: usize,
}

impl Default for Columns {
    fn default() -> Self {
        Self { names: Vec::new(), width: WIDTHS.1 + 2 }
    }
}

impl Columns {
    /// Makes room for the processes of these lines. True if there are new ones: then the head is
    /// another one.
    pub fn add(&mut self, lines: &[Line]) -> bool {
        let known = self.names.len();
        for line in lines {
            let name = life_of(&line.id);
            if !self.names.iter().any(|(known, _)| known == name) {
                self.names.push((name.to_owned(), line.proc.clone()));
            }
        }
        self.names.sort();
        self.names.len() > known
    }

    /// The line above: a process by its name, and where there are several of a name by its life.
    #[must_use]
    pub fn head(&self) -> String {
        let width = self.width;
        let mut head = format!("{:<8}", "tick");
        for (life, name) in &self.names {
            let same = self.names.iter().filter(|(_, other)| other == name).count();
            let shown = if same > 1 { life } else { name };
            let _ = write!(head, "{shown:<width$}");
        }
        head.trim_end().to_owned()
    }

    /// One line.
    #[must_use]
    pub fn row(&self, line: &Line) -> String {
        row(line, &self.names, self.width)
    }
}

/// The life that an event's name begins with.
fn life_of(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(life, _)| life)
}

fn cell(line: &Line) -> String {
    format!(":{} {}", line.n, line.text)
}

fn row(line: &Line, names: &[(String, String)], width: usize) -> String {
    let column = |name: &str| names.iter().position(|(other, _)| other == name);
    let mut text = vec![' '; width * names.len()];
    (0..names.len()).for_each(|at| text[at * width] = '.');
    let Some(at) = column(life_of(&line.id)) else { return String::new() };
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
