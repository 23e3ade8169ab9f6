//! Taking over from a real folder into a real core: the lock, the refusals, the keys, the mark.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::log::{Folder, Log, LogConfig, LogIdentity, OpenError};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use marchland_baseapp_core::BaseCore;
use marchland_baseapp_core::io::{BaseConfig, BaseInput};
use marchland_baseapp_core::log::{LogRecord, Recovered};
use marchland_common::cluster::MapChange;
use marchland_common::msg::Moment;
use marchland_common::order::{NodeKind, Tick};
use std::path::Path;
use std::thread::JoinHandle;

const CLUSTER: u64 = 7;

fn lost() -> Node {
    Node::new(NodeKind::Base, 1, 41)
}

fn me() -> Node {
    Node::new(NodeKind::Base, 2, 52)
}

/// A log of the lost base in which it keeps these slots.
fn log_in(folder: &Path, slots: &[(SlotId, Term)]) {
    let identity = LogIdentity { cluster: CLUSTER, base: lost().name.to_string(), term: Term(41) };
    let (mut log, _) = Log::open(folder, identity, LogConfig::STANDARD, Box::new(|| {})).unwrap();
    for (slot, term) in slots.iter().copied() {
        log.append(LogRecord::SlotTaken { slot, term }.encode()).unwrap();
        log.append(LogRecord::IdsReserved { slot, upto: 500 }.encode()).unwrap();
    }
    assert!(log.close(Duration::from_secs(60)).ended);
}

fn slots() -> Terms {
    (0..40).map(|slot| (SlotId(slot), Term(5))).collect()
}

