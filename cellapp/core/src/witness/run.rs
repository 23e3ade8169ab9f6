//! The pass of each witness in the SyncBuild phase.

use super::candidates::{Candidate, What, full_bytes};
use super::scratch::{VERSION, ViewScratch};
use super::witnesses::{SEEN_MAX, ViewLimits, ViewOut, Witness, Witnesses};
use crate::interest::{Found, HEADING, Look, Looks, POSITION};
use marchland_common::journal::Event;
use marchland_common::msg::{Seen, View};
use marchland_common::order::{EntityId, SessionId, Tick};

/// One pass's surroundings.
struct Pass<'a> {
    witness: EntityId,
    session: SessionId,
    now: Tick,
    limits: &'a ViewLimits,
    looks: &'a Looks,
}

impl Witnesses {
    /// Lets every witness look around, and ends the round of changes: what changes from now on is
    /// new to the next run. Call it once a tick, when all looks are up to date.
    pub fn run(
        &mut self,
        now: Tick,
        looks: &mut Looks,
        scratch: &mut ViewScratch,
        out: &mut ViewOut,
    ) {
        scratch.begin(looks);
        for ((entity, session), witness) in &mut self.witnesses {
            let pass =
                Pass { witness: *entity, session: *session, now, limits: &self.limits, looks };
            pass.run(witness, scratch, out);
        }
        looks.turn_over();
    }
}

