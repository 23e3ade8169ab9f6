//! What each record could know: for every process, how many of its records lie in the past.
//!
//! Clients exchange no bundles with servers that a journal names, so they have no column: two
//! events of which one is a client's are concurrent unless both are the same client's.

use crate::journals::Journals;
use marchland_common::order::NodeKind;

/// The place of an event: which process, which of its records, which event of that record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The process, as an index into [`Journals::processes`].
    pub proc: u32,
    /// The record.
    pub record: u32,
    /// The event; [`At::RECORD`] stands for the record as a whole, after its events.
    pub event: u32,
}

impl At {
    /// The event number of a whole record.
    pub const RECORD: u32 = u32::MAX;

    /// A record as a whole.
    #[must_use]
    pub const fn record(proc: u32, record: u32) -> Self {
        Self { proc, record, event: Self::RECORD }
    }
}

/// The vector clocks of all records.
#[derive(Debug)]
pub struct Clocks {
    /// The column of each process that has one.
    column: Vec<Option<u32>>,
    columns: usize,
    /// Where the rows of each process begin.
    first_row: Vec<usize>,
    rows: Vec<u32>,
}

impl Clocks {
    /// Empty clocks for these journals.
    #[must_use]
    pub fn new(journals: &Journals) -> Self {
        let (mut column, mut first_row) = (Vec::new(), Vec::new());
        let (mut columns, mut rows) = (0, 0);
        for process in journals.processes() {
            let speaks = process.kind() != NodeKind::Client;
            column.push(speaks.then_some(columns));
            columns += u32::from(speaks);
            first_row.push(rows);
            rows += if speaks { process.len() } else { 0 };
        }
        let columns = columns as usize;
        Self { column, columns, first_row, rows: vec![0; rows * columns] }
    }

    fn row(&self, proc: u32, record: u32) -> std::ops::Range<usize> {
        let start = (self.first_row[proc as usize] + record as usize) * self.columns;
        start..start + self.columns
    }

    /// Begins a record's row: it knows what the record before it knew, and the first record of a
    /// life what the lives before it knew at their ends.
    pub(super) fn begin(&mut self, proc: u32, record: u32, earlier_lives: &[u32]) {
        let Some(own) = self.column[proc as usize] else { return };
        let row = self.row(proc, record);
        match record.checked_sub(1) {
            Some(last) => {
                let last = self.row(proc, last);
                self.rows.copy_within(last, row.start);
            }
            None => earlier_lives.iter().for_each(|life| self.inherit(proc, *life)),
        }
        self.rows[row.start + own as usize] = record + 1;
    }

    fn inherit(&mut self, proc: u32, life: u32) {
        let next = self.first_row.get(life as usize + 1).copied();
        let end = next.unwrap_or(self.rows.len() / self.columns.max(1));
        let count = end - self.first_row[life as usize];
        if let Some(last) = (count as u32).checked_sub(1) {
            self.learn(proc, 0, life, last);
        }
    }

    /// A record knows what another process's record knew.
    pub(super) fn learn(&mut self, proc: u32, record: u32, from: u32, sent_in: u32) {
        if self.column[proc as usize].is_none() || self.column[from as usize].is_none() {
            return;
        }
        let (theirs, mine) = (self.row(from, sent_in), self.row(proc, record));
        for (theirs, mine) in theirs.zip(mine) {
            self.rows[mine] = self.rows[mine].max(self.rows[theirs]);
        }
    }

    /// How many records of `other` lie in the past of a record, itself included.
    #[must_use]
    pub fn known(&self, at: At, other: u32) -> u32 {
        if at.proc == other {
            return at.record + 1;
        }
        match (self.column[at.proc as usize], self.column[other as usize]) {
            (Some(_), Some(column)) => {
                self.rows[self.row(at.proc, at.record).start + column as usize]
            }
            _ => 0,
        }
    }

    /// Whether `a` could have caused `b`.
    #[must_use]
    pub fn before(&self, a: At, b: At) -> bool {
        match a.proc == b.proc {
            true => (a.record, a.event) < (b.record, b.event),
            false => self.known(b, a.proc) > a.record,
        }
    }
}
