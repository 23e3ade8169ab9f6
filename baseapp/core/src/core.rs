//! The core itself: what it holds, and the order of one output moment.

use crate::clients::Stream;
use crate::entity::Now;
use crate::gate::Gate;
use crate::io::{BaseBug, BaseConfig, BaseInput, BaseOrder, BaseOutput, ClientEvent};
use crate::log::{LogRecord, Recovered, Store};
use crate::messages::Post;
use crate::moves::{Adoption, Give, HeldClients};
use crate::orders::PendingOrder;
use crate::peers::Peers;
use crate::queue::Queue;
use crate::refusals::Refusals;
use marchland_common::cluster::{ClusterMap, MapChange};
use marchland_common::digest::{digest_bytes, digest_of};
use marchland_common::journal::Event;
use marchland_common::msg::{BaseToBase, Frame, Moment};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, Seq, SessionId, SlotId, Tick};
use marchland_common::rng::Rng;
use marchland_common::world::Kinds;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Bundles that wait while nothing is accepted. Cellapps stand still after their window, so this
/// is far more than they can have to say; what is over it is missed like any lost bundle.
const DEFERRED_MAX: usize = 4_096;

/// The core of a baseapp.
///
/// Everything here but the kinds is part of a snapshot. What is durable is in `store` and changes
/// by log records alone; the rest is what a restart may lose, because its senders say it again.
#[derive(Serialize, Deserialize)]
pub struct BaseCore {
    pub(crate) config: BaseConfig,
    #[serde(skip)]
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) map: ClusterMap,
    pub(crate) tick: Tick,
    /// Ticks that ran here: what waiting is counted in, so that a pause makes nobody late.
    pub(crate) ran: u64,
    pub(crate) store: Store,
    pub(crate) gate: Gate,
    pub(crate) peers: Peers,
    /// The volatile part of each entity of the store.
    pub(crate) now: BTreeMap<EntityId, Now>,
    /// Entities that wait for the first step of their epoch.
    pub(crate) granting: BTreeSet<EntityId>,
    /// Entities whose owner was declared dead, until somebody can take them.
    pub(crate) orphans: BTreeSet<EntityId>,
    /// What waits for an entity's owner.
    pub(crate) queues: BTreeMap<EntityId, Queue>,
    /// What waits for answers to an entity's messages.
    pub(crate) posts: BTreeMap<EntityId, Post>,
    pub(crate) streams: BTreeMap<SessionId, Stream>,
    /// The session that plays an entity.
    pub(crate) playing: BTreeMap<EntityId, SessionId>,
    /// Sessions that are durable, so that owners may know of them.
    pub(crate) announced: BTreeSet<SessionId>,
    /// Messages that wait for somebody who can own what they create, and since when.
    pub(crate) unborn: BTreeMap<(EntityId, u64), u64>,
    pub(crate) orders: BTreeMap<u64, PendingOrder>,
    /// When to look after unfinished business of which entity.
    pub(crate) retries: BTreeSet<(u64, EntityId)>,
    /// The newest counter that each slot handed out.
    pub(crate) counters: BTreeMap<SlotId, u64>,
    pub(crate) rng: Rng,
    /// A digest of all records that this life wrote: it stands for the durable state, which they
    /// made.
    pub(crate) history: u64,
    /// Messages to itself, for the next tick.
    pub(crate) loopback: Vec<BaseToBase>,
    /// What owners said they hold in this tick: the newest step and its digest.
    pub(crate) ahead: BTreeMap<EntityId, (Seq, u64)>,
    /// Slots that are being given to another base.
    pub(crate) gives: BTreeMap<SlotId, Give>,
    /// Slots whose pieces come out of the logs of lost bases.
    pub(crate) adoptions: BTreeMap<SlotId, Adoption>,
    /// What clients said about slots on their way since they are frozen.
    pub(crate) held_clients: HeldClients,
    /// Whether this life began with entities of an earlier one.
    pub(crate) asks_all: bool,
    /// Owners that the log names and this life has not heard, and for how many ticks each was
    /// missing among the members.
    pub(crate) elders: BTreeMap<Node, u64>,
    frozen: bool,
    deferred_frames: VecDeque<Frame>,
    deferred_clients: Vec<ClientEvent>,
    deferred_orders: Vec<BaseOrder>,
    /// Acknowledgements of this moment, the newest per owner and entity.
    #[serde(skip)]
    pub(crate) acks: BTreeMap<(Node, EntityId), (Epoch, Seq)>,
    pub(crate) refusals: Refusals,
    /// What is said in the next moment. Empty between moments, but not before the first: what the
    /// log told is said in that.
    pub(crate) out: BaseOutput,
}

