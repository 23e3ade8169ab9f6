//! A cellapp by script: it takes grants, reports, and otherwise says what the test tells it to.

use marchland_common::msg::*;
use marchland_common::order::*;
use marchland_common::time::EntityTime;
use marchland_common::world::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A copy that the owner believes to be real.
#[derive(Clone, Debug)]
pub struct Claim {
    pub epoch: Epoch,
    pub seq: Seq,
    pub digest: u64,
    pub state: EntityState,
    pub time: u64,
    pub why: GrantWhy,
    pub argument: Vec<u8>,
    pub frozen: Option<Prepare>,
    pub reported: bool,
}

/// One life of a cellapp.
#[derive(Clone, Debug)]
pub struct Owner {
    pub node: Node,
    /// Whether it sends anything at all.
    pub talks: bool,
    /// Whether it takes grants.
    pub takes: bool,
    /// Whether it does not hear what it is asked to close.
    pub deaf: bool,
    pub accepting: bool,
    pub schema: u32,
    pub steps: u64,
    pub copies: BTreeMap<EntityId, Claim>,
    /// What it says in its next bundle, by entity.
    pub out: Vec<(EntityId, CellToBase)>,
    pub n: BTreeMap<Node, u64>,
    /// Everything that it was told, in order.
    pub got: Vec<BaseToCell>,
    pub durable: BTreeMap<Node, Option<Tick>>,
    /// Slots whose entities stand still: since which base asked for it, under which term, and
    /// when that was said last.
    pub closed: BTreeMap<SlotId, (Node, Term, Option<Tick>)>,
    /// Whether it answers by itself what it holds.
    pub lists: bool,
    /// The newest question of each base what it holds, until it is answered.
    pub asked: BTreeMap<Node, u64>,
    /// Slots that run again since its last bundle.
    pub opened: Vec<SlotId>,
    kinds: Option<Arc<Kinds>>,
}

impl Owner {
    pub fn new(node: Node) -> Self {
        Self {
            node,
            talks: true,
            takes: true,
            deaf: false,
            accepting: true,
            schema: SCHEMA,
            steps: 0,
            copies: BTreeMap::new(),
            out: Vec::new(),
            n: BTreeMap::new(),
            got: Vec::new(),
            durable: BTreeMap::new(),
            closed: BTreeMap::new(),
            lists: true,
            asked: BTreeMap::new(),
            opened: Vec::new(),
            kinds: None,
        }
    }

    /// Its bundle of this tick for one base.
    pub fn speak(
        &mut self,
        tick: Tick,
        base: Node,
        mine: impl Fn(EntityId) -> bool,
    ) -> Option<Frame> {
        if !self.talks {
            return None;
        }
        self.steps += 1;
        for (_, copy) in
            self.copies.iter_mut().filter(|(id, _)| !self.closed.contains_key(&id.slot()))
        {
            copy.time += 50_000;
        }
        let is_said = |id: EntityId| mine(id) && !self.closed.contains_key(&id.slot());
        let (say, keep) =
            std::mem::take(&mut self.out).into_iter().partition(|(id, _)| is_said(*id));
        self.out = keep;
        let say: Vec<(EntityId, CellToBase)> = say;
        // A step says how long the entity has lived at the end of the tick that it leaves in.
        let msgs = say.into_iter().map(|(entity, mut msg)| {
            if let CellToBase::Step(step) = &mut msg {
                step.first_tick = step.first_tick.map(|_| tick);
                if let Some(copy) = self.copies.get(&entity) {
                    step.time = EntityTime(copy.time);
                }
            }
            Msg::CellToBase(msg)
        });
        let mut msgs: Vec<Msg> = msgs.collect();
        self.list(base, &mine, &mut msgs);
        msgs.extend(self.say_closed(tick, mine));
        let n = self.n.entry(base).or_default();
        *n += 1;
        let header = Header::CellToBase {
            steps: self.steps,
            accepting: self.accepting,
            schema: self.schema,
        };
        let (n, moment) = (*n, Moment::Flush);
        let bundle = Bundle { n, src_tick: tick, moment, phase_us: 0, header, msgs };
        Some(Frame { from: self.node, bundle })
    }

