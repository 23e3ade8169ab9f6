//! Slots of a lost baseapp go on here, out of its log.
//!
//! ```text
//! leader               this baseapp                                 the log of the lost one
//!   |  take over ---------> locks it, reads it ------------------------> locked
//!   |                       pieces on the own record (the core)
//!   |  <------- held ------ everything is durable here
//!   |  the slots' keys := this baseapp, if nobody wrote to that log since: COMMIT
//!   |                       serves them; a mark beside the log  --------> free
//! ```
//!
//! Invariants: a log is read under its lock, which a living process holds; what is said to be held
//! stays until the slots' keys change, and so does the lock. Nothing here runs on the tick thread: a
//! thread of its own reads, and hands over no more than a few pieces at a time. One log is taken over
//! at a time.

mod feed;
mod mark;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use mark::{Mark, marks};
pub(crate) use reader::entries;

use crossbeam_channel::Sender;
use marchland_baseapp_core::io::{AdoptedSlot, BaseOrder};
use marchland_common::cluster::{SlotOwner, TakeOver, TakeOverStage, TakeOverState};
use marchland_common::order::{Node, NodeName, SlotId, Term};
use marchland_common::world::Kinds;
use marchland_runtime::process::Seen;
use reader::ForeignLog;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

/// After a refusal the same order is not tried again for so long, however often it is repeated.
const REST: Duration = Duration::from_secs(1);
/// A log of which nothing comes for so long is said to be refused. Its reader goes on waiting for it.
const STUCK: Duration = Duration::from_secs(30);
/// How often it is looked whether this process still follows the store.
const LOOK_EVERY: Duration = Duration::from_secs(1);

type Terms = Vec<(SlotId, Term)>;

/// What taking over needs.
pub(crate) struct Means {
    /// This life.
    pub(crate) me: Node,
    /// The cluster that a log must be of.
    pub(crate) cluster: u64,
    pub(crate) kinds: Arc<Kinds>,
    /// The folder of the own log, if it is in one.
    pub(crate) own_log: Option<PathBuf>,
    /// To the core.
    pub(crate) orders: Sender<BaseOrder>,
    /// What the core says of slots out of logs.
    pub(crate) adopted: watch::Receiver<Vec<AdoptedSlot>>,
    /// What the store says.
    pub(crate) seen: watch::Receiver<Arc<Seen>>,
}

/// The takeovers of this baseapp. Clones share them.
#[derive(Clone)]
pub(crate) struct TakeOvers(Arc<Shared>);

struct Shared {
    means: Means,
    io: Handle,
    jobs: Mutex<BTreeMap<NodeName, Job>>,
}

struct Job {
    state: TakeOverState,
    /// When anything happened last.
    touched: Instant,
}

impl Job {
    const fn is_over(&self) -> bool {
        matches!(self.state.stage, TakeOverStage::Refused(_))
    }
}

impl TakeOvers {
    /// Nothing is taken over yet. Must be called inside a tokio runtime.
    pub(crate) fn new(means: Means) -> Self {
        let (io, jobs) = (Handle::current(), Mutex::default());
        Self(Arc::new(Shared { means, io, jobs }))
    }

    /// Takes an order. One that is being carried out, or was refused a moment ago, is heard already.
    pub(crate) fn order(&self, take: TakeOver, may_take: bool) {
        let mut jobs = self.0.jobs();
        let is_heard = |job: &Job| {
            !job.is_over() || job.state.from == take.from && job.touched.elapsed() < REST
        };
        if jobs.get(&take.from.name).is_some_and(is_heard) {
            return;
        }
        let is_busy = jobs.values().any(|job| !job.is_over());
        let stage = match (may_take, is_busy) {
            (false, _) => TakeOverStage::Refused("it takes nothing at present".to_owned()),
            (_, true) => TakeOverStage::Refused("it is taking another log over".to_owned()),
            (true, false) => TakeOverStage::Reading,
        };
        let begins = stage == TakeOverStage::Reading;
        let state = TakeOverState { from: take.from, stage, slots: take.slots.clone() };
        jobs.insert(take.from.name, Job { state, touched: Instant::now() });
        drop(jobs);
        if begins {
            tracing::info!(from = %take.from, log = take.log, "slots are taken over from a log");
            let shared = self.0.clone();
            std::thread::spawn(move || shared.carry_out(&take));
        }
    }

