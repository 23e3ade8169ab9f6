//! What is left beside a log out of which slots were taken over: who has them, for people, and for the
//! next life of the base that wrote it. It starts with no store that knows less.

use marchland_common::order::{Node, SlotId, Term};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The file, one line a slot; the newest line of a slot is the last.
const TAKEN: &str = "TAKEN";

/// Slots that went on elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Who took them.
    pub(crate) by: Node,
    /// Whose they were.
    pub(crate) from: Node,
    /// The slots, under the terms that began then.
    pub(crate) slots: Vec<(SlotId, Term)>,
}

impl Mark {
    /// Writes it beside a log.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(folder.join(TAKEN))?;
        let line = |(slot, term): &(SlotId, Term)| {
            format!("slot {slot} of {} goes on at {} under term {term}\n", self.from, self.by)
        };
        let text: String = self.slots.iter().map(line).collect();
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        File::open(folder)?.sync_all()
    }
}

/// The slots of a log that went on elsewhere, with the terms that began then. A line that does not
/// read, as a crash leaves it, says nothing.
///
/// # Errors
/// The disk refuses.
pub(crate) fn marks(folder: &Path) -> io::Result<Vec<(SlotId, Term)>> {
    let text = match std::fs::read_to_string(folder.join(TAKEN)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    Ok(text.lines().filter_map(read_line).collect())
}

fn read_line(line: &str) -> Option<(SlotId, Term)> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["slot", slot, "of", _, "goes", "on", "at", _, "under", "term", term] = words[..] else {
        return None;
    };
    Some((slot.parse().ok()?, Term(term.parse().ok()?)))
}