/// A core that runs, and what it and the shell are told of the store.
struct Stage {
    folder: tempfile::TempDir,
    seen: watch::Sender<Arc<Seen>>,
    takeovers: TakeOvers,
    core: Option<JoinHandle<Vec<LogRecord>>>,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kinds = Arc::new(Kinds::new(Vec::new()));
        let (orders, ordered) = crossbeam_channel::bounded(64);
        let (adopted, adopting) = watch::channel(Vec::new());
        let (seen, sees) = watch::channel(Arc::new(Seen::default()));
        let means = Means {
            me: me(),
            cluster: CLUSTER,
            kinds: kinds.clone(),
            own_log: Some(folder.path().join("log-base-2")),
            orders,
            adopted: adopting,
            seen: sees.clone(),
        };
        let core = std::thread::spawn(move || run(&kinds, &ordered, &adopted, &sees));
        let stage = Self { folder, seen, takeovers: TakeOvers::new(means), core: Some(core) };
        stage.tell(slots().iter().map(|(slot, term)| (*slot, lost().name, *term)));
        stage
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log-base-1")
    }

    /// What the store says of slots.
    fn tell(&self, slots: impl Iterator<Item = (SlotId, NodeName, Term)>) {
        let slots = slots.map(|(slot, base, term)| SlotOwner { slot, base, term }).collect();
        self.seen.send_replace(Arc::new(Seen { slots, ..Seen::default() }));
    }

    fn order(&self, slots: Terms) {
        let log = self.log().display().to_string();
        self.takeovers.order(TakeOver { from: lost(), log, slots }, true);
    }

    /// Waits until the only takeover is what is asked for.
    fn until(&self, what: impl Fn(Option<&TakeOverState>) -> bool) -> Option<TakeOverState> {
        let began = Instant::now();
        loop {
            let states = self.takeovers.states();
            if what(states.first()) {
                return states.first().cloned();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{states:?}");
            std::thread::yield_now();
        }
    }

    fn refusal(&self) -> String {
        let refused = |state: Option<&TakeOverState>| state.is_some_and(is_refused);
        match self.until(refused).unwrap().stage {
            TakeOverStage::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    }

    /// What the core wrote.
    fn end(mut self) -> Vec<LogRecord> {
        let core = self.core.take().unwrap();
        drop(self);
        core.join().unwrap()
    }
}

fn is_refused(state: &TakeOverState) -> bool {
    matches!(state.stage, TakeOverStage::Refused(_))
}

fn is_held(state: Option<&TakeOverState>) -> bool {
    state.is_some_and(|state| state.stage == TakeOverStage::Held)
}

/// Ticks until nobody can give an order any more.
fn run(
    kinds: &Arc<Kinds>,
    ordered: &Receiver<BaseOrder>,
    adopted: &watch::Sender<Vec<AdoptedSlot>>,
    seen: &watch::Receiver<Arc<Seen>>,
) -> Vec<LogRecord> {
    let config = BaseConfig::new(me(), 1, 50_000);
    let mut core = BaseCore::new(config, kinds.clone(), Recovered::default());
    let (mut records, mut tick) = (Vec::new(), 0);
    loop {
        let first = ordered.recv_timeout(Duration::from_millis(1));
        let is_last = first == Err(RecvTimeoutError::Disconnected);
        let orders = first.into_iter().chain(ordered.try_iter().take(3)).collect();
        tick += 1;
        let map = vec![MapChange::Slots(seen.borrow().slots.clone())];
        for (moment, orders, map) in
            [(Moment::Flush, orders, map), (Moment::Release(1), Vec::new(), Vec::new())]
        {
            let durable = (moment != Moment::Flush).then(|| core.last_lsn());
            let output = core.tick(BaseInput {
                tick: Tick(tick),
                moment,
                dropped: None,
                durable,
                map,
                frames: Vec::new(),
                clients: Vec::new(),
                orders,
            });
            records.extend(output.log.iter().map(|bytes| LogRecord::decode(bytes).unwrap()));
            adopted.send_replace(output.stats.adopted);
        }
        if is_last {
            return records;
        }
    }
}

fn is_locked(folder: &Path) -> bool {
    matches!(Folder::lock(folder), Err(OpenError::Locked { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_out_of_a_log_are_held_under_its_lock_until_their_keys_change_and_leave_a_mark() {
    let stage = Stage::new();
    log_in(&stage.log(), &slots());
    stage.order(slots());
    stage.order(slots());
    let held = stage.until(is_held).unwrap();
    assert_eq!((held.from, held.slots), (lost(), slots()));
    assert!(is_locked(&stage.log()));
    // Half of the keys change: the rest may still change as well.
    let keys = |half: bool| {
        slots().into_iter().map(move |(slot, term)| match half && slot.0 % 2 == 1 {
            true => (slot, lost().name, term),
            false => (slot, me().name, Term(90 + u64::from(slot.0))),
        })
    };
    stage.tell(keys(true));
    stage.order(slots());
    assert!(is_held(stage.takeovers.states().first()) && is_locked(&stage.log()));
    stage.tell(keys(false));
    stage.until(|state| state.is_none());
    let began = Instant::now();
    while is_locked(&stage.log()) {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    let marked = marks(&stage.log()).unwrap();
    assert_eq!(marked, keys(false).map(|(slot, _, term)| (slot, term)).collect::<Terms>());
    // Its own next life reads the log as it was.
    let identity = LogIdentity { cluster: CLUSTER, base: lost().name.to_string(), term: Term(60) };
    let (_log, recovery) =
        Log::open(&stage.log(), identity, LogConfig::STANDARD, Box::new(|| {})).unwrap();
    assert_eq!(recovery.records.len(), 80);
    let records = stage.end();
    let adopted = records.iter().filter(|r| matches!(r, LogRecord::SlotAdopted { .. }));
    let taken = records.iter().filter(|r| matches!(r, LogRecord::SlotTaken { .. }));
    assert_eq!((adopted.count(), taken.count()), (40, 40), "each once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_let_go_without_a_mark_when_the_keys_go_elsewhere() {
    let stage = Stage::new();
    log_in(&stage.log(), &slots());
    stage.order(slots());
    stage.until(is_held);
    stage.tell(slots().into_iter().map(|(slot, _)| (slot, lost().name, Term(80))));
    stage.until(|state| state.is_none());
    assert_eq!(marks(&stage.log()).unwrap(), []);
    let records = stage.end();
    let dropped = records.iter().filter(|r| matches!(r, LogRecord::SlotDropped { .. }));
    assert_eq!(dropped.count(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_a_log_keeps_under_a_term_of_the_order_is_held() {
    let stage = Stage::new();
    log_in(&stage.log(), &[(SlotId(0), Term(5)), (SlotId(1), Term(6)), (SlotId(2), Term(4))]);
    stage.order(slots());
    let held = stage.until(is_held).unwrap();
    assert_eq!(held.slots, [(SlotId(0), Term(5)), (SlotId(2), Term(5))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_lives_is_damaged_or_is_not_that_one_is_refused_with_the_reason() {
    let stage = Stage::new();
    stage.order(slots());
    assert!(stage.refusal().contains("the volume may not be shared"));
    assert!(!stage.log().exists(), "nothing is made");

    let stage = Stage::new();
    log_in(&stage.log(), &slots());
    let lives = Folder::lock(&stage.log()).unwrap();
    stage.order(slots());
    let why = stage.refusal();
    assert!(why.contains(&format!("process {} holds", std::process::id())), "{why}");
    drop(lives);

    let stage = Stage::new();
    log_in(&stage.log(), &[(SlotId(200), Term(3))]);
    stage.order(slots());
    assert!(stage.refusal().contains("does not hold it"));
    assert!(!is_locked(&stage.log()), "it is let go");

    let stage = Stage::new();
    log_in(&stage.log(), &slots());
    let first = stage.log().join("00000001.wal");
    let mut bytes = std::fs::read(&first).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&first, bytes).unwrap();
    stage.order(slots());
    let why = stage.refusal();
    assert!(why.contains("damaged log"), "{why}");

    let stage = Stage::new();
    log_in(&stage.log(), &slots());
    let earlier = Node::new(NodeKind::Base, 1, 40);
    let log = stage.log().display().to_string();
    stage.takeovers.order(TakeOver { from: earlier, log: log.clone(), slots: slots() }, true);
    let why = stage.refusal();
    assert!(why.contains("was written under term 41"), "a later life wrote it: {why}");
    stage.takeovers.order(TakeOver { from: lost(), log, slots: slots() }, false);
    assert!(stage.refusal().contains("takes nothing at present"));
}
