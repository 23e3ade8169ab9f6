//! An owner that plays by the rules on its own: runs what it is sent, reports, hands over, and
//! says again what a base that came back may miss.

use super::*;
use marchland_common::rng::Rng;
use std::collections::{BTreeMap, VecDeque};

/// What an actor keeps beside its copies.
#[derive(Clone, Default)]
pub struct Actor {
    /// Up to where of what it was told it has acted.
    read: usize,
    waiting: BTreeMap<EntityId, VecDeque<BaseToCell>>,
    unacked: BTreeMap<EntityId, VecDeque<Step>>,
}

/// What an actor may do on its own account.
#[derive(Clone, Copy, Default)]
pub struct Mischief {
    /// Chances in a thousand, per entity and tick.
    pub send: u64,
    pub spawn: u64,
    pub hand_over: u64,
    pub destroy: u64,
}

impl Actor {
    /// One tick of one owner.
    pub fn act(
        &mut self,
        owner: &mut Owner,
        tick: u64,
        rng: &mut Rng,
        may: Mischief,
        all: &[EntityId],
        lives: &[Node],
    ) {
        self.read(owner);
        let ids: Vec<EntityId> = owner.copies.keys().copied().collect();
        self.waiting.retain(|id, _| ids.contains(id));
        self.unacked.retain(|id, _| ids.contains(id));
        self.tell_opened(owner);
        for entity in ids {
            if owner.closed.contains_key(&entity.slot()) {
                continue;
            }
            if let Some(prepare) = owner.copies[&entity].frozen.clone() {
                owner.say(entity, CellToBase::Prepare(prepare));
                continue;
            }
            if owner.copies[&entity].state.destroyed {
                continue;
            }
            self.run(owner, entity);
            self.misbehave(owner, entity, tick, rng, may, (all, lives));
        }
        self.keep(owner);
    }

    fn read(&mut self, owner: &mut Owner) {
        let new: Vec<BaseToCell> = owner.got[self.read..].to_vec();
        self.read = owner.got.len();
        for msg in new {
            match &msg {
                BaseToCell::Ack { entity, seq, .. } => {
                    if let Some(steps) = self.unacked.get_mut(entity) {
                        steps.retain(|step| step.seq > *seq);
                    }
                }
                BaseToCell::Grant(grant) => {
                    self.waiting.remove(&grant.entity);
                }
                BaseToCell::NeedSnapshot { entity, epoch, .. } => {
                    self.whole(owner, *entity, *epoch)
                }
                BaseToCell::Resync { .. } => self.resync(owner),
                BaseToCell::Command(c) => self.wait(owner, c.entity, msg.clone()),
                BaseToCell::Inbox(m) => self.wait(owner, m.entity, msg.clone()),
                BaseToCell::Answer { entity, .. }
                | BaseToCell::Settled { entity, .. }
                | BaseToCell::Attach { entity, .. }
                | BaseToCell::Detach { entity, .. } => self.wait(owner, *entity, msg.clone()),
                _ => {}
            }
        }
    }

    /// A non-owner and a frozen owner drop what comes.
    fn wait(&mut self, owner: &Owner, entity: EntityId, msg: BaseToCell) {
        if owner.copies.get(&entity).is_some_and(|copy| copy.frozen.is_none()) {
            self.waiting.entry(entity).or_default().push_back(msg);
        }
    }

    fn whole(&mut self, owner: &mut Owner, entity: EntityId, epoch: Epoch) {
        let Some(copy) = owner.copies.get(&entity).filter(|copy| copy.epoch == epoch) else {
            return;
        };
        if copy.frozen.is_none() && !copy.state.destroyed {
            owner.snapshot(entity);
            return;
        }
        let step = Step {
            entity,
            epoch,
            seq: copy.seq,
            prev_digest: copy.digest,
            digest: copy.digest,
            time: marchland_common::time::EntityTime(copy.time),
            first_tick: None,
            body: StepBody::Snapshot(Box::new(copy.state.clone())),
        };
        owner.say(entity, CellToBase::Step(step));
    }

    fn resync(&mut self, owner: &mut Owner) {
        self.tell(owner, |_| true);
    }

    /// A base opened slots: it is told what stands here of them.
    fn tell_opened(&mut self, owner: &mut Owner) {
        let opened = std::mem::take(&mut owner.opened);
        self.tell(owner, |id| opened.contains(&id.slot()));
    }

    fn tell(&mut self, owner: &mut Owner, is_asked: impl Fn(EntityId) -> bool) {
        let held: Vec<(EntityId, Claim)> = owner
            .copies
            .iter()
            .filter(|(id, _)| is_asked(**id))
            .map(|(id, copy)| (*id, copy.clone()))
            .collect();
        for (entity, Claim { epoch, seq, digest, .. }) in held {
            owner.say(entity, CellToBase::Holding { entity, epoch, seq, digest });
            for step in self.unacked.get(&entity).into_iter().flatten() {
                owner.say(entity, CellToBase::Step(step.clone()));
            }
        }
    }

