//! The journal of a crowd: what bots said and heard, as one process.

use crate::exit::{Failure, USAGE};
use bytes::Bytes;
use marchland_client::bots::{BotsOptions, BotsReport, run};
use marchland_common::journal::{Event, JournalHeader, TickRecord};
use marchland_common::order::{Node, NodeKind, Tick};
use marchland_runtime::journal::{Journal, JournalConfig, JournalMode};
use marchland_runtime::telemetry::Counters;
use marchland_runtime::tick::calendar_ms;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Facts that are written as one record.
const FACTS_A_RECORD: usize = 256;
/// How long the journal may take to end.
const CLOSE_MAX: Duration = Duration::from_secs(3);

/// An open journal of a crowd.
pub(crate) struct BotsJournal {
    journal: Journal,
    facts: Vec<Event>,
    records: u64,
}

impl BotsJournal {
    /// Opens it in a folder.
    pub(crate) fn open(dir: &Path, seed: u64) -> Result<Self, Failure> {
        marchland_runtime::process::prepare_dir(dir)
            .map_err(|e| Failure::new(USAGE, e.to_string()))?;
        let header = JournalHeader {
            cluster: 0,
            // A crowd has no registration; its life is named by when it began.
            node: Node::new(NodeKind::Client, 1, calendar_ms()),
            build: env!("CARGO_PKG_VERSION").to_owned(),
            schema: marchland_frontier_core::kinds().schema_hash(),
            seed,
            config: String::new(),
            segment: 0,
            wall_ms: 0,
        };
        let config = JournalConfig {
            mode: JournalMode::Lossy,
            ..JournalConfig::new(dir.to_owned(), header)
        };
        let journal = Journal::start(config, Bytes::from_static(&[0]), &Counters::default())
            .map_err(|e| Failure::new(USAGE, e.to_string()))?;
        Ok(Self { journal, facts: Vec::new(), records: 0 })
    }

    fn note(&mut self, event: Event) {
        self.facts.push(event);
        if self.facts.len() >= FACTS_A_RECORD {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.facts.is_empty() {
            return;
        }
        // Bots hear of many ticks at once: records are numbered, and facts say their own ticks.
        self.records += 1;
        let facts = std::mem::take(&mut self.facts);
        self.journal.append(TickRecord::without_core(Tick(self.records), facts));
    }
}

/// Plays, and journals what was said and heard.
pub(crate) async fn play(
    options: BotsOptions,
    stop: watch::Receiver<bool>,
    journal: Option<BotsJournal>,
) -> BotsReport {
    let shared = Arc::new(Mutex::new(journal));
    let book = shared.clone();
    let report = run(options, stop, move |_, event| {
        if let Some(journal) = &mut *book.lock().unwrap_or_else(PoisonError::into_inner) {
            journal.note(event);
        }
    });
    let report = report.await;
    if let Some(mut journal) = shared.lock().unwrap_or_else(PoisonError::into_inner).take() {
        journal.write();
        if !journal.journal.close("the bots left", CLOSE_MAX) {
            tracing::error!("the bots' journal was not closed in time");
        }
    }
    report
}