impl BaseCore {
    /// A core at the beginning of a life. `recovered` is what its log said.
    #[must_use]
    pub fn new(config: BaseConfig, kinds: Arc<Kinds>, recovered: Recovered) -> Self {
        let Recovered { store, last } = recovered;
        // A new life draws other secrets, whatever the seed.
        let rng = Rng::child(config.seed, config.node.incarnation.0);
        let mut core = Self {
            map: ClusterMap::default(),
            tick: Tick(0),
            ran: 0,
            gate: Gate::at(last),
            peers: Peers::default(),
            now: store.entities.iter().map(|(id, l)| (*id, Now::recovered(l))).collect(),
            granting: BTreeSet::new(),
            orphans: BTreeSet::new(),
            queues: BTreeMap::new(),
            posts: BTreeMap::new(),
            streams: BTreeMap::new(),
            playing: BTreeMap::new(),
            announced: store.sessions.keys().copied().collect(),
            unborn: BTreeMap::new(),
            orders: BTreeMap::new(),
            retries: BTreeSet::new(),
            counters: store.slots.iter().map(|(slot, row)| (*slot, row.reserved)).collect(),
            history: last.0,
            loopback: Vec::new(),
            ahead: BTreeMap::new(),
            gives: store
                .leaving
                .iter()
                .map(|(slot, leave)| (*slot, Give::recovered(leave.term, leave.to)))
                .collect(),
            adoptions: BTreeMap::new(),
            held_clients: HeldClients::new(),
            asks_all: !store.entities.is_empty(),
            elders: BTreeMap::new(),
            frozen: false,
            acks: BTreeMap::new(),
            deferred_frames: VecDeque::new(),
            deferred_clients: Vec::new(),
            deferred_orders: Vec::new(),
            refusals: Refusals::default(),
            out: BaseOutput::default(),
            rng,
            config,
            kinds,
            store,
        };
        if last > Lsn(0) {
            core.event(Event::Recovered { lsn: last });
            core.tell_kept();
        }
        core.recover(|_| true);
        core
    }

    /// Runs one output moment: a whole tick at Flush; at Release only what became durable, and
    /// whatever else was handed in then waits for the next Flush.
    pub fn tick(&mut self, input: BaseInput) -> BaseOutput {
        self.tick = input.tick;
        if let Some(dropped) = input.dropped {
            self.out.events.push(Event::TicksDropped(dropped));
        }
        if let Some(durable) = input.durable
            && self.gate.report(durable)
        {
            self.out.events.push(Event::Durable { lsn: self.gate.durable });
        }
        self.defer_frames(input.frames);
        self.deferred_clients.extend(input.clients);
        self.deferred_orders.extend(input.orders);
        for change in input.map {
            self.on_map(change);
        }
        if input.moment == Moment::Flush {
            self.flush();
        }
        self.let_out(input.moment);
        self.finish(input.moment)
    }

