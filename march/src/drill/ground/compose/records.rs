//! The journals and logs of a cluster in containers: a copy of their volume, and what is noted in
//! both for whoever audits them, now or later.

use super::docker::{LONG_MAX, docker, docker_within};
use super::project::Container;
use crate::exit::{Failure, USAGE};
use crate::verbs::audit::{AuditNotes, NOTES_FILE};
use std::path::{Path, PathBuf};

/// Where docker-compose.yml puts the volume.
const RECORDS: &str = "/data";

pub(super) struct Records {
    dir: PathBuf,
    killed: Vec<String>,
}

impl Records {
    pub(super) fn new(drill: &str) -> Self {
        let name = format!("march-drill-{drill}-{}", std::process::id());
        Self { dir: std::env::temp_dir().join(name), killed: Vec::new() }
    }

    /// The copy.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Notes that a process was killed.
    pub(super) fn killed(&mut self, name: &str) {
        self.killed.push(name.to_owned());
    }

    /// Copies everything, and notes who was killed beside it and where it came from.
    pub(super) async fn take(
        &self,
        container: &Container,
        census_at: Option<u64>,
    ) -> Result<(), Failure> {
        let cannot = |what: &Path, e: std::io::Error| {
            Failure::new(USAGE, format!("cannot write {}: {e}", what.display()))
                .hint("TMPDIR says where there is more room")
        };
        std::fs::create_dir_all(&self.dir).map_err(|e| cannot(&self.dir, e))?;
        let (from, to) = (format!("{}:{RECORDS}/.", container.id), self.dir.display().to_string());
        docker_within(&["cp", &from, &to], LONG_MAX).await?;
        // The volume goes on: the tick of a census that was taken once is not of later ones.
        let mut notes = AuditNotes::read(&self.dir).unwrap_or_default();
        notes.killed.extend(self.killed.iter().cloned());
        notes.census_at = None;
        let path = self.dir.join(NOTES_FILE);
        let write = |notes: &AuditNotes| {
            let text = serde_json::to_vec_pretty(notes).unwrap_or_default();
            std::fs::write(&path, text).map_err(|e| cannot(&path, e))
        };
        if !self.killed.is_empty() {
            write(&notes)?;
            let into = format!("{}:{RECORDS}/{NOTES_FILE}", container.id);
            docker(&["cp", &path.display().to_string(), &into]).await?;
        }
        notes.census_at = census_at;
        write(&notes)
    }
}
