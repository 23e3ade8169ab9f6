//! The one door to a disk: the journals of a folder.

use super::Journals;
use super::segment::Segment;
use marchland_common::journal::JOURNAL_SUFFIX;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// How deep folders are searched. A run's folder is two deep.
const DEPTH_MAX: usize = 16;

/// Why a folder's journals could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct LoadError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Reads every journal in a folder and the folders in it. Other files, such as write-ahead logs,
/// are passed over; links are not followed. A torn end is no error, damage is told by
/// [`Process::faults`](super::Process::faults), and a folder without journals gives none.
///
/// # Errors
/// [`LoadError`] when the folder, or a journal in it, cannot be read at all.
pub fn load(dir: &Path) -> Result<Journals, LoadError> {
    let files = files(dir)?;
    let (mut segments, mut strays) = (Vec::new(), Vec::new());
    for path in files {
        let bytes = fs::read(&path).map_err(|source| LoadError { path: path.clone(), source })?;
        let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
        match Segment::read(&name, bytes) {
            Ok(segment) => segments.push(segment),
            Err(stray) => strays.push(stray),
        }
    }
    Ok(Journals::from_segments(segments, strays))
}

/// The files of all journals in a folder and the folders in it, sorted.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let mut files = Vec::new();
    collect(dir, DEPTH_MAX, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let fail = |source| LoadError { path: dir.to_owned(), source };
    for entry in fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        let path = entry.path();
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if kind.is_file() && path.to_string_lossy().ends_with(JOURNAL_SUFFIX) {
            files.push(path);
        }
    }
    Ok(())
}
