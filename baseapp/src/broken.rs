//! A log that does not read: what is known of it, in words. A baseapp does not guess what a lost
//! record said, so it stops, and changes nothing.

use crate::log::Broken;
use marchland_baseapp_core::log::{ReplayError, account};
use marchland_common::world::Kinds;
use std::path::Path;

/// Why a log is not gone on from. It is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "damaged log: {log}: {damage}; {known}. What the log does not say cannot be known, so nothing of \
     it is served, and nothing was written to it"
)]
pub struct BrokenLog {
    log: String,
    damage: String,
    known: String,
}

impl BrokenLog {
    /// A log with a damaged place.
    pub(crate) fn damaged(folder: &Path, broken: &Broken, kinds: &Kinds) -> Self {
        let before = broken.before();
        let image = before.checkpoint.iter().flat_map(|image| &image.entries);
        let records = before.records.iter().map(|(_, bytes)| bytes);
        let (whole, _) = account(kinds, image.chain(records));
        let behind = match broken.following() {
            Ok(records) => format!("{} whole records stand behind it", records.len()),
            Err(error) => format!("what stands behind it does not read: {error}"),
        };
        let entities = whole.end.values().filter(|kept| !kept.ended).count();
        Self {
            log: folder.display().to_string(),
            damage: broken.damage().to_string(),
            known: format!(
                "everything up to record {} is whole, with {entities} entities, and {behind}",
                whole.last.0
            ),
        }
    }

    /// A log whose bytes are whole and whose records do not add up.
    pub(crate) fn unfit(folder: &Path, error: &ReplayError) -> Self {
        Self {
            log: folder.display().to_string(),
            damage: error.to_string(),
            known: "its bytes are whole: this build, or its kinds, may not be those that wrote it"
                .to_owned(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        "starting again does not help. Start the build that wrote it, or bring the folder back from a \
         copy that is whole; if there is none, move the folder away, keep it, and start with \
         --accept-loss: what only that log held is lost"
    }
}