    /// Answers a question: what it holds and has not just said, and that this was all.
    fn list(&mut self, base: Node, mine: impl Fn(EntityId) -> bool, msgs: &mut Vec<Msg>) {
        let Some(question) = self.asked.get(&base).copied().filter(|_| self.lists) else { return };
        self.asked.remove(&base);
        let runs = |id: EntityId| mine(id) && !self.closed.contains_key(&id.slot());
        for (entity, copy) in self.copies.iter().filter(|(id, _)| runs(**id)) {
            let (entity, Claim { epoch, seq, digest, .. }) = (*entity, copy.clone());
            let known = msgs.iter().any(|msg| {
                matches!(msg, Msg::CellToBase(CellToBase::Holding { entity: e, .. }) if *e == entity)
            });
            if !known {
                msgs.push(Msg::CellToBase(CellToBase::Holding { entity, epoch, seq, digest }));
            }
        }
        msgs.push(Msg::CellToBase(CellToBase::Listed { question }));
    }

    /// Says which slots stand still, to whoever keeps them by now.
    fn say_closed(&mut self, tick: Tick, mine: impl Fn(EntityId) -> bool) -> Option<Msg> {
        let mut said = Vec::new();
        for (slot, (_, term, last)) in &mut self.closed {
            let due = last.is_none_or(|last| tick.0 >= last.0 + 8);
            if due && mine(EntityId::new(*slot, 1)) {
                *last = Some(tick);
                said.push((*slot, *term));
            }
        }
        (!said.is_empty()).then_some(Msg::CellToBase(CellToBase::SlotsClosed(said)))
    }

    fn close(&mut self, by: Node, slots: &[(SlotId, Term)]) {
        for (slot, term) in slots {
            let known = self.closed.get(slot);
            if known.is_none_or(|(_, known, _)| known <= term) {
                self.closed.insert(*slot, (by, *term, None));
            }
        }
    }

    fn open(&mut self, from: Node, slots: &[(SlotId, Term)]) {
        for (slot, term) in slots {
            let opens = |(by, closed): (Node, Term)| {
                closed < *term || closed == *term && by.name == from.name && by < from
            };
            if self.closed.get(slot).is_some_and(|(by, closed, _)| opens((*by, *closed))) {
                self.closed.remove(slot);
                self.opened.push(*slot);
            }
        }
    }

    /// Says what stands here of the slots that run again.
    pub fn tell_opened(&mut self) {
        let opened = std::mem::take(&mut self.opened);
        for (entity, copy) in self.copies.clone() {
            if opened.contains(&entity.slot()) {
                let Claim { epoch, seq, digest, .. } = copy;
                self.say(entity, CellToBase::Holding { entity, epoch, seq, digest });
            }
        }
    }

    /// Takes a bundle of a base in.
    pub fn hear(&mut self, base: Node, bundle: &Bundle, kinds: &Arc<Kinds>) {
        self.kinds = Some(kinds.clone());
        if let Header::BaseToCell { durable_tick } = bundle.header {
            self.durable.insert(base, durable_tick);
        }
        for msg in &bundle.msgs {
            let Msg::BaseToCell(msg) = msg else { panic!("not for a cellapp: {msg:?}") };
            self.got.push(msg.clone());
            match msg {
                BaseToCell::Grant(grant) if self.takes && grant.to == self.node => {
                    self.take(grant);
                }
                BaseToCell::Fenced { entity, epoch, .. }
                | BaseToCell::Release { entity, epoch } => {
                    self.copies.retain(|id, copy| id != entity || copy.epoch > *epoch);
                }
                BaseToCell::Resync { question } => {
                    self.asked.insert(base, *question);
                }
                BaseToCell::CloseSlots(slots) if !self.deaf => self.close(base, slots),
                BaseToCell::OpenSlots(slots) => self.open(base, slots),
                BaseToCell::Abort { entity, .. } => {
                    if let Some(copy) = self.copies.get_mut(entity) {
                        copy.frozen = None;
                    }
                }
                _ => {}
            }
        }
    }

