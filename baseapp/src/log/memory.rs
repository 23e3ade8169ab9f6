//! A disk in memory that behaves as badly as a real one may: it fills up, writes short, fails a
//! sync and forgets what it failed to write, loses power between any two operations, and then
//! keeps any part of what was not synced. Deterministic: same orders, same content.
//!
//! Clones are the same disk, so that a test or a simulator keeps one while a log writes.

use super::storage::Storage;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What the disk was asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Writes, the refused ones included.
    pub writes: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Syncs of a file, the failed ones included.
    pub syncs: u64,
    /// Syncs of the folder.
    pub folder_syncs: u64,
}

/// What of the unsynced content a crash keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survives {
    /// Only what was synced.
    Synced,
    /// Everything, as when the process was killed and the host was not.
    Everything,
    /// Sector by sector and name by name, drawn from this seed.
    Drawn(u64),
}

#[derive(Clone, Debug, Default)]
struct Content {
    cached: Vec<u8>,
    synced: Vec<u8>,
    dirty: BTreeSet<usize>,
}

#[derive(Debug, Default)]
struct Disk {
    files: BTreeMap<u64, Content>,
    names: BTreeMap<String, u64>,
    synced_names: BTreeMap<String, u64>,
    /// The names after each change since the folder was synced: a crash keeps some first part of
    /// the changes, never a rename by half.
    unsynced_names: Vec<BTreeMap<String, u64>>,
    next_file: u64,
    counts: DiskCounts,
    capacity: Option<usize>,
    longest_write: Option<usize>,
    failing_writes: u32,
    failing_syncs: u32,
    operations_left: Option<u64>,
    syncs_held: bool,
    syncs_waiting: u64,
}

/// A disk in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk(Arc<(Mutex<Disk>, Condvar)>);

impl MemoryDisk {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on all files together hold at most this; `None` takes the limit away.
    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.disk().capacity = bytes;
    }

    /// From now on one write takes at most this.
    pub fn set_longest_write(&self, bytes: Option<usize>) {
        self.disk().longest_write = bytes;
    }

    /// The next writes fail.
    pub fn fail_writes(&self, count: u32) {
        self.disk().failing_writes = count;
    }

    /// The next syncs fail, and what they should have kept is forgotten: a later sync that
    /// succeeds does not bring it back.
    pub fn fail_syncs(&self, count: u32) {
        self.disk().failing_syncs = count;
    }

    /// After this many changing operations every further one fails, until [`crash`](Self::crash).
    pub fn cut_power_after(&self, operations: u64) {
        self.disk().operations_left = Some(operations);
    }

    /// Whether the power is gone.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.disk().operations_left == Some(0)
    }

    /// Syncs do not return from now on, until [`release_syncs`](Self::release_syncs).
    pub fn hold_syncs(&self) {
        self.disk().syncs_held = true;
    }

    /// Lets held syncs, and later ones, return.
    pub fn release_syncs(&self) {
        self.disk().syncs_held = false;
        self.0.1.notify_all();
    }

    /// Waits until this many syncs are held.
    pub fn wait_for_held_syncs(&self, count: u64) {
        let mut disk = self.disk();
        while disk.syncs_waiting < count {
            disk = self.0.1.wait(disk).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What the disk was asked to do.
    #[must_use]
    pub fn counts(&self) -> DiskCounts {
        self.disk().counts
    }

    /// The content of a file as a reader sees it.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        self.read(name, u64::MAX).ok()
    }

    /// Replaces the content of a file, as damage would, synced and unsynced alike.
    pub fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut disk = self.disk();
        let Some(id) = disk.names.get(name).copied() else { return };
        if let Some(file) = disk.files.get_mut(&id) {
            change(&mut file.cached);
            file.synced = file.cached.clone();
            file.dirty.clear();
        }
    }

    /// The power is back and every fault is over; nothing else changed. For a process that was
    /// killed on a host that goes on.
    pub fn heal(&self) {
        let mut disk = self.disk();
        (disk.operations_left, disk.capacity, disk.longest_write) = (None, None, None);
        (disk.failing_writes, disk.failing_syncs) = (0, 0);
    }

    /// The disk after the host crashed now: another disk, without faults.
    #[must_use]
    pub fn crash(&self, survives: Survives) -> Self {
        let disk = self.disk();
        let mut draw = Draw::new(survives);
        let mut after = Disk { next_file: disk.next_file, ..Disk::default() };
        let kept = disk.unsynced_names.iter().take_while(|_| draw.keeps()).last();
        after.names = kept.unwrap_or(&disk.synced_names).clone();
        for (id, content) in &disk.files {
            let kept = content.after_crash(&mut draw);
            let content = Content { cached: kept.clone(), synced: kept, dirty: BTreeSet::new() };
            after.files.insert(*id, content);
        }
        after.synced_names = after.names.clone();
        Self(Arc::new((Mutex::new(after), Condvar::new())))
    }
}