    /// How far each is.
    pub(crate) fn states(&self) -> Vec<TakeOverState> {
        let seen = self.0.means.seen.borrow().clone();
        let mut jobs = self.0.jobs();
        jobs.retain(|from, job| !job.is_over() || seen.slots.iter().any(|s| s.base == *from));
        let state = |job: &Job| {
            let mut state = job.state.clone();
            if state.stage == TakeOverStage::Reading && job.touched.elapsed() > STUCK {
                let why = "nothing has come out of its log for half a minute".to_owned();
                state.stage = TakeOverStage::Refused(why);
            }
            state
        };
        jobs.values().map(state).collect()
    }
}

impl Shared {
    fn jobs(&self) -> MutexGuard<'_, BTreeMap<NodeName, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened.
    fn touch(&self, from: NodeName) {
        if let Some(job) = self.jobs().get_mut(&from) {
            job.touched = Instant::now();
        }
    }

    fn tell(&self, take: &TakeOver, stage: TakeOverStage, slots: Terms) {
        let state = TakeOverState { from: take.from, stage, slots };
        self.jobs().insert(take.from.name, Job { state, touched: Instant::now() });
    }

    /// Everything from the lock to its end, on a thread of its own.
    fn carry_out(&self, take: &TakeOver) {
        let from = take.from;
        let log = match self.read(take) {
            Ok(log) => log,
            Err(why) => {
                tracing::warn!(%from, why, "its log is not taken over");
                return self.tell(take, TakeOverStage::Refused(why), take.slots.clone());
            }
        };
        self.touch(from.name);
        match feed::feed(self, take, &log) {
            Ok(held) => {
                tracing::info!(%from, slots = held.len(), "slots out of its log are held");
                self.tell(take, TakeOverStage::Held, held.clone());
                self.wait_for_keys(take, &held, &log);
                drop(log);
                self.jobs().remove(&from.name);
            }
            Err(why) => {
                drop(log);
                let slots = take.slots.iter().map(|(slot, _)| *slot).collect();
                // The process ends if the core hears nothing more.
                let _ = self.means.orders.send(BaseOrder::DropAdopted { slots });
                tracing::warn!(%from, why, "its log is not taken over");
                self.tell(take, TakeOverStage::Refused(why), take.slots.clone());
            }
        }
    }

    fn read(&self, take: &TakeOver) -> Result<ForeignLog, String> {
        let Means { me, cluster, kinds, own_log, .. } = &self.means;
        if take.from.name == me.name {
            return Err("that is its own log".to_owned());
        }
        ForeignLog::read(&take.log, own_log.as_deref(), (*cluster, take.from), kinds)
    }

    /// Whose a slot is.
    fn owner(&self, slot: SlotId) -> Option<SlotOwner> {
        let seen = self.means.seen.borrow();
        seen.slots.iter().find(|owner| owner.slot == slot).copied()
    }

    /// Whether the key of a slot still is what the order rests on.
    fn stands(&self, take: &TakeOver, (slot, term): (SlotId, Term)) -> bool {
        self.owner(slot).is_some_and(|o| (o.base, o.term) == (take.from.name, term))
    }

    /// Holds the lock until every key changed, and leaves a mark where slots went on here.
    fn wait_for_keys(&self, take: &TakeOver, held: &Terms, log: &ForeignLog) {
        let mut seen = self.means.seen.clone();
        while held.iter().any(|slot| self.stands(take, *slot)) {
            let change = self.io.block_on(async { timeout(LOOK_EVERY, seen.changed()).await });
            if matches!(change, Ok(Err(_))) {
                // Nobody follows the store any more: the process ends.
                return;
            }
        }
        let taken = held.iter().filter_map(|(slot, term)| {
            let owner = self.owner(*slot)?;
            (owner.base == self.means.me.name && owner.term > *term).then_some((*slot, owner.term))
        });
        let taken: Terms = taken.collect();
        tracing::info!(from = %take.from, slots = taken.len(), "its slots go on here");
        let mark = Mark { by: self.means.me, from: take.from, slots: taken };
        if !mark.slots.is_empty()
            && let Err(error) = mark.write(log.folder())
        {
            tracing::warn!(%error, log = take.log, "there is no mark that its slots went on here");
        }
    }
}
