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

use crate::frame::{ClusterFrame, Colours, EventName, Hello, Mode};
use crate::pages::page;
use crate::source::{EventsAsk, EventsPage, Following, Source, Trouble, Worlds};
use hub::Hub;
use marchland_common::order::EntityId;
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

    async fn past(&self, _: EventName, _: usize) -> Result<Value, Trouble> {
        Err(later("the past of an event"))
    }

    async fn explain(&self, _: EventName, _: EventName) -> Result<Value, Trouble> {
        Err(later("why one event came before another"))
    }

    async fn ownership(
        &self,
        _: EntityId,
        _: Option<u64>,
        _: Option<u64>,
    ) -> Result<Value, Trouble> {
        Err(later("who owned an entity when"))
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

fn later(what: &str) -> Trouble {
    Trouble::not_here(format!("{what} is not available from a running cluster yet"))
}