/// Draws what survives.
enum Draw {
    Always(bool),
    Random(u64),
}

impl Draw {
    fn new(survives: Survives) -> Self {
        match survives {
            Survives::Synced => Self::Always(false),
            Survives::Everything => Self::Always(true),
            Survives::Drawn(seed) => Self::Random(seed),
        }
    }

    fn keeps(&mut self) -> bool {
        match self {
            Self::Always(keeps) => *keeps,
            Self::Random(state) => {
                // SplitMix64: any seed, also 0, gives a good sequence.
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (z ^ (z >> 31)) & 1 == 1
            }
        }
    }
}

impl Content {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.cached.len() < end {
            self.cached.resize(end, 0);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / SECTOR..end.div_ceil(SECTOR));
    }

    fn sync(&mut self) {
        let cached = &self.cached;
        self.synced.resize(cached.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            let end = ((sector + 1) * SECTOR).min(cached.len());
            let begin = (sector * SECTOR).min(end);
            self.synced[begin..end].copy_from_slice(&cached[begin..end]);
        }
    }

    fn after_crash(&self, draw: &mut Draw) -> Vec<u8> {
        let mut kept = self.synced.clone();
        // The length is a fact of its own: it may survive without the bytes, which then read as
        // zeros, and bytes that survive are not seen without it.
        if draw.keeps() {
            kept.resize(self.cached.len(), 0);
        }
        for sector in &self.dirty {
            let end = ((sector + 1) * SECTOR).min(kept.len()).min(self.cached.len());
            let begin = (sector * SECTOR).min(end);
            if draw.keeps() {
                kept[begin..end].copy_from_slice(&self.cached[begin..end]);
            }
        }
        kept
    }
}

impl Disk {
    /// Counts a changing operation; fails if the power is gone.
    fn operate(&mut self) -> io::Result<()> {
        match &mut self.operations_left {
            Some(0) => Err(io::Error::other("the power is gone")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn id(&self, name: &str) -> io::Result<u64> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn content(&mut self, name: &str) -> io::Result<&mut Content> {
        let id = self.id(name)?;
        self.files.get_mut(&id).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn names_changed(&mut self) {
        self.unsynced_names.push(self.names.clone());
    }

    fn used(&self) -> usize {
        let named = self.names.values().filter_map(|id| self.files.get(id));
        named.map(|file| file.cached.len()).sum()
    }

    fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.operate()?;
        self.counts.writes += 1;
        if self.failing_writes > 0 {
            self.failing_writes -= 1;
            return Err(io::Error::from_raw_os_error(5));
        }
        let (offset, size) = (offset as usize, self.content(name)?.cached.len());
        let mut len = bytes.len().min(self.longest_write.unwrap_or(usize::MAX));
        if let Some(capacity) = self.capacity {
            let room = capacity.saturating_sub(self.used()) + size.saturating_sub(offset);
            len = len.min(room);
            if len == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        self.content(name)?.write(offset, &bytes[..len]);
        self.counts.bytes += len as u64;
        Ok(len)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.operate()?;
        self.counts.syncs += 1;
        let fails = self.failing_syncs > 0;
        self.failing_syncs = self.failing_syncs.saturating_sub(1);
        let content = self.content(name)?;
        if fails {
            content.dirty.clear();
            return Err(io::Error::from_raw_os_error(5));
        }
        content.sync();
        Ok(())
    }
}

impl Storage for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.disk().names.keys().cloned().collect())
    }

    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let mut disk = self.disk();
        let cached = &disk.content(name)?.cached;
        Ok(cached[..cached.len().min(limit as usize)].to_vec())
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        disk.next_file += 1;
        let id = disk.next_file;
        disk.files.insert(id, Content::default());
        disk.names.insert(name.to_owned(), id);
        disk.names_changed();
        Ok(())
    }

    fn write_at(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.disk().write(name, offset, bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.syncs_waiting += 1;
        self.0.1.notify_all();
        while disk.syncs_held {
            disk = self.0.1.wait(disk).unwrap_or_else(PoisonError::into_inner);
        }
        disk.syncs_waiting -= 1;
        disk.sync(name)
    }

    fn truncate(&mut self, name: &str, len: u64) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        disk.content(name)?.cached.truncate(len as usize);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        let id = disk.id(from)?;
        disk.names.remove(from);
        disk.names.insert(to.to_owned(), id);
        disk.names_changed();
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        disk.id(name)?;
        disk.names.remove(name);
        disk.names_changed();
        Ok(())
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        disk.counts.folder_syncs += 1;
        disk.synced_names = disk.names.clone();
        disk.unsynced_names.clear();
        Ok(())
    }

    fn close(&mut self, _name: &str) {}
}
