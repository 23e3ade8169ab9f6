//! A base of the model: what it lets out once it is durable.

use super::*;

impl Cluster {
    pub fn release_base(&mut self, base: usize) {
        let mut events = vec![Event::Durable { lsn: Lsn(self.bases[base].now.lsn) }];
        self.bases[base].unsynced.clear();
        for held in std::mem::take(&mut self.bases[base].held) {
            self.let_go(base, held, &mut events);
        }
        self.grant_and_push(base);
        self.say_fences(base, &mut events);
        self.bases[base].synced = self.bases[base].now.clone();
        self.writer.write(CELLS + base, self.tick, Moment::Release(1), events);
    }

    fn let_go(&mut self, base: usize, held: Held, events: &mut Vec<Event>) {
        match held {
            Held::Step(entity, epoch, seq, effects) => {
                self.step_is_durable(base, entity, (epoch, seq), *effects, events);
            }
            Held::Cell(cell, what) => self.cells[cell].input.push(what),
            Held::Spawned(source, out_seq) => {
                if let Some(row) = self.bases[base].now.rows.get_mut(&source) {
                    row.answers.insert(out_seq, true);
                    row.pushed = false;
                }
            }
            Held::Session(entity, session) => {
                self.client.input.push(ToClient::Welcome { entity, session });
                if let Some(row) = self.bases[base].now.rows.get(&entity) {
                    let owner = row.owner;
                    self.cells[owner].input.push(ToCell::Session { entity, session });
                }
            }
        }
    }

    fn step_is_durable(
        &mut self,
        base: usize,
        entity: EntityId,
        (epoch, seq): (Epoch, Seq),
        effects: StepEffects,
        events: &mut Vec<Event>,
    ) {
        for (session, n, outcome) in effects.commands {
            if let Some(row) = self.bases[base].now.rows.get_mut(&entity) {
                row.commands.retain(|open| *open != (session, n));
            }
            let told = outcome.clone();
            events.push(Event::CommandConfirmed { entity, session, n, outcome: told, epoch, seq });
            self.client.input.push(ToClient::Answer { entity, session, n, outcome });
        }
        for Sent { out_seq, to, value } in effects.sent {
            events.push(Event::MessageReleased { source: entity, out_seq, to, value, seq });
            if let Some(to) = to {
                let deliver = ToBase::Deliver { to, source: entity, out_seq, value };
                let base = self.base_of(to);
                self.bases[base].input.push(deliver);
            }
        }
        for (source, out_seq, outcome) in effects.received {
            if let Some(row) = self.bases[base].now.rows.get_mut(&entity) {
                row.inbox.retain(|(from, n, _)| (*from, *n) != (source, out_seq));
            }
            let kept = outcome.is_kept();
            events.push(Event::MessageTaken { entity, source, out_seq, outcome });
            let answer = ToBase::Delivered { source, out_seq, kept };
            let base = self.base_of(source);
            self.bases[base].input.push(answer);
        }
        for out_seq in effects.answered {
            if let Some(row) = self.bases[base].now.rows.get_mut(&entity) {
                row.answers.remove(&out_seq);
            }
            events.push(Event::MessageClosed { source: entity, out_seq });
        }
        if effects.destroyed {
            self.end_inbox(base, entity);
        }
        self.client.input.push(ToClient::Saw { entity, epoch, tick: self.tick, seq });
    }

    /// What waited for an entity that ended comes back.
    fn end_inbox(&mut self, base: usize, entity: EntityId) {
        let row = self.bases[base].now.rows.get_mut(&entity);
        let waiting = row.map(|row| std::mem::take(&mut row.inbox)).unwrap_or_default();
        for (source, out_seq, _) in waiting {
            let answer = ToBase::Delivered { source, out_seq, kept: false };
            let base = self.base_of(source);
            self.bases[base].input.push(answer);
        }
    }

    fn say_fences(&mut self, base: usize, events: &mut Vec<Event>) {
        let now = self.tick;
        let fences = std::mem::take(&mut self.bases[base].fences);
        let (due, later) = fences.into_iter().partition(|(tick, ..)| *tick <= now);
        self.bases[base].fences = later;
        let due: Vec<(Tick, usize, EntityId, Epoch)> = due;
        for (_, cell, entity, epoch) in due {
            let current = self.bases[base].now.rows.get(&entity).map_or(epoch, |row| row.epoch);
            // The record of the verdict may have been lost before it was durable.
            if current > epoch {
                events.push(Event::FencedSent { entity, epoch, current, to: self.node(cell) });
                self.cells[cell].input.push(ToCell::Fenced { entity, epoch });
            }
        }
    }

    fn grant_and_push(&mut self, base: usize) {
        let node = self.node(CELLS + base);
        let mut out = Vec::new();
        for (entity, row) in &mut self.bases[base].now.rows {
            let entity = *entity;
            if !std::mem::replace(&mut row.granted, true) {
                let why = row.why;
                let real = Box::new(row.real.clone());
                out.push((row.owner, ToCell::Grant { entity, real, why, base: node }));
            }
            if !row.reported || row.ended || std::mem::replace(&mut row.pushed, true) {
                continue;
            }
            for (source, out_seq, value) in row.inbox.iter().copied() {
                out.push((row.owner, ToCell::Inbox { entity, source, out_seq, value }));
            }
            for (out_seq, kept) in &row.answers {
                let (out_seq, kept) = (*out_seq, *kept);
                out.push((row.owner, ToCell::Answer { entity, out_seq, kept }));
            }
            for (session, n) in row.commands.iter().copied() {
                out.push((row.owner, ToCell::Command { entity, session, n }));
            }
        }
        for (cell, what) in out {
            self.cells[cell].input.push(what);
        }
    }

    /// The base is killed before its records are durable. Its next life reads back what is, and is
    /// told again what it missed.
    pub fn restart_base(&mut self, base: usize) {
        self.bases[base].fall_back();
        self.bases[base].recovered = true;
        self.writer.restart(CELLS + base);
    }
}
