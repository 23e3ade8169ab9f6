//! A base that keeps images in memory, arbitrates by the rules, and can be made to misbehave.

use super::{base, cell, entity};
use bytes::Bytes;
use marchland_common::msg::*;
use marchland_common::order::{EntityId, Epoch, Node, Seq, SessionId, Tick};
use marchland_common::world::*;
use std::collections::BTreeMap;

/// What the base knows of one entity.
#[derive(Clone, Debug)]
pub struct Record {
    pub image: EntityState,
    pub owner: Node,
    pub epoch: Epoch,
    pub seq: Seq,
    pub digest: u64,
    /// Who keeps a frozen copy, and its epoch.
    pub prev: Option<(Node, Epoch)>,
    /// The last tick of the owner before, per committed handoff.
    pub last_ticks: Vec<Tick>,
    /// The first tick of each epoch.
    pub first_ticks: Vec<Tick>,
    pub reported: bool,
    pub granted: Grant,
    pub destroyed: bool,
}

/// The base.
pub struct FakeBase {
    pub life: Node,
    pub world: super::world::Small,
    pub records: BTreeMap<EntityId, Record>,
    pub durable: BTreeMap<Node, Tick>,
    /// Nothing becomes durable and nothing is answered.
    pub stalled: bool,
    /// Commits are refused.
    pub refuses: Option<HandoffRefusal>,
    /// Grants and releases are lost.
    pub loses_grants: bool,
    pub loses_releases: bool,
    /// What came in while stalled.
    backlog: Vec<Frame>,
    pub sessions: BTreeMap<EntityId, Vec<(SessionId, i32)>>,
    pub open: Vec<BaseToCell>,
    out: BTreeMap<Node, Vec<BaseToCell>>,
    sent: BTreeMap<Node, u64>,
    pub steps: Vec<(Tick, Node, Step)>,
    pub refused: Vec<CellToBase>,
    pub views: Vec<View>,
    pub accepting: BTreeMap<Node, bool>,
    pub prepares: usize,
    /// The newest command of each session whose outcome is in an image.
    pub answered: BTreeMap<SessionId, u64>,
}

impl FakeBase {
    pub fn new() -> Self {
        Self {
            life: base(),
            world: super::world::small(),
            records: BTreeMap::new(),
            durable: BTreeMap::new(),
            stalled: false,
            refuses: None,
            loses_grants: false,
            loses_releases: false,
            backlog: Vec::new(),
            sessions: BTreeMap::new(),
            open: Vec::new(),
            out: BTreeMap::new(),
            sent: BTreeMap::new(),
            steps: Vec::new(),
            refused: Vec::new(),
            views: Vec::new(),
            accepting: BTreeMap::new(),
            prepares: 0,
            answered: BTreeMap::new(),
        }
    }

    pub fn kind(&self, id: marchland_common::order::KindId) -> &KindDef {
        self.world.0.get(id).unwrap()
    }

    /// Says something to a process with the next bundle.
    pub fn say(&mut self, to: Node, what: BaseToCell) {
        self.out.entry(to).or_default().push(what);
    }

    /// What was to leave with the next bundle does not.
    pub fn lose_what_was_said(&mut self) {
        self.out.clear();
    }

    /// The grant that is about to leave says how far an owner before came.
    pub fn say_last_tick(&mut self, id: EntityId, last: Tick) {
        for what in self.out.values_mut().flatten() {
            if let BaseToCell::Grant(grant) = what
                && grant.entity == id
            {
                grant.last_tick = Some(last);
            }
        }
    }

    /// Creates the n-th entity and grants it to a cell.
    pub fn create(&mut self, n: u64, to: u16, place: Place) -> EntityId {
        self.create_as(n, to, place, super::world::THING, &[])
    }

