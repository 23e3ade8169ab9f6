//! A folder of journals as a source: the same frames, afterwards.

mod index;
mod passport;

use crate::causal::Causes;
use crate::frame::{ClusterFrame, Colours, EventName, Hello, Mode, ProcessState, kind_name};
use crate::pages::page;
use crate::source::{EventsAsk, EventsPage, Following, Source, Trouble, Worlds};
use index::{Index, RecordedLife, index};
use marchland_common::order::{EntityId, Node};
use marchland_observe::causal::Catalog;
use marchland_observe::{Journals, LoadError, load};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many questions that read many records are worked on at once.
const READERS: usize = 2;
/// How many ticks a second the demo has, where no journal says it.
const STEP_MS: u64 = 50;

/// A folder of journals, read and indexed.
#[derive(Clone)]
pub struct Recorded {
    shelf: Arc<Shelf>,
    readers: Arc<Semaphore>,
}

struct Shelf {
    journals: Journals,
    catalog: Catalog,
    lives: Vec<Index>,
    colours: Colours,
}

impl Recorded {
    /// Reads a folder. Takes as long as reading every record twice takes.
    ///
    /// # Errors
    /// [`LoadError`] when it cannot be read at all.
    pub fn open(dir: &Path) -> Result<Self, LoadError> {
        Ok(Self::of(load(dir)?))
    }

    /// The same of journals that were read already.
    #[must_use]
    pub fn of(journals: Journals) -> Self {
        let lives = index(&journals);
        let colours = Colours::of(lives.iter().map(|life| life.node.name));
        let catalog = Catalog::of(&journals);
        let shelf = Arc::new(Shelf { journals, catalog, lives, colours });
        Self { shelf, readers: Arc::new(Semaphore::new(READERS)) }
    }

    /// Whether no journal is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shelf.lives.is_empty()
    }

    /// Works on a question that may read much, away from sockets.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shelf) -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let readers = self.readers.clone();
        let Ok(permit) = readers.try_acquire_owned() else {
            return Err(Trouble::busy("other questions about this recording are worked on")
                .hint("ask again in a moment"));
        };
        let shelf = self.shelf.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&shelf)
        });
        done.await.map_err(|_| Trouble::new(500, "internal", "reading the journals failed"))
    }
}

impl Shelf {
    fn records(&self) -> Vec<RecordedLife<'_>> {
        let mut records = Vec::new();
        for index in &self.lives {
            if let Some(process) = self.journals.process(index.node) {
                records.push(RecordedLife { process, index });
            }
        }
        records
    }

    fn causes(&self) -> Causes<'_> {
        Causes { journals: &self.journals, catalog: &self.catalog }
    }

    fn last_tick(&self) -> u64 {
        self.lives.iter().filter_map(Index::last_tick).max().unwrap_or(0)
    }

    fn notes(&self) -> Vec<String> {
        let strays = self.journals.strays().iter().cloned();
        let faults = self.journals.processes().iter().flat_map(|process| {
            let node = process.node();
            process.faults().iter().map(move |fault| format!("{node}: {fault}"))
        });
        strays.chain(faults).collect()
    }

    fn state_of(&self, life: &Index) -> ProcessState {
        let node: Node = life.node;
        let end = self.journals.process(node).and_then(|process| process.end().map(str::to_owned));
        let (state, reason) = match end {
            Some(why) => ("dead", format!("it ended: {why}")),
            None => ("unreachable", "its journal has no end".to_owned()),
        };
        ProcessState {
            name: node.name.to_string(),
            kind: kind_name(node.name.kind),
            incarnation: node.incarnation.to_string(),
            state,
            tick: life.last_tick().unwrap_or(0),
            reasons: vec![reason],
            ..ProcessState::default()
        }
    }
}

fn later(what: &str) -> Trouble {
    Trouble::not_here(format!("{what} is not available from recorded journals yet"))
}

#[tonic::async_trait]
impl Source for Recorded {
    async fn hello(&self) -> Result<Hello, Trouble> {
        let shelf = &self.shelf;
        let header = shelf.journals.processes().iter().find_map(|process| process.header());
        Ok(Hello {
            t: "hello",
            mode: Mode::Recorded,
            cluster: header.map_or_else(String::new, |header| header.cluster.to_string()),
            step_ms: STEP_MS,
            tick: shelf.last_tick(),
            first_tick: shelf.lives.iter().filter_map(Index::first_tick).min().unwrap_or(0),
            last_tick: shelf.last_tick(),
            acts: false,
            token: false,
            world: false,
            spaces: Vec::new(),
            processes: shelf.lives.iter().map(|life| shelf.colours.process(life.node)).collect(),
            notes: shelf.notes(),
        })
    }

    async fn cluster(&self) -> Result<ClusterFrame, Trouble> {
        let shelf = &self.shelf;
        Ok(ClusterFrame {
            t: "cluster",
            tick: shelf.last_tick(),
            spaces: Vec::new(),
            processes: shelf.lives.iter().map(|life| shelf.state_of(life)).collect(),
            store: None,
            verdicts: Vec::new(),
            reasons: shelf.notes(),
        })
    }

    async fn events(&self, ask: EventsAsk) -> Result<EventsPage, Trouble> {
        self.read(move |shelf| page(&shelf.records(), &ask)).await
    }

    async fn past(&self, event: EventName, limit: usize) -> Result<Value, Trouble> {
        self.read(move |shelf| shelf.causes().past(event, limit)).await?
    }

    async fn explain(&self, a: EventName, b: EventName) -> Result<Value, Trouble> {
        self.read(move |shelf| shelf.causes().explain(a, b)).await?
    }

    async fn ownership(
        &self,
        entity: EntityId,
        from: Option<u64>,
        to: Option<u64>,
    ) -> Result<Value, Trouble> {
        self.read(move |shelf| shelf.causes().ownership(entity, from, to)).await
    }

    async fn entity(&self, entity: EntityId, tick: Option<u64>) -> Result<Value, Trouble> {
        let told = move |shelf: &Shelf| {
            let tick = tick.unwrap_or_else(|| shelf.last_tick());
            passport::passport(&shelf.records(), entity, tick)
        };
        self.read(told).await?
    }

    async fn worlds(&self, _: u64) -> Result<Worlds, Trouble> {
        Err(later("where entities were"))
    }

    fn follow(&self) -> Option<Following> {
        None
    }
}
