//! Everything at once, from a seed: owners that move, send, spawn and end entities, lost bundles,
//! slow disks, crashes of bases and owners, verdicts right and wrong.

use super::*;
use marchland_common::cluster::MapChange;
use std::collections::BTreeSet;

const BUSY: Mischief = Mischief { send: 60, spawn: 3, hand_over: 40, destroy: 2 };

pub struct Storm {
    pub cluster: Cluster,
    pub actors: BTreeMap<Node, Actor>,
    pub clients: Vec<Player>,
    rng: Rng,
    next_life: u64,
    /// Lives that were declared dead and do not know it.
    zombies: Vec<(Node, u64)>,
    /// Slots under way, and since when.
    moves: BTreeMap<SlotId, u64>,
    /// Whether slots are moved, and what came of the moves: committed, called off.
    pub moving: bool,
    pub moved: (u32, u32),
    /// When each base hears of the newest keys.
    told: Vec<Option<u64>>,
}

impl Storm {
    pub fn new(seed: u64) -> Self {
        let mut cluster = Cluster::with(2, |config| config.id_reserve = 5);
        for at in [0, 1, 0, 1, 0, 1] {
            cluster.born_at(at, if at == 0 { west() } else { east() });
        }
        cluster.rng = Rng(seed ^ 77);
        let clients = (0..4).map(|n| Player::new(n, n % 2)).collect();
        let actors = BTreeMap::new();
        let rng = Rng(seed);
        Self {
            cluster,
            actors,
            clients,
            rng,
            next_life: 500,
            zombies: Vec::new(),
            moves: BTreeMap::new(),
            moving: false,
            moved: (0, 0),
            told: vec![None; 2],
        }
    }

    /// What a manager does: orders, commits what is held, and calls off what takes too long.
    fn manage(&mut self) {
        let tick = self.cluster.tick;
        if self.moving && self.rng.chance(1, 12) {
            let all = self.everyone();
            let entity = all[self.rng.below(all.len() as u64) as usize];
            let at = keeper(&self.cluster, entity.slot());
            give(&mut self.cluster, entity.slot(), 1 - at);
            self.moves.insert(entity.slot(), tick);
        }
        for at in 0..2 {
            for going in self.cluster.bases[at].stats.moves.clone() {
                let since = *self.moves.entry(going.slot).or_insert(tick);
                let owner = self.cluster.slots[usize::from(going.slot.0)];
                let stands = owner.term == going.term && keeper(&self.cluster, going.slot) == at;
                if !stands {
                    continue;
                }
                if matches!(going.stage, MoveStage::Held(_)) && self.rng.chance(1, 3) {
                    write_key(&mut self.cluster, going.slot, 1 - at);
                    self.moved.0 += 1;
                } else if tick > since + 60 || self.rng.chance(1, 80) {
                    write_key(&mut self.cluster, going.slot, at);
                    self.moved.1 += 1;
                } else {
                    continue;
                }
                self.moves.remove(&going.slot);
                for told in &mut self.told {
                    told.get_or_insert(tick + self.rng.below(12));
                }
            }
        }
        for (at, told) in self.told.iter_mut().enumerate() {
            if told.is_some_and(|due| due <= tick) {
                *told = None;
                let slots = MapChange::Slots(self.cluster.slots.clone());
                self.cluster.bases[at].map.push(slots);
            }
        }
    }

    fn everyone(&self) -> Vec<EntityId> {
        let briefs = self.cluster.bases.iter().flat_map(|base| base.core.briefs(1_000));
        briefs.map(|brief| brief.entity).collect()
    }

