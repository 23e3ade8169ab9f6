//! Reads a folder into what the base starts from: the newest whole checkpoint and every record
//! after it.

use super::image::read_image;
use super::record::genesis_hash;
use super::report::OpenError;
use super::scan::{Damage, DamageKind, ScanRefusal, Scanner, Start, Torn, check_identity};
use super::segment::{
    CheckpointMeta, FileName, LogIdentity, SegmentMeta, UNFINISHED, checkpoint_format, read_meta,
    segment_format,
};
use super::storage::{Storage, write_all_at};
use super::writer::Resume;
use marchland_common::journal::frame::{HeaderError, META_BYTES_MAX, SEGMENT_HEAD};
use marchland_common::order::Lsn;
use std::io;
use std::ops::Range;

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// It holds everything up to here.
    pub through: Lsn,
    /// Its entries, in the order in which they were given.
    pub entries: Vec<Vec<u8>>,
}

/// What a log held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The newest whole checkpoint.
    pub checkpoint: Option<Image>,
    /// Every record after it, in order.
    pub records: Vec<(Lsn, Vec<u8>)>,
    /// The torn end that was dropped.
    pub torn: Option<Torn>,
    /// Newer checkpoints that are damaged, and which the segments made up for.
    pub damaged_checkpoints: Vec<String>,
}

/// A log as it was read.
pub(super) struct Loaded {
    pub(super) recovery: Recovery,
    pub(super) damage: Option<Damage>,
    pub(super) newest: Option<LogIdentity>,
    /// Numbers of all segments that are there.
    pub(super) numbers: Vec<u64>,
    resume: Resume,
    /// Where the last group of the last segment stands.
    end: Range<usize>,
}

/// The files of a log.
struct Files {
    /// Ascending.
    numbers: Vec<u64>,
    /// Newest first.
    checkpoints: Vec<Lsn>,
    unfinished: Vec<String>,
}

fn files(storage: &dyn Storage) -> Result<Files, OpenError> {
    let names = storage.list().map_err(|source| OpenError::disk("list", "the folder", source))?;
    let mut files = Files { numbers: vec![], checkpoints: vec![], unfinished: vec![] };
    for name in names {
        match FileName::parse(&name) {
            Some(FileName::Segment(number)) => files.numbers.push(number),
            Some(FileName::Checkpoint(through)) => files.checkpoints.push(through),
            None if name.ends_with(UNFINISHED) => files.unfinished.push(name),
            None => {}
        }
    }
    files.numbers.sort_unstable();
    files.checkpoints.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files)
}

fn read(storage: &dyn Storage, name: &str, limit: u64) -> Result<Vec<u8>, OpenError> {
    storage.read(name, limit).map_err(|source| OpenError::disk("read", name, source))
}

/// Whose log it is, by the header of its newest segment, or checkpoint if there is none.
pub(super) fn identity(storage: &dyn Storage) -> Result<Option<LogIdentity>, OpenError> {
    let files = files(storage)?;
    let head = |file: FileName| read(storage, &file.name(), (SEGMENT_HEAD + META_BYTES_MAX) as u64);
    if let Some(number) = files.numbers.last() {
        let bytes = head(FileName::Segment(*number))?;
        let meta = read_meta::<SegmentMeta>(&segment_format(), &bytes).ok();
        return Ok(meta.map(|(meta, _)| meta.identity));
    }
    let Some(through) = files.checkpoints.first() else { return Ok(None) };
    let bytes = head(FileName::Checkpoint(*through))?;
    let meta = read_meta::<CheckpointMeta>(&checkpoint_format(), &bytes).ok();
    Ok(meta.map(|(meta, _)| meta.identity))
}

/// Reads a log without changing it. `ours` refuses every other log; `None` reads any.
pub(super) fn load(storage: &dyn Storage, ours: Option<&LogIdentity>) -> Result<Loaded, OpenError> {
    let files = files(storage)?;
    let mut recovery = Recovery::default();
    let (start, damaged) = load_checkpoint(storage, ours, &files, &mut recovery)?;
    let fresh = files.numbers.is_empty() && files.checkpoints.is_empty();
    let skipped = needless_segments(storage, &files.numbers, start.through)?;
    let mut scanner = Scanner::new(ours.cloned(), start);
    if fresh && let Some(ours) = ours {
        scanner.hash = genesis_hash(ours.cluster, &ours.base);
    }
    let mut damage = scan(storage, &mut scanner, &files.numbers[skipped.len()..])?;
    if damage.is_none() && !fresh {
        damage = scanner.finish().err();
    }
    // If the segments do not reach back far enough, what is really wrong is the checkpoint.
    if let (Some(Damage { kind: DamageKind::Missing, .. }), Some(checkpoint)) = (&damage, damaged) {
        damage = Some(checkpoint);
    }
    let segments = skipped.into_iter().chain(std::mem::take(&mut scanner.segments)).collect();
    let resume = Resume {
        durable: Lsn(scanner.next.0 - 1),
        hash: scanner.hash,
        next_segment: files.numbers.last().map_or(1, |last| last + 1),
        segments,
    };
    let end = scanner.end.clone();
    (recovery.records, recovery.torn) = (scanner.records, scanner.torn);
    Ok(Loaded { recovery, damage, newest: scanner.newest, numbers: files.numbers, resume, end })
}