    pub fn create_as(
        &mut self,
        n: u64,
        to: u16,
        place: Place,
        kind: marchland_common::order::KindId,
        props: &[(u8, Value)],
    ) -> EntityId {
        let id = entity(n);
        let mut image = EntityState::new(self.kind(kind), place, n);
        for (index, value) in props {
            image.apply(&Change::Prop(*index, value.clone())).unwrap();
        }
        let digest = image.durable_digest(self.kind(kind));
        let granted = Grant {
            entity: id,
            epoch: Epoch::of_grant(1),
            to: cell(to),
            seq: Seq(0),
            digest,
            why: GrantWhy::Birth,
            state: Box::new(image.clone()),
            sessions: self.sessions.get(&id).cloned().unwrap_or_default(),
            argument: Bytes::from_static(b"b"),
            last_tick: None,
        };
        let record = Record {
            image,
            owner: cell(to),
            epoch: granted.epoch,
            seq: Seq(0),
            digest,
            prev: None,
            last_ticks: Vec::new(),
            first_ticks: Vec::new(),
            reported: false,
            granted: granted.clone(),
            destroyed: false,
        };
        self.records.insert(id, record);
        self.say(cell(to), BaseToCell::Grant(granted));
        id
    }

    /// Keeps a command or message until a step holds its outcome, and sends it to the owner.
    pub fn deliver(&mut self, what: BaseToCell) {
        let owner = self.records[&entity_of(&what)].owner;
        self.open.push(what.clone());
        self.say(owner, what);
    }

    /// Changes the owner by one record, from the image, as after a verdict or a deadline.
    pub fn re_own(&mut self, id: EntityId, to: Node) {
        let record = self.records.get_mut(&id).unwrap();
        record.owner = to;
        record.epoch = record.epoch.next_grant();
        record.prev = None;
        self.grant(id, GrantWhy::Restore);
    }

    fn grant(&mut self, id: EntityId, why: GrantWhy) {
        let record = self.records.get_mut(&id).unwrap();
        record.reported = false;
        let grant = Grant {
            entity: id,
            epoch: record.epoch,
            to: record.owner,
            seq: record.seq,
            digest: record.digest,
            why,
            state: Box::new(record.image.clone()),
            sessions: self.sessions.get(&id).cloned().unwrap_or_default(),
            argument: Bytes::new(),
            last_tick: None,
        };
        record.granted = grant.clone();
        let owner = record.owner;
        if self.loses_grants {
            return;
        }
        self.say(owner, BaseToCell::Grant(grant));
        for what in self.open.clone().into_iter().filter(|what| entity_of(what) == id) {
            self.say(owner, what);
        }
    }

    /// Reads what the cells flushed, and answers.
    pub fn run(&mut self, tick: Tick, frames: Vec<Frame>, peers: &[Node]) -> Vec<Outgoing> {
        self.backlog.extend(frames);
        if !self.stalled {
            for frame in std::mem::take(&mut self.backlog) {
                self.read(frame);
            }
        }
        let bundles = peers.iter().map(|to| {
            let n = self.sent.entry(*to).or_default();
            *n += 1;
            let msgs = match self.stalled {
                true => Vec::new(),
                false => self.out.remove(to).unwrap_or_default(),
            };
            Outgoing {
                to: *to,
                bundle: Bundle {
                    n: *n,
                    src_tick: tick,
                    moment: Moment::Flush,
                    phase_us: 0,
                    header: Header::BaseToCell { durable_tick: self.durable.get(to).copied() },
                    msgs: msgs.into_iter().map(Msg::BaseToCell).collect(),
                },
            }
        });
        bundles.collect()
    }

    fn read(&mut self, frame: Frame) {
        let (from, tick) = (frame.from, frame.bundle.src_tick);
        if let Header::CellToBase { accepting, .. } = frame.bundle.header {
            self.accepting.insert(from, accepting);
        }
        for msg in frame.bundle.msgs {
            let Msg::CellToBase(msg) = msg else { panic!("{msg:?} is not for a base") };
            match msg {
                CellToBase::Step(step) => self.step(from, tick, step),
                CellToBase::Prepare(prepare) => self.prepare(from, prepare),
                CellToBase::View(view) => self.views.push(view),
                other => self.refused.push(other),
            }
        }
        self.durable.insert(from, tick);
    }

