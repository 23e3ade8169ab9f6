//! The log's folder on a real disk, held by one process at a time.

use super::report::OpenError;
use super::storage::Storage;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The file whose lock is the right to write the log. It holds the holder's process id.
const LOCK: &str = "LOCK";

/// A real folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    files: BTreeMap<String, File>,
    /// Held until the process ends, however it ends: the system gives it up, nobody else can.
    _lock: Option<File>,
}

impl Folder {
    /// Makes the folder if it is not there, and takes its lock.
    ///
    /// # Errors
    /// Another process holds it, or the disk refuses.
    pub fn lock(path: &Path) -> Result<Self, OpenError> {
        std::fs::create_dir_all(path)
            .map_err(|source| OpenError::disk("make the folder", path.display(), source))?;
        Self::lock_present(path)
    }

    /// Takes the lock of a folder that is there.
    ///
    /// # Errors
    /// Another process holds it, or the disk refuses.
    pub fn lock_present(path: &Path) -> Result<Self, OpenError> {
        let failed = |what| move |source| OpenError::disk(what, path.display(), source);
        let lock_path = path.join(LOCK);
        let mut lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&lock_path)
            .map_err(failed("open the lock in"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let read = lock.read_to_string(&mut text);
                let pid = read.ok().and_then(|_| text.trim().parse().ok());
                return Err(OpenError::Locked { folder: path.display().to_string(), pid });
            }
            Err(errno) => return Err(failed("lock")(errno.into())),
        }
        lock.set_len(0).map_err(failed("write the lock in"))?;
        writeln!(lock, "{}", std::process::id()).map_err(failed("write the lock in"))?;
        Ok(Self { path: path.to_owned(), files: BTreeMap::new(), _lock: Some(lock) })
    }

    /// Looks into a folder without its lock. Only reading makes sense.
    #[must_use]
    pub fn unlocked(path: &Path) -> Self {
        Self { path: path.to_owned(), files: BTreeMap::new(), _lock: None }
    }

    fn file(&mut self, name: &str) -> io::Result<&File> {
        if !self.files.contains_key(name) {
            let file = OpenOptions::new().write(true).open(self.path.join(name))?;
            self.files.insert(name.to_owned(), file);
        }
        self.files.get(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for Folder {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(&self.path)?
            .map(|entry| entry.map(|entry| entry.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path.join(name))?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        let file = File::create(self.path.join(name))?;
        self.files.insert(name.to_owned(), file);
        Ok(())
    }

    fn write_at(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file(name)?.write_at(bytes, offset)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.file(name)?.sync_data()
    }

    fn truncate(&mut self, name: &str, len: u64) -> io::Result<()> {
        self.file(name)?.set_len(len)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))?;
        self.files.remove(to);
        if let Some(file) = self.files.remove(from) {
            self.files.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.files.remove(name);
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn close(&mut self, name: &str) {
        self.files.remove(name);
    }
}
