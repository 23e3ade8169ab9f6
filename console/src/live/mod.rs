//! A running cluster as a source. While browsers listen, and a little longer, its processes are
//! listened to: pictures, records, and once a second how everybody is. Nothing is asked of them, and
//! nothing is kept here, while nobody looks.

mod activity;
mod cluster;
mod follow;
mod hub;
mod passport;
mod realm;
mod ring;
mod world;

pub use realm::Realm;

use crate::causal::Causes;
use crate::frame::{ClusterFrame, Colours, EventName, Hello, Mode};
use crate::pages::page;
use crate::source::{EventsAsk, EventsPage, Following, Source, Trouble, Worlds};
use hub::Hub;
use marchland_common::order::EntityId;
use marchland_observe::Journals;
use marchland_observe::causal::Catalog;
use ring::Ring;
use serde_json::Value;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// A running cluster. Dropping it ends what listens to the processes.
pub struct Live {
    hub: Arc<Hub>,
    tasks: Vec<AbortHandle>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Live {
    /// Over what a manager knows. Must be called inside a tokio runtime.
    #[must_use]
    pub fn new(realm: Arc<dyn Realm>) -> Self {
        let hub = Arc::new(Hub::new(realm));
        let following = tokio::spawn(follow::follow_all(hub.clone())).abort_handle();
        let looking = tokio::spawn(cluster::look_every_second(hub.clone())).abort_handle();
        Self { hub, tasks: vec![following, looking] }
    }

    /// Tells every browser that listens, as JSON.
    pub fn tell(&self, frame: &Value) {
        self.hub.tell_text(frame);
    }

    /// The newest tick that is known.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.hub.tick()
    }

    /// Works on a question about causes with what is kept of the last minute.
    async fn causes<T: Send + 'static>(
        &self,
        work: impl FnOnce(Causes<'_>) -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let rings = self.hub.rings();
        let answer = move || {
            let heard = rings.iter().filter(|ring| !ring.is_empty());
            let journals = Journals::from_windows(heard.map(Ring::window).collect());
            let catalog = Catalog::of(&journals);
            work(Causes { journals: &journals, catalog: &catalog })
        };
        self.hub.read(answer).await
    }
}

#[tonic::async_trait]
impl Source for Live {
    async fn hello(&self) -> Result<Hello, Trouble> {
        let (hub, seen) = (&self.hub, self.hub.realm.seen());
        let colours = Colours::of(seen.members.iter().map(|member| member.info.name));
        let (first_tick, last_tick) = hub.span();
        let mut processes: Vec<_> =
            seen.members.iter().map(|member| colours.process(member.node())).collect();
        processes.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Ok(Hello {
            t: "hello",
            mode: Mode::Live,
            cluster: hub.realm.cluster(),
            step_ms: seen.clock.map_or(50, |clock| clock.step_us / 1_000),
            tick: hub.tick(),
            first_tick,
            last_tick,
            acts: false,
            token: false,
            world: true,
            spaces: cluster::spaces(&seen),
            processes,
            notes: hub.realm.reasons(),
        })
    }

    async fn cluster(&self) -> Result<ClusterFrame, Trouble> {
        Ok(cluster::look(&self.hub).await)
    }

    async fn events(&self, ask: EventsAsk) -> Result<EventsPage, Trouble> {
        let rings = self.hub.rings();
        self.hub.read(move || page(&rings, &ask)).await
    }

    async fn past(&self, event: EventName, limit: usize) -> Result<Value, Trouble> {
        self.causes(move |causes| causes.past(event, limit)).await?
    }

    async fn explain(&self, a: EventName, b: EventName) -> Result<Value, Trouble> {
        self.causes(move |causes| causes.explain(a, b)).await?
    }

    async fn ownership(
        &self,
        entity: EntityId,
        from: Option<u64>,
        to: Option<u64>,
    ) -> Result<Value, Trouble> {
        self.causes(move |causes| causes.ownership(entity, from, to)).await
    }

    async fn entity(&self, entity: EntityId, tick: Option<u64>) -> Result<Value, Trouble> {
        if tick.is_some() {
            return Err(Trouble::not_here("a running cluster tells what is now, not what was")
                .hint("leave `tick` out, or look at a recording"));
        }
        passport::passport(&self.hub, entity).await
    }

    async fn worlds(&self, tick: u64) -> Result<Worlds, Trouble> {
        world::worlds_at(&self.hub, tick)
    }

    fn follow(&self) -> Option<Following> {
        Some(self.hub.follow())
    }
}