    fn run(&mut self, owner: &mut Owner, entity: EntityId) {
        for msg in self.waiting.remove(&entity).unwrap_or_default() {
            let state = owner.copies[&entity].state.clone();
            let changes = match msg {
                BaseToCell::Attach { session, .. } => vec![Change::Attach(session)],
                BaseToCell::Detach { session, .. } => vec![Change::Detach(session)],
                BaseToCell::Command(command) => run_command(&state, &command),
                BaseToCell::Inbox(message) => run_message(&state, &message),
                BaseToCell::Answer { out_seq, outcome, .. } => {
                    take_answer(&state, out_seq, &outcome)
                }
                BaseToCell::Settled { source, through, .. } => {
                    vec![Change::Settled(source, through, true)]
                }
                other => panic!("nothing to run: {other:?}"),
            };
            if !changes.is_empty() {
                owner.step(entity, changes);
            }
        }
    }

    fn misbehave(
        &mut self,
        owner: &mut Owner,
        entity: EntityId,
        tick: u64,
        rng: &mut Rng,
        may: Mischief,
        (all, lives): (&[EntityId], &[Node]),
    ) {
        let state = owner.copies[&entity].state.clone();
        let gold = state.props[usize::from(GOLD)].int();
        let room = state.outbox.open.len() < 8;
        let post = |to: Address, value: i64, owner: &mut Owner| {
            let out_seq = state.outbox.last + 1;
            let message = OutMessage { out_seq, to, payload: Vec::new(), value, sent: Tick(tick) };
            let held = Value::Int(gold - value);
            owner.step(entity, vec![Change::Prop(GOLD, held), Change::Sent(message)]);
        };
        if room && gold > 2 && rng.chance(may.send, 1_000) {
            let to = all[rng.below(all.len() as u64) as usize];
            post(Address::Entity(to), 1 + rng.below(2) as i64, owner);
        } else if room && gold > 9 && rng.chance(may.spawn, 1_000) {
            post(Address::Spawn { kind: HERO, place: east() }, 5, owner);
        } else if rng.chance(may.hand_over, 1_000) {
            let target = lives[rng.below(lives.len() as u64) as usize];
            owner.prepare(entity, target, tick, HandoffWhy::Border);
        } else if rng.chance(may.destroy, 1_000) {
            let burned =
                vec![Change::Prop(GOLD, Value::Int(0)), Change::Minted(-gold), Change::Destroyed];
            owner.step(entity, burned);
        }
    }

    /// Keeps the steps of this tick until they are acknowledged.
    fn keep(&mut self, owner: &Owner) {
        for (entity, msg) in &owner.out {
            if let CellToBase::Step(step) = msg {
                let kept = self.unacked.entry(*entity).or_default();
                if kept.back().is_none_or(|last| last.seq < step.seq) {
                    kept.push_back(step.clone());
                }
            }
        }
    }
}

fn run_command(state: &EntityState, command: &Command) -> Vec<Change> {
    let (session, n) = (command.session, command.n);
    let mut after = state.clone();
    let mut changes = Vec::new();
    let rows = state.commands.rows();
    if rows.iter().any(|row| row.session == session && row.high < command.acknowledged) {
        changes.push(Change::Acknowledged(session, command.acknowledged));
        after.commands.acknowledge(session, command.acknowledged);
    }
    if after.commands.check(session, n) == CommandVerdict::New {
        changes.push(Change::Command(session, n, CommandOutcome::Applied(vec![n as u8])));
    }
    changes
}

fn run_message(state: &EntityState, message: &InboxMessage) -> Vec<Change> {
    let InboxMessage { source, out_seq, value, .. } = *message;
    let mut changes = Vec::new();
    if state.inbox.check(source, out_seq) != InboxVerdict::New {
        return changes;
    }
    let gold = state.props[usize::from(GOLD)].int();
    // Every third is refused.
    let outcome = match out_seq % 3 {
        0 => MessageOutcome::Rejected(Rejection::Rule("third".to_owned())),
        _ => MessageOutcome::Applied(Vec::new()),
    };
    if outcome.is_kept() {
        changes.push(Change::Prop(GOLD, Value::Int(gold + value)));
    }
    changes.push(Change::Received(source, out_seq, outcome));
    changes
}

fn take_answer(state: &EntityState, out_seq: u64, outcome: &MessageOutcome) -> Vec<Change> {
    let Some(message) = state.outbox.open.get(&out_seq) else { return Vec::new() };
    let back = if outcome.is_kept() { 0 } else { message.value };
    let gold = state.props[usize::from(GOLD)].int();
    vec![Change::Prop(GOLD, Value::Int(gold + back)), Change::Answered(out_seq)]
}