    fn flush(&mut self) {
        self.ran += 1;
        self.follow_slots();
        let orders = std::mem::take(&mut self.deferred_orders);
        for order in &orders {
            match order {
                BaseOrder::Freeze => self.frozen = true,
                BaseOrder::Thaw => self.frozen = false,
                _ => {}
            }
        }
        if !self.frozen {
            self.on_frames();
            for msg in std::mem::take(&mut self.loopback) {
                self.on_base_msg(self.config.node, msg);
            }
        }
        let said = std::mem::take(&mut self.deferred_clients);
        self.take_clients(said);
        self.pass_inputs();
        for order in orders {
            if self.frozen && matches!(order, BaseOrder::Adopt { .. }) {
                // It is written to the log; whoever reads waits for a sign of it.
                self.deferred_orders.push(order);
            } else {
                self.on_order(order);
            }
        }
        self.move_slots();
        self.timers();
    }

    fn timers(&mut self) {
        if !self.frozen {
            self.give_up_elders();
            self.restore_orphans();
            self.spawn_waiting();
            self.check_grant_deadlines();
            self.end_lingering_sessions();
        }
        self.check_order_deadlines();
        self.expire_unsent();
        self.end_stuck_streams();
        self.retry_due();
        self.repeat_fences();
        self.ask_peers();
    }

    fn on_frames(&mut self) {
        let frames = std::mem::take(&mut self.deferred_frames);
        // Who was heard is known before anything is decided: a pause of this process must not
        // make the target of a handoff look silent.
        for frame in &frames {
            let Frame { from, bundle } = frame;
            self.peers.at(*from).hear(self.ran, bundle.src_tick, bundle.header);
        }
        for frame in frames {
            self.on_frame(frame);
        }
        self.ask_for_what_is_ahead();
    }

    fn defer_frames(&mut self, frames: Vec<Frame>) {
        for frame in frames {
            if self.deferred_frames.len() >= DEFERRED_MAX {
                let reason = marchland_common::journal::Refused::QueueFull;
                self.refusals.add(reason, Some(frame.from), None);
            } else {
                self.deferred_frames.push_back(frame);
            }
        }
    }

    /// Writes a record and takes it in. The record is this core's own, so it fits.
    pub(crate) fn write(&mut self, record: &LogRecord) -> Lsn {
        self.store
            .apply(record, &self.kinds)
            .unwrap_or_else(|bad| unreachable!("a record made from the store fits it: {bad}"));
        self.append(record)
    }

    /// Writes a record that is taken in already.
    pub(crate) fn append(&mut self, record: &LogRecord) -> Lsn {
        let bytes = record.encode();
        self.history = digest_of(&(self.history, digest_bytes(&bytes)));
        self.out.log.push(bytes);
        self.gate.last = self.gate.last.next();
        self.gate.last
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.out.events.push(event);
    }

    pub(crate) fn has_bug(&self, bug: BaseBug) -> bool {
        self.config.seeded_bug == Some(bug)
    }

    /// Whether to dawdle here, where that is allowed, in one of so many cases.
    pub(crate) fn dawdles(&mut self, one_in: u64) -> bool {
        self.config.dawdle.as_mut().is_some_and(|dawdle| dawdle.here(one_in))
    }

    pub(crate) const fn is_frozen(&self) -> bool {
        self.frozen
    }

    fn on_map(&mut self, change: MapChange) {
        let (bases_before, dead) = (self.slot_bases(), matches!(change, MapChange::Dead(_)));
        let members = matches!(change, MapChange::Members(_));
        let bases_may_move = matches!(change, MapChange::Slots(_)) || members || dead;
        if !self.map.apply(change) {
            let reason = marchland_common::journal::Refused::StaleLayout;
            self.refusals.add(reason, None, None);
        }
        if dead {
            self.on_verdict();
        }
        if members {
            self.give_up_outlived();
        }
        if bases_may_move {
            self.send_again_to_moved(&bases_before);
        }
    }

    /// Who keeps each slot, as far as it can be reached.
    fn slot_bases(&self) -> Vec<Option<Node>> {
        (0..=u8::MAX).map(|slot| self.map.base_of(SlotId(slot))).collect()
    }
}