impl Pass<'_> {
    fn run(&self, witness: &mut Witness, scratch: &mut ViewScratch, out: &mut ViewOut) {
        let Some(me) = self.looks.get(self.witness).filter(|_| !witness.is_frozen) else { return };
        let (space, centre) = (me.space(), me.pos());
        let leave = leave_radius(witness.radius, self.limits.hysteresis);
        // A move of its own is a change around it, too.
        if !witness.is_due && !self.looks.changed_within(space, centre, leave) {
            scratch.cost.skipped += 1;
            return;
        }
        scratch.cost.passes += 1;
        scratch.found.clear();
        if witness.radius > 0 {
            let visited = self.looks.collect(space, centre, leave, &mut scratch.found);
            scratch.cost.entries += u64::from(visited.entries);
        }
        scratch.found.retain(|found| found.id != self.witness);
        scratch.found.sort_unstable_by_key(|found| found.id);
        scratch.writer.begin(self.now);
        self.compare(witness, scratch, out);
        let room = SEEN_MAX.saturating_sub(witness.seen.len());
        scratch.serve(self.looks, self.limits.bytes, room);
        self.conclude(witness, scratch, out);
        if scratch.writer.count() > 0 || witness.is_fresh {
            out.views.push(View {
                entity: self.witness,
                session: self.session,
                epoch: me.epoch(),
                tick: self.now,
                fresh: std::mem::replace(&mut witness.is_fresh, false),
                body: scratch.writer.finish_bytes(),
            });
        }
    }

    /// Walks through what is near and what the client holds, both by id: who left is told at once,
    /// who else could be told of becomes a candidate.
    fn compare(&self, witness: &mut Witness, scratch: &mut ViewScratch, out: &mut ViewOut) {
        let reach = i64::from(witness.radius) * i64::from(witness.radius);
        let found = std::mem::take(&mut scratch.found);
        scratch.candidates.clear();
        scratch.next.clear();
        let mut seen = witness.seen.iter().peekable();
        for near in &found {
            while let Some(gone) = seen.next_if(|seen| seen.entity < near.id) {
                self.leave(gone.entity, scratch, out);
            }
            let since = waiting_since(&witness.waiting, near.id).unwrap_or(self.now);
            match seen.next_if(|seen| seen.entity == near.id) {
                Some(held) => {
                    scratch.next.push(*held);
                    self.consider_change(near, held, since, scratch);
                }
                None if near.distance_sq <= reach => self.consider_enter(near, since, scratch),
                None => {}
            }
        }
        seen.for_each(|gone| self.leave(gone.entity, scratch, out));
        std::mem::swap(&mut witness.seen, &mut scratch.next);
        scratch.found = found;
    }

    fn leave(&self, entity: EntityId, scratch: &mut ViewScratch, out: &mut ViewOut) {
        if self.limits.forgets_leaves {
            return;
        }
        // A client holds at most as many as fit many times into a block.
        let written = scratch.writer.leave(entity);
        debug_assert!(written.is_ok(), "a leave fits");
        let (witness, session) = (self.witness, self.session);
        out.events.push(Event::Left { witness, session, entity });
    }

    fn consider_enter(&self, near: &Found, since: Tick, scratch: &mut ViewScratch) {
        let look = self.looks.at(near.tag);
        let candidate = self.full(near, look, What::Enter, since, None, scratch);
        scratch.candidates.push(candidate);
    }

    fn full(
        &self,
        near: &Found,
        look: &Look,
        what: What,
        since: Tick,
        at: Option<usize>,
        scratch: &ViewScratch,
    ) -> Candidate {
        let view = scratch.kinds.get(&look.kind());
        Candidate {
            entity: near.id,
            slot: near.tag,
            distance_sq: near.distance_sq,
            since,
            what,
            owed: 0,
            at,
            bytes: view.map_or(0, |view| full_bytes(look, view)),
            is_served: false,
        }
    }

    fn consider_change(&self, near: &Found, held: &Seen, since: Tick, scratch: &mut ViewScratch) {
        let look = self.looks.at(near.tag);
        let at = scratch.next.len() - 1;
        let shown = (held.epoch, held.seq);
        if (look.epoch(), look.seq()) < shown {
            return;
        }
        if held.epoch < look.since() {
            let candidate = self.full(near, look, What::Reset, since, Some(at), scratch);
            scratch.candidates.push(candidate);
            return;
        }
        let Some(view) = scratch.kinds.get(&look.kind()) else { return };
        let changed = look.fields_after(held.seq) | held.owed;
        let wanted = changed & (view.visible | POSITION | HEADING);
        let owed = wanted & view.too_far(near.distance_sq);
        let mut fields = wanted & !owed;
        if fields == 0 {
            // Nothing to tell now; what changed out of sight is remembered. The epoch stays the one
            // that the client knows, so that the next update tells it.
            let held = &mut scratch.next[at];
            (held.seq, held.owed) = (look.seq(), owed);
            return;
        }
        if held.epoch != look.epoch() || fields & view.visible != 0 {
            fields |= VERSION;
        }
        let Ok(update) = scratch.cache.update(near.tag, look, fields, view) else { return };
        let bytes = scratch.cache.get(update).map_or(0, |update| update.as_bytes().len());
        scratch.candidates.push(Candidate {
            entity: near.id,
            slot: near.tag,
            distance_sq: near.distance_sq,
            since,
            what: What::Update(update),
            owed,
            at: Some(at),
            bytes,
            is_served: false,
        });
    }

    /// Notes what the client holds now, and who still waits.
    fn conclude(&self, witness: &mut Witness, scratch: &ViewScratch, out: &mut ViewOut) {
        witness.waiting.clear();
        let held = witness.seen.len();
        for candidate in &scratch.candidates {
            if !candidate.is_served {
                witness.waiting.push((candidate.entity, candidate.since));
                continue;
            }
            let look = self.looks.at(candidate.slot);
            let (entity, epoch, seq) = (look.id(), look.epoch(), look.seq());
            let seen = Seen { entity, epoch, seq, owed: candidate.owed };
            match candidate.at {
                Some(at) => witness.seen[at] = seen,
                None => {
                    witness.seen.push(seen);
                    let (witness, session) = (self.witness, self.session);
                    out.events.push(Event::Entered { witness, session, entity });
                }
            }
        }
        if witness.seen.len() > held {
            witness.seen.sort_unstable_by_key(|seen| seen.entity);
        }
        witness.is_due = !witness.waiting.is_empty();
    }
}

/// How far away an entity leaves: a part of the radius beyond it.
fn leave_radius(radius: i32, hysteresis: i32) -> i32 {
    let farther = i64::from(radius) * (256 + i64::from(hysteresis.max(0))) / 256;
    i32::try_from(farther).unwrap_or(i32::MAX)
}

fn waiting_since(waiting: &[(EntityId, Tick)], entity: EntityId) -> Option<Tick> {
    let at = waiting.binary_search_by_key(&entity, |(id, _)| *id).ok()?;
    Some(waiting[at].1)
}
