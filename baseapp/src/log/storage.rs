//! What the log needs of a disk, and nothing more.
//!
//! The log never overwrites a byte that was synced, so the promises needed are few: a sync of a
//! file keeps its bytes and its length, a sync of the folder keeps its names, and a rename is
//! seen as a whole or not at all.

use std::io;

/// A folder of files.
pub trait Storage: Send + Sync {
    /// The names of all files, in any order.
    ///
    /// # Errors
    /// Of the disk.
    fn list(&self) -> io::Result<Vec<String>>;

    /// The content of a file, at most this many bytes of its beginning.
    ///
    /// # Errors
    /// Of the disk.
    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>>;

    /// Makes an empty file, in place of one that may be there.
    ///
    /// # Errors
    /// Of the disk.
    fn create(&mut self, name: &str) -> io::Result<()>;

    /// Writes at a place in a file; returns how much of it was written.
    ///
    /// # Errors
    /// Of the disk: nothing or a part may have been written.
    fn write_at(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Returns when the file's bytes and length would survive a crash of the host.
    ///
    /// # Errors
    /// Of the disk. What was written since the last good sync must be written again: the system
    /// may have thrown it away and forgotten the error.
    fn sync(&mut self, name: &str) -> io::Result<()>;

    /// Cuts a file.
    ///
    /// # Errors
    /// Of the disk.
    fn truncate(&mut self, name: &str, len: u64) -> io::Result<()>;

    /// Gives a file another name, in place of one that may be there.
    ///
    /// # Errors
    /// Of the disk.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Of the disk.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Returns when the folder's names would survive a crash of the host.
    ///
    /// # Errors
    /// Of the disk.
    fn sync_folder(&mut self) -> io::Result<()>;

    /// The log is done with this file: a handle need not be kept.
    fn close(&mut self, name: &str);
}

/// Writes all of `bytes`, however short the single writes are.
///
/// # Errors
/// Of the disk; a write of nothing is an error too, or this would never end.
pub fn write_all_at(
    storage: &mut dyn Storage,
    name: &str,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match storage.write_at(name, offset + done as u64, &bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
