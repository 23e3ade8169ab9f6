//! From the records of a log back to what was durable.

use super::{BadRecord, LogRecord, Store};
use marchland_common::order::Lsn;
use marchland_common::world::Kinds;
use serde::{Deserialize, Serialize};

/// What a base begins with: nothing, or what its log says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// Everything durable.
    pub store: Store,
    /// The number of the newest record.
    pub last: Lsn,
}

/// Why a log does not read back. The log is broken or another version's: a base must not guess.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {lsn} of the log does not fit: {why}")]
pub struct ReplayError {
    /// The number of the record; for a checkpoint, the one that it stands for.
    pub lsn: Lsn,
    /// What is wrong with it.
    #[source]
    pub why: BadRecord,
}

/// Reads a log record by record.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) so_far: Recovered,
    /// Parts of a checkpoint that is being read.
    parts: Option<u64>,
}

impl Reader {
    /// Takes the next record in; returns it with its number.
    ///
    /// # Errors
    /// [`ReplayError`]. Nothing of the record was taken in.
    pub(super) fn take(
        &mut self,
        kinds: &Kinds,
        bytes: &[u8],
    ) -> Result<(Lsn, LogRecord), ReplayError> {
        let out = &mut self.so_far;
        let lsn = if self.parts.is_some() { out.last } else { out.last.next() };
        let fail = |why| ReplayError { lsn, why };
        let record = LogRecord::decode(bytes).map_err(fail)?;
        match (&record, &mut self.parts) {
            (LogRecord::Image(at), None) => {
                *out = Recovered { store: Store::default(), last: *at };
                self.parts = Some(0);
            }
            (LogRecord::Part(_), Some(n)) => {
                out.store.apply(&record, kinds).map_err(fail)?;
                *n += 1;
            }
            (LogRecord::ImageEnd(all), Some(n)) if *all == *n => self.parts = None,
            (LogRecord::Image(_) | LogRecord::Part(_) | LogRecord::ImageEnd(_), _)
            | (_, Some(_)) => return Err(fail(BadRecord::TornImage)),
            (_, None) => {
                out.store.apply(&record, kinds).map_err(fail)?;
                out.last = lsn;
            }
        }
        Ok((lsn, record))
    }

    /// The end of the log.
    ///
    /// # Errors
    /// It ends in the middle of a checkpoint.
    pub(super) const fn end(&self) -> Result<(), ReplayError> {
        match self.parts {
            Some(_) => Err(ReplayError { lsn: self.so_far.last, why: BadRecord::TornImage }),
            None => Ok(()),
        }
    }
}

/// Applies the records of a log, oldest first: either from the first record ever, or a checkpoint
/// and everything after it.
///
/// # Errors
/// [`ReplayError`] at the first record that does not decode, does not fit what came before it, or
/// ends a checkpoint that is not whole.
pub fn replay<B: AsRef<[u8]>>(
    kinds: &Kinds,
    records: impl IntoIterator<Item = B>,
) -> Result<Recovered, ReplayError> {
    let mut reader = Reader::default();
    for bytes in records {
        reader.take(kinds, bytes.as_ref())?;
    }
    reader.end()?;
    Ok(reader.so_far)
}