    fn step(&mut self, from: Node, tick: Tick, step: Step) {
        let id = step.entity;
        let Some(record) = self.records.get_mut(&id) else { return };
        let (epoch, seq) = (step.epoch, step.seq);
        if record.epoch != epoch || record.owner != from {
            if record.prev != Some((from, epoch)) {
                let current = record.epoch;
                self.say(from, BaseToCell::Fenced { entity: id, epoch, current });
            }
            return;
        }
        if seq <= record.seq {
            let seq = record.seq;
            self.say(from, BaseToCell::Ack { entity: id, epoch, seq });
            return;
        }
        let kind = self.world.0.get(record.image.kind).unwrap();
        match &step.body {
            StepBody::Delta(changes) => {
                assert_eq!(seq, record.seq.next(), "{id:?} left a gap");
                assert_eq!(step.prev_digest, record.digest, "{id:?} does not follow");
                for change in changes {
                    record.image.apply(change).unwrap();
                }
            }
            StepBody::Snapshot(state) => record.image = (**state).clone(),
        }
        record.image.time = step.time;
        assert_eq!(record.image.durable_digest(kind), step.digest, "{id:?} at {seq}");
        (record.seq, record.digest) = (seq, step.digest);
        record.destroyed |= record.image.destroyed;
        if !std::mem::replace(&mut record.reported, true) {
            record.first_ticks.push(step.first_tick.expect("the first step says its tick"));
            if let Some((prev, ended)) = record.prev.take()
                && !self.loses_releases
            {
                self.say(prev, BaseToCell::Release { entity: id, epoch: ended });
            }
        }
        self.close(&step);
        self.say(from, BaseToCell::Ack { entity: id, epoch, seq });
        self.steps.push((tick, from, step));
    }

    fn close(&mut self, step: &Step) {
        let StepBody::Delta(changes) = &step.body else { return };
        for change in changes {
            if let Change::Command(session, n, _) = change {
                self.answered.insert(*session, *n);
            }
        }
        self.open.retain(|what| {
            !changes.iter().any(|change| match (what, change) {
                (BaseToCell::Command(c), Change::Command(session, n, _)) => {
                    c.entity == step.entity && c.session == *session && c.n == *n
                }
                (BaseToCell::Inbox(m), Change::Received(source, n, _)) => {
                    m.entity == step.entity && m.source == *source && m.out_seq == *n
                }
                (BaseToCell::Answer { entity, out_seq, .. }, Change::Answered(n)) => {
                    *entity == step.entity && out_seq == n
                }
                _ => false,
            })
        });
    }

    fn prepare(&mut self, from: Node, prepare: Prepare) {
        self.prepares += 1;
        let id = prepare.entity;
        let record = self.records.get_mut(&id).unwrap();
        if record.epoch != prepare.epoch || record.owner != from {
            return;
        }
        assert_eq!((record.seq, record.digest), (prepare.seq, prepare.digest));
        let (epoch, seq) = (prepare.epoch, prepare.seq);
        if let Some(reason) = self.refuses {
            self.say(from, BaseToCell::Abort { entity: id, epoch, seq, reason });
            return;
        }
        record.prev = Some((from, epoch));
        record.owner = prepare.target;
        record.epoch = epoch.next_grant();
        record.last_ticks.push(prepare.last_tick);
        self.grant(id, GrantWhy::Handoff);
    }
}

/// The entity that a message is about.
pub fn entity_of(what: &BaseToCell) -> EntityId {
    match what {
        BaseToCell::Command(command) => command.entity,
        BaseToCell::Inbox(message) => message.entity,
        BaseToCell::Answer { entity, .. }
        | BaseToCell::Settled { entity, .. }
        | BaseToCell::Attach { entity, .. }
        | BaseToCell::Detach { entity, .. }
        | BaseToCell::Destroy { entity } => *entity,
        other => panic!("{other:?} is not delivered"),
    }
}