/// Takes the newest checkpoint that is whole. Also says what is wrong with the newest of all, if
/// it is not that one.
fn load_checkpoint(
    storage: &dyn Storage,
    ours: Option<&LogIdentity>,
    files: &Files,
    recovery: &mut Recovery,
) -> Result<(Start, Option<Damage>), OpenError> {
    let mut damaged = None;
    for through in &files.checkpoints {
        let file = FileName::Checkpoint(*through).name();
        match read_image(&read(storage, &file, u64::MAX)?, *through) {
            Ok((meta, entries)) => {
                check_identity(&file, ours, &meta.identity)?;
                recovery.checkpoint = Some(Image { through: meta.through, entries });
                let start = Start { through: meta.through, hash: Some(meta.hash) };
                return Ok((start, damaged));
            }
            Err(super::image::ImageError::Header(error @ HeaderError::UnknownVersion { .. })) => {
                return Err(ScanRefusal::Version { file, error }.into());
            }
            Err(error) => {
                recovery.damaged_checkpoints.push(file.clone());
                let kind = DamageKind::Checkpoint(error);
                damaged.get_or_insert(Damage { file, offset: 0, lsn: Lsn(1), kind });
            }
        }
    }
    Ok((Start::default(), damaged))
}

/// The first segments, of which the checkpoint holds every record: they are not read, so what is
/// wrong in them does not matter any more.
fn needless_segments(
    storage: &dyn Storage,
    numbers: &[u64],
    through: Lsn,
) -> Result<Vec<(u64, Lsn)>, OpenError> {
    let mut firsts = Vec::new();
    let mut begin = 0;
    for (index, number) in numbers.iter().enumerate() {
        let name = FileName::Segment(*number).name();
        let head = read(storage, &name, (SEGMENT_HEAD + META_BYTES_MAX) as u64)?;
        let meta = read_meta::<SegmentMeta>(&segment_format(), &head).ok();
        let first = meta.map(|(meta, _)| meta.first_lsn);
        if first.is_some_and(|first| first <= through.next()) {
            begin = index;
        }
        firsts.push((*number, first.unwrap_or_default()));
    }
    firsts.truncate(begin);
    Ok(firsts)
}

fn scan(
    storage: &dyn Storage,
    scanner: &mut Scanner,
    numbers: &[u64],
) -> Result<Option<Damage>, OpenError> {
    for (index, number) in numbers.iter().enumerate() {
        let bytes = read(storage, &FileName::Segment(*number).name(), u64::MAX)?;
        if let Err(damage) = scanner.segment(*number, &bytes, index + 1 == numbers.len())? {
            return Ok(Some(damage));
        }
    }
    Ok(None)
}

impl Loaded {
    /// Makes the folder ready for writing on: removes what was never finished, cuts the torn end.
    pub(super) fn clean(self, storage: &mut dyn Storage) -> Result<(Recovery, Resume), OpenError> {
        for name in files(storage)?.unfinished {
            storage.remove(&name).map_err(|source| OpenError::disk("remove", &name, source))?;
        }
        if let Some(number) = self.numbers.last() {
            let file = FileName::Segment(*number).name();
            self.settle_end(storage, &file)
                .map_err(|source| OpenError::disk("settle the end of", &file, source))?;
            storage.close(&file);
        }
        Ok((self.recovery, self.resume))
    }

    /// Cuts the torn end, and makes durable what is before it. After a kill the last group may be
    /// in the system's memory only; and if its sync had failed, the system may take it for
    /// written. So it is written once more, where it is, and synced.
    fn settle_end(&self, storage: &mut dyn Storage, file: &str) -> io::Result<()> {
        if let Some(torn) = &self.recovery.torn {
            storage.truncate(file, torn.offset)?;
        }
        let bytes = storage.read(file, self.end.end as u64)?;
        let group = bytes.get(self.end.clone()).unwrap_or_default();
        write_all_at(storage, file, self.end.start as u64, group)?;
        storage.sync(file)
    }

    /// Where the last whole record ends.
    pub(super) const fn resume(&self) -> &Resume {
        &self.resume
    }
}