    pub fn tick(&mut self, may: Mischief, sync_all: bool) {
        let tick = self.cluster.tick + 1;
        let all = self.everyone();
        let lives = self.cluster.lives;
        for (node, owner) in &mut self.cluster.owners {
            let actor = self.actors.entry(*node).or_default();
            actor.act(owner, tick, &mut self.rng, may, &all, &lives);
        }
        self.manage();
        let busy = may.send > 0;
        for client in &mut self.clients {
            client.hear(&self.cluster.bases[client.base]);
            if !client.open {
                client.go_to(keeper(&self.cluster, client.slot()), &self.cluster);
            }
            let base = &mut self.cluster.bases[client.base];
            client.act(base, tick, &mut self.rng, busy);
        }
        self.cluster.flush();
        for at in 0..self.cluster.bases.len() {
            let base = &self.cluster.bases[at];
            let (durable, last) = (base.durable, base.log.len() as u64);
            let upto = match self.rng.below(10) {
                _ if sync_all => last,
                0..=5 => last,
                6..=7 => durable + self.rng.below(last - durable + 1),
                _ => durable,
            };
            self.cluster.sync_to(at, upto);
        }
        for client in &mut self.clients {
            client.hear(&self.cluster.bases[client.base]);
        }
    }

    pub fn disturb(&mut self) {
        match self.rng.below(400) {
            0..=3 => self.restart_base(),
            4..=7 => self.crash_owner(),
            8..=11 => self.false_verdict(),
            12..=20 => self.cluster.loss = 5,
            21..=60 => self.cluster.loss = 0,
            61..=63 => {
                let n = self.rng.below(3) as usize;
                let owner = self.cluster.owners.get_mut(&self.cluster.lives[n]).unwrap();
                owner.accepting = !owner.accepting;
            }
            64..=70 => {
                let n = self.rng.below(3) as usize;
                let owner = self.cluster.owners.get_mut(&self.cluster.lives[n]).unwrap();
                owner.takes = !owner.takes;
            }
            _ => {}
        }
        let tick = self.cluster.tick;
        for (node, until) in std::mem::take(&mut self.zombies) {
            if tick > until {
                self.cluster.owners.remove(&node);
            } else {
                self.zombies.push((node, until));
            }
        }
    }

    fn restart_base(&mut self) {
        let at = self.rng.below(2) as usize;
        let base = &self.cluster.bases[at];
        let (durable, written) = (base.durable, base.log.len() as u64);
        let records = durable + self.rng.below(written - durable + 1);
        let kinds = self.cluster.kinds.clone();
        let before = self.cluster.bases[at].node;
        self.cluster.bases[at].restart(&kinds, records as usize);
        let node = self.cluster.bases[at].node;
        self.cluster.members.retain(|m| m.node != before);
        self.cluster.members.push(Member { node, state: MemberState::Serving });
        self.cluster.announce();
        let dead: Vec<Incarnation> = self.cluster.bases[at].proof.dead.iter().copied().collect();
        let told = MapChange::Dead(dead);
        self.cluster.bases[at].map.push(told);
        for client in self.clients.iter_mut().filter(|client| client.base == at) {
            (client.open, client.read) = (false, 0);
        }
    }

    fn replace_life(&mut self, n: usize) -> Node {
        let before = self.cluster.lives[n];
        self.next_life += 1;
        let node = Node::new(NodeKind::Cell, n as u16 + 1, self.next_life);
        self.cluster.lives[n] = node;
        self.cluster.version += 1;
        self.cluster.owners.insert(node, Owner::new(node));
        self.cluster.declare_dead(before);
        self.cluster.members.push(Member { node, state: MemberState::Serving });
        self.cluster.announce();
        before
    }

    fn crash_owner(&mut self) {
        let n = self.rng.below(3) as usize;
        let before = self.replace_life(n);
        self.cluster.owners.remove(&before);
    }

    fn false_verdict(&mut self) {
        let n = self.rng.below(3) as usize;
        let before = self.replace_life(n);
        self.zombies.push((before, self.cluster.tick + 30));
    }

    pub fn calm(&mut self) {
        (self.cluster.loss, self.moving) = (0, false);
        for (zombie, _) in std::mem::take(&mut self.zombies) {
            self.cluster.owners.remove(&zombie);
        }
        self.cluster.owners.values_mut().for_each(|owner| {
            (owner.accepting, owner.takes) = (true, true);
        });
        for n in 0..400 {
            self.tick(Mischief::default(), true);
            if n == 100 {
                // A link that began anew tells its ends; here it is the next number that does.
                for owner in self.cluster.owners.values_mut() {
                    owner.n.values_mut().for_each(|n| *n += 1);
                }
            }
        }
    }