    fn take(&mut self, grant: &Grant) {
        if self.copies.get(&grant.entity).is_some_and(|copy| copy.epoch >= grant.epoch) {
            return;
        }
        let copy = Claim {
            epoch: grant.epoch,
            seq: grant.seq,
            digest: grant.digest,
            state: (*grant.state).clone(),
            time: grant.state.time.0,
            why: grant.why,
            argument: grant.argument.to_vec(),
            frozen: None,
            reported: false,
        };
        self.copies.insert(grant.entity, copy);
        let attach: Vec<Change> =
            grant.sessions.iter().map(|(session, _)| Change::Attach(*session)).collect();
        self.step(grant.entity, attach);
    }

    /// Makes a step and says it in the next bundle.
    pub fn step(&mut self, entity: EntityId, changes: Vec<Change>) -> Step {
        let step = self.make(entity, changes);
        self.out.push((entity, CellToBase::Step(step.clone())));
        step
    }

    /// Makes a step without saying it.
    pub fn make(&mut self, entity: EntityId, changes: Vec<Change>) -> Step {
        let kinds = self.kinds.clone().unwrap();
        let copy = self.copies.get_mut(&entity).unwrap();
        for change in &changes {
            copy.state.apply(change).unwrap();
        }
        let kind = kinds.get(copy.state.kind).unwrap();
        let prev_digest = copy.digest;
        copy.digest = copy.state.durable_digest(kind);
        copy.seq = copy.seq.next();
        let first_tick = (!std::mem::replace(&mut copy.reported, true)).then_some(Tick(0));
        Step {
            entity,
            epoch: copy.epoch,
            seq: copy.seq,
            prev_digest,
            digest: copy.digest,
            time: EntityTime(copy.time),
            first_tick,
            body: StepBody::Delta(changes),
        }
    }

    /// The whole state as a step.
    pub fn snapshot(&mut self, entity: EntityId) -> Step {
        let mut step = self.make(entity, Vec::new());
        let state = self.copies[&entity].state.clone();
        step.body = StepBody::Snapshot(Box::new(state));
        self.out.push((entity, CellToBase::Step(step.clone())));
        step
    }

    /// Freezes the entity after a last step, and asks for a handoff.
    pub fn prepare(
        &mut self,
        entity: EntityId,
        target: Node,
        tick: u64,
        why: HandoffWhy,
    ) -> Prepare {
        self.step(
            entity,
            vec![Change::Moved(self.copies[&entity].state.place, self.copies[&entity].state.rng)],
        );
        let copy = self.copies.get_mut(&entity).unwrap();
        let prepare = Prepare {
            entity,
            epoch: copy.epoch,
            seq: copy.seq,
            digest: copy.digest,
            target,
            why,
            last_tick: Tick(tick),
            layout_version: 1,
        };
        copy.frozen = Some(prepare.clone());
        self.out.push((entity, CellToBase::Prepare(prepare.clone())));
        prepare
    }

    pub fn say(&mut self, entity: EntityId, msg: CellToBase) {
        self.out.push((entity, msg));
    }

    pub fn holds(&self, entity: EntityId) -> bool {
        self.copies.contains_key(&entity)
    }

    /// What it was told of one kind.
    pub fn told<T>(&self, pick: impl Fn(&BaseToCell) -> Option<T>) -> Vec<T> {
        self.got.iter().filter_map(pick).collect()
    }

    pub fn commands(&self) -> Vec<Command> {
        self.told(|msg| match msg {
            BaseToCell::Command(command) => Some(command.clone()),
            _ => None,
        })
    }

    pub fn inbox(&self) -> Vec<InboxMessage> {
        self.told(|msg| match msg {
            BaseToCell::Inbox(message) => Some(message.clone()),
            _ => None,
        })
    }

    pub fn answers(&self) -> Vec<(u64, MessageOutcome)> {
        self.told(|msg| match msg {
            BaseToCell::Answer { out_seq, outcome, .. } => Some((*out_seq, outcome.clone())),
            _ => None,
        })
    }
}
