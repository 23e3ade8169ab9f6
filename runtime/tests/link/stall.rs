//! Tick thread, journal and link plane together, while a disk hangs and a peer reads nothing.

use crate::host::{BASE, CELL, Host, PATIENCE, notice, until};
use bytes::Bytes;
use marchland_chaos::{Proxy, Way};
use marchland_common::journal::{JournalHeader, TickRecord};
use marchland_common::msg::{Moment, Outgoing};
use marchland_common::order::Tick;
use marchland_common::time::{ClusterDecision, Dropped};
use marchland_runtime::journal::{
    BEHIND_TICKS_MAX, Journal, JournalConfig, JournalNews, SegmentFile, Storage,
};
use marchland_runtime::link::LinkTick;
use marchland_runtime::telemetry::Counters;
use marchland_runtime::tick::{
    Origin, SharedClock, Spans, TickConfig, TickLoop, TickNow, TickProcess, Waker, monotonic_ns,
};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A disk whose writes hang while it is held.
#[derive(Clone, Default)]
struct Hanging(Arc<(Mutex<bool>, Condvar, AtomicUsize)>);

impl Hanging {
    fn hold(&self, held: bool) {
        *self.0.0.lock().unwrap() = held;
        self.0.1.notify_all();
    }

    fn writes(&self) -> usize {
        self.0.2.load(Ordering::SeqCst)
    }
}

impl Storage for Hanging {
    type Segment = Self;

    fn create(&mut self, _: u32) -> std::io::Result<Self> {
        Ok(self.clone())
    }

    fn trim(&mut self, _: u32) -> std::io::Result<u64> {
        Ok(0)
    }
}

impl SegmentFile for Hanging {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut held = self.0.0.lock().unwrap();
        while *held {
            held = self.0.1.wait(held).unwrap();
        }
        self.0.2.fetch_add(1, Ordering::SeqCst);
        Ok(bytes.len())
    }
}

/// Sends one bundle a tick and journals it.
struct Cell {
    journal: Option<Journal>,
    links: LinkTick,
    sent: Arc<AtomicU64>,
    news: Arc<Mutex<Vec<JournalNews>>>,
}

impl TickProcess for Cell {
    fn tick(&mut self, now: &TickNow, _: &mut Spans) {
        self.links.drain();
        let journal = self.journal.as_mut().unwrap();
        self.news.lock().unwrap().extend(journal.poll());
        let ticket = journal.append(TickRecord::without_core(now.tick, Vec::new()));
        // The link's own limit is not the subject: the window of a core stops long before.
        if self.sent.load(Ordering::SeqCst) < 200 {
            let n = self.sent.fetch_add(1, Ordering::SeqCst) + 1;
            let bundles = vec![Outgoing { to: BASE, bundle: notice(n, 100) }];
            self.links.send(bundles, ticket).unwrap();
        }
    }

    fn wake(&mut self, _: Tick, _: Moment) {}

    fn decided(&mut self, _: ClusterDecision) {}

    fn stop(&mut self, _: Option<Dropped>) {
        assert!(self.journal.take().unwrap().close("stop", PATIENCE));
    }
}

fn config() -> JournalConfig {
    let header = JournalHeader {
        cluster: 7,
        node: CELL,
        build: String::new(),
        schema: 0,
        seed: 0,
        config: String::new(),
        segment: 0,
        wall_ms: 0,
    };
    JournalConfig::new("nowhere".into(), header)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tick_thread_ticks_on_while_the_disk_hangs_and_the_peer_reads_nothing() {
    let (cell, mut base) = (Host::start(CELL).await, Host::start(BASE).await);
    let proxy = Proxy::to(base.addr).unwrap();
    cell.knows(BASE, proxy.addr());
    until(|| cell.is_sending_to(BASE)).await;
    let disk = Hanging::default();
    let counters = Counters::default();
    let journal = Journal::start_on(disk.clone(), config(), Bytes::new(), &counters).unwrap();
    disk.hold(true);
    let writes = disk.writes();
    let (sent, news) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
    let Host { plane, tick, observations, .. } = cell;
    let process =
        Cell { journal: Some(journal), links: tick, sent: sent.clone(), news: news.clone() };
    let (step_ns, clock) = (1_000_000, SharedClock::new(1_000_000));
    let origin = Origin { by_key_ns: monotonic_ns() as i64, listen_steps: 0 };
    let config = TickConfig { step_ns, phase_ns: 0, origin };
    let ticking =
        TickLoop::start(config, clock, observations, Waker::new(), &counters, process).unwrap();
    let ran = || counters.snapshot()["ticks_run"];
    // The disk hangs: nothing leaves, the process is told, and the ticks go on.
    until(|| ran() > 100).await;
    assert_eq!(disk.writes(), writes);
    assert_eq!(base.drain().frames.len(), 0);
    let told = news.lock().unwrap().first().cloned();
    assert!(
        matches!(told, Some(JournalNews::Behind { ticks, .. }) if ticks > BEHIND_TICKS_MAX),
        "{told:?}"
    );
    // The disk is back, but the peer reads nothing: the ticks go on all the same.
    proxy.set_both(Way::Stall);
    disk.hold(false);
    let before = ran();
    until(|| ran() > before + 100).await;
    proxy.heal().await;
    until(|| sent.load(Ordering::SeqCst) == 200).await;
    assert_eq!(base.receive(200).await, crate::host::numbers(1..=200));
    until(|| news.lock().unwrap().last() == Some(&JournalNews::CaughtUp)).await;
    let summary = tokio::task::spawn_blocking(move || ticking.stop(PATIENCE)).await.unwrap();
    assert!(summary.is_some());
    plane.shutdown(std::time::Duration::ZERO).await;
}