    pub fn check(&self) {
        for base in &self.cluster.bases {
            let stats = &base.stats;
            let open = (stats.in_handoff, stats.commands, stats.inbox, stats.outbox);
            assert_eq!(open, (0, 0, 0, 0), "{stats:?}");
            for brief in base.core.briefs(10_000) {
                let owner = &self.cluster.owners[&brief.owner];
                let copy = &owner.copies[&brief.entity];
                assert_eq!((copy.epoch, copy.seq), (brief.epoch, brief.seq), "{brief:?}");
                assert!(copy.frozen.is_none(), "{brief:?}");
            }
        }
        for owner in self.cluster.owners.values() {
            for (entity, copy) in owner.copies.iter().filter(|(_, c)| !c.state.destroyed) {
                let at = keeper(&self.cluster, entity.slot());
                let brief = self.cluster.bases[at].core.brief(*entity);
                let holds = brief.is_some_and(|b| b.owner == owner.node && b.epoch == copy.epoch);
                assert!(holds, "{:?} holds {entity:?} under {:?}", owner.node, copy.epoch);
            }
        }
        self.check_value();
        self.check_order();
        for client in &self.clients {
            assert_eq!(
                client.acked + 1,
                client.next_n,
                "{}: every command is answered",
                client.account
            );
        }
    }

    /// Epochs only grow at a base and none is used twice; the messages of a source are taken in
    /// order, each once.
    fn check_order(&self) {
        let mut used = BTreeSet::<(EntityId, Epoch)>::new();
        let mut once = BTreeSet::<(EntityId, EntityId, u64)>::new();
        for base in &self.cluster.bases {
            let mut epochs = BTreeMap::<EntityId, Epoch>::new();
            let mut taken = BTreeMap::<(EntityId, EntityId), u64>::new();
            for event in &base.events {
                match event {
                    Event::OwnerChanged { entity, epoch, .. } => {
                        let before = epochs.insert(*entity, *epoch);
                        assert!(before.is_none_or(|before| before < *epoch), "{event:?}");
                        assert!(used.insert((*entity, *epoch)), "{event:?}");
                    }
                    Event::MessageTaken { entity, source, out_seq, .. } => {
                        let before = taken.insert((*entity, *source), *out_seq);
                        assert!(before.is_none_or(|before| before < *out_seq), "{event:?}");
                        assert!(once.insert((*entity, *source, *out_seq)), "{event:?}");
                    }
                    _ => {}
                }
            }
        }
    }

    fn check_value(&self) {
        let mut expected = 0;
        for event in self.cluster.bases.iter().flat_map(|base| &base.events) {
            match event {
                Event::Created { value, source: None, .. } => expected += value,
                Event::Accepted { flow: Some(flow), .. } => {
                    expected += flow.minted;
                    let got = flow.received + flow.returned + flow.minted;
                    assert_eq!(flow.after, flow.before - flow.sent + got, "{event:?}");
                }
                Event::Burned { value, .. } | Event::Destroyed { value, .. } => expected -= value,
                _ => {}
            }
        }
        let briefs = self.cluster.bases.iter().flat_map(|base| base.core.briefs(10_000));
        let held: i64 = briefs.map(|brief| brief.durable[0].1.int()).sum();
        assert_eq!(held, expected, "gold is neither made nor lost");
    }
}

/// A storm, and the calm after it.
pub fn storm_and_calm(seed: u64) -> Storm {
    storm_with(seed, false)
}

/// The same, with slots on the move.
pub fn storm_with(seed: u64, moving: bool) -> Storm {
    let mut storm = Storm::new(seed);
    storm.moving = moving;
    for _ in 0..400 {
        storm.disturb();
        storm.tick(BUSY, false);
    }
    storm.calm();
    storm
}
