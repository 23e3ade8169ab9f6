//! A log that is not whole: what is readable of it, and how it goes on.

use super::handle::{Log, Waker};
use super::job::CheckpointJob;
use super::recover::{Loaded, Recovery};
use super::report::{LogConfig, OpenError};
use super::scan::{Damage, readable_records};
use super::segment::{FileName, LogIdentity};
use super::storage::Storage;
use super::torn::RECORD_BYTES_MIN;
use super::writer::{Resume, Writer};
use marchland_common::order::Lsn;

/// A log with damage that no crash explains. It holds the folder's lock, and changed nothing.
///
/// The base must not serve the entities that stand behind the damage from here: it asks their
/// live cells, and stops with an alarm where there is none. With an image of everything it then
/// calls [`repair`](Self::repair).
pub struct Broken {
    damage: Damage,
    before: Recovery,
    numbers: Vec<u64>,
    resume: Resume,
    identity: LogIdentity,
    storage: Box<dyn Storage>,
}

impl std::fmt::Debug for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broken").field("damage", &self.damage).finish_non_exhaustive()
    }
}

impl Broken {
    pub(super) fn new(
        damage: Damage,
        loaded: Loaded,
        identity: LogIdentity,
        storage: Box<dyn Storage>,
    ) -> Self {
        let resume = loaded.resume().clone();
        let (before, numbers) = (loaded.recovery, loaded.numbers);
        Self { damage, before, numbers, resume, identity, storage }
    }

    /// The first place that is not whole.
    #[must_use]
    pub const fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Everything before it: whole, in order, chained.
    #[must_use]
    pub const fn before(&self) -> &Recovery {
        &self.before
    }

    /// What can still be read behind it: whole records, in order, with holes. Which entities had
    /// later records can be learned from them; that nothing is missing cannot.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn following(&self) -> Result<Vec<(Lsn, Vec<u8>)>, OpenError> {
        let mut records = Vec::new();
        for name in self.damaged_files() {
            let bytes = self
                .storage
                .read(&name, u64::MAX)
                .map_err(|source| OpenError::disk("read", &name, source))?;
            records.extend(readable_records(&bytes, self.damage.lsn));
        }
        records.sort_by_key(|(lsn, _)| *lsn);
        Ok(records)
    }

    /// Segments from the damaged one on; all of them if a checkpoint is damaged.
    fn damaged_files(&self) -> impl Iterator<Item = String> + '_ {
        let first = match FileName::parse(&self.damage.file) {
            Some(FileName::Segment(number)) => number,
            _ => 0,
        };
        let numbers = self.numbers.iter().filter(move |number| **number >= first);
        numbers.map(|number| FileName::Segment(*number).name())
    }

    /// Goes on from an image of everything, which becomes a checkpoint. The segments that were
    /// there keep their content under names that end in `.broken`. Positions go on above every
    /// one that may have been used. If it fails or the host crashes, the log is as broken as
    /// before, or repaired: try again.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn repair(
        self,
        entries: impl Iterator<Item = Vec<u8>> + Send + 'static,
        config: LogConfig,
        waker: Waker,
    ) -> Result<Log, OpenError> {
        config.check().map_err(OpenError::Config)?;
        let through = self.highest_position()?;
        let old: Vec<String> =
            self.numbers.iter().map(|number| FileName::Segment(*number).name()).collect();
        let resume = Resume { durable: through, segments: Vec::new(), ..self.resume };
        let (segment_bytes, group_bytes) = (config.segment_bytes, config.group_bytes);
        let mut writer =
            Writer::new(self.storage, self.identity, segment_bytes, group_bytes, resume);
        let failed = |source| OpenError::disk("repair", "the log", source);
        // The new segment comes first: with the checkpoint in place it makes all older ones
        // needless, so a crash after that leaves a whole log.
        writer.begin_segment().map_err(failed)?;
        let mut job = CheckpointJob::new(&mut writer, through, Box::new(entries));
        while job.step(&mut writer).map_err(failed)?.is_none() {}
        for name in old {
            writer.storage.rename(&name, &format!("{name}.broken")).map_err(failed)?;
        }
        writer.storage.sync_folder().map_err(failed)?;
        Ok(Log::start(writer, config, waker))
    }

    /// The highest position that may have been used, also by records that cannot be read.
    fn highest_position(&self) -> Result<Lsn, OpenError> {
        let mut bytes = 0;
        for name in self.damaged_files() {
            let content = self.storage.read(&name, u64::MAX);
            bytes += content.map_err(|source| OpenError::disk("read", &name, source))?.len() as u64;
        }
        let hidden = self.damage.lsn.0 + bytes / RECORD_BYTES_MIN as u64;
        let read = self.following()?.last().map_or(0, |(lsn, _)| lsn.0);
        Ok(Lsn(hidden.max(read)))
    }
}
