//! Value is neither made nor lost.
//!
//! The merged order never puts an effect before its cause, so every prefix of it is a consistent
//! cut, and the sum is compared after each event that changes it. What is on its way is counted by
//! message: sent by a step of its source, and taken, given back, born with or burned exactly once.

use crate::audit::{Accepted, AuditOptions, Cut, CutWhat, Cx, Findings, Grown, Here, Watch, What};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::{Event, ValueFlow};
use marchland_common::order::{EntityId, Seq};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A message: source and number.
type Message = (EntityId, u64);

/// The messages of one source, in sums.
#[derive(Clone, Copy, Default)]
struct Outgoing {
    /// Sent and not taken, given back, born with or burned.
    open: i128,
    /// Sent by steps.
    sent: i128,
    /// Seen to leave.
    released: i128,
}

/// Where a message's value ended.
struct Kept {
    at: At,
    value: i64,
}

#[derive(Default)]
pub struct ValueConserved {
    held: i128,
    moving: i128,
    /// Minted less burned.
    made: i128,
    /// The difference that was told already.
    told: i128,
    sources: BTreeMap<EntityId, Outgoing>,
    kept: FxHashMap<Message, Kept>,
    burned: FxHashMap<Message, At>,
    /// What the steps that may still be cut took from each source.
    steps: FxHashMap<EntityId, Vec<(Seq, Vec<Message>)>>,
}

impl ValueConserved {
    pub fn new(_: &AuditOptions) -> Self {
        Self::default()
    }

    fn balance(
        &mut self,
        entity: EntityId,
        witness: &[Option<At>],
        cx: &Cx<'_>,
        out: &mut Findings,
    ) {
        let drift = self.held + self.moving - self.made;
        let before = std::mem::replace(&mut self.told, drift);
        if cx.is_blind() {
            return;
        }
        out.check(drift == before, entity, witness, || {
            let (by, way) = match drift > before {
                true => (drift - before, "came from nowhere"),
                false => (before - drift, "is gone"),
            };
            format!("{by} {way}")
        });
    }

    fn send(&mut self, source: EntityId, value: i128) {
        let outgoing = self.sources.entry(source).or_default();
        outgoing.open += value;
        outgoing.sent += value;
        self.moving += value;
    }

    fn close(&mut self, source: EntityId, value: i128) {
        self.sources.entry(source).or_default().open -= value;
        self.moving -= value;
    }

    /// Notes who keeps a message's value. Whatever is kept twice is counted once.
    fn keep(&mut self, message: Message, at: At, value: i64, out: &mut Findings) -> bool {
        if let Some(kept) = self.kept.get(&message) {
            let (source, out_seq) = message;
            out.accuse(source, &[Some(kept.at), Some(at)], || {
                format!("the value {value} of message {source}:{out_seq} was kept twice")
            });
            return false;
        }
        self.kept.insert(message, Kept { at, value });
        self.close(message.0, i128::from(value));
        true
    }

    fn born(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Created { entity, value, source, .. } = *here.event else { return };
        self.held += i128::from(value);
        let carried = source.is_some_and(|message| self.keep(message, here.at, value, out));
        if !carried && source.is_none() {
            self.made += i128::from(value);
        }
        self.balance(entity, &[Some(here.at)], cx, out);
    }

    fn ended(&mut self, value: i64) {
        self.held -= i128::from(value);
        self.made -= i128::from(value);
    }

    fn burn(&mut self, here: &Here<'_>, out: &mut Findings) {
        let Event::Burned { source, out_seq, value, .. } = *here.event else { return };
        // A base that came back without this record writes it again.
        if self.burned.insert((source, out_seq), here.at).is_some() {
            return;
        }
        self.close(source, i128::from(value));
        self.made -= i128::from(value);
        let kept = self.kept.get(&(source, out_seq)).map(|kept| kept.at);
        out.check(kept.is_none(), source, &[kept, Some(here.at)], || {
            format!("message {source}:{out_seq} was kept by its receiver and burned as well")
        });
    }

    fn release(&mut self, here: &Here<'_>, out: &mut Findings) {
        let Event::MessageReleased { source, out_seq, value, .. } = *here.event else { return };
        self.sources.entry(source).or_default().released += i128::from(value);
        let Some(kept) = self.kept.get(&(source, out_seq)) else { return };
        if kept.value != value {
            out.accuse(source, &[Some(kept.at), Some(here.at)], || {
                format!("message {source}:{out_seq} of {value} brought {}", kept.value)
            });
        }
    }

    fn step(&mut self, grown: &Grown<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Grown { entity, step, held_before } = *grown;
        let flow = step.flow.as_deref().copied().unwrap_or_default();
        let has_flow = step.flow.is_some();
        if has_flow && held_before.is_none() {
            // Its life before these journals is not in them.
            self.held += i128::from(flow.before);
            self.made += i128::from(flow.before);
        }
        let before = held_before.unwrap_or(flow.before);
        let after = if has_flow { flow.after } else { before };
        self.held += i128::from(after) - i128::from(before);
        self.send(entity, i128::from(flow.sent));
        self.close(entity, i128::from(flow.returned));
        self.made += i128::from(flow.minted);
        if grown.is_jump() {
            // What the steps that it stands for minted is not told.
            self.made += i128::from(imbalance(&flow));
        }
        let witness = self.take_messages(grown, &flow, cx, out);
        let open = self.sources.get(&entity).map_or(0, |outgoing| outgoing.open);
        if flow.returned != 0 && open < 0 && !cx.is_blind() {
            out.accuse(entity, &[Some(step.at)], || {
                format!("{} came back that another entity kept, or that was never sent", -open)
            });
        }
        if has_flow || witness.len() > 1 {
            self.balance(entity, &witness, cx, out);
        }
    }

    /// Closes the messages that a step kept. Returns what shows it.
    fn take_messages(
        &mut self,
        grown: &Grown<'_>,
        flow: &ValueFlow,
        cx: &Cx<'_>,
        out: &mut Findings,
    ) -> Vec<Option<At>> {
        let step: &Accepted = grown.step;
        let mut witness = vec![Some(step.at)];
        let (mut taken, mut unknown) = (Vec::new(), false);
        for effect in &step.effects {
            let What::Message { source, out_seq, kept: true, .. } = effect.what else { continue };
            match cx.state.released.get(&(source, out_seq)) {
                Some(released) if released.value != 0 => {
                    witness.extend([Some(released.at), Some(effect.at)]);
                    if self.keep((source, out_seq), effect.at, released.value, out) {
                        taken.push((source, out_seq));
                    }
                }
                Some(_) => {}
                None => unknown = true,
            }
        }
        if unknown {
            // Where it left is out of sight; what came is believed.
            self.made += i128::from(flow.received);
            for (source, out_seq) in &taken {
                let value = self.kept.get(&(*source, *out_seq)).map_or(0, |kept| kept.value);
                self.made -= i128::from(value);
            }
        }
        if !taken.is_empty() {
            self.steps.entry(grown.entity).or_default().push((step.seq, taken));
        }
        witness
    }

    fn cut_step(&mut self, entity: EntityId, step: &Accepted) {
        if let Some(flow) = step.flow.as_deref() {
            self.held -= i128::from(flow.after) - i128::from(flow.before);
            self.send(entity, -i128::from(flow.sent));
            self.close(entity, -i128::from(flow.returned));
            self.made -= i128::from(flow.minted);
        }
        let Some(steps) = self.steps.get_mut(&entity) else { return };
        let Some((_, taken)) = steps.pop_if(|(seq, _)| *seq == step.seq) else { return };
        taken.into_iter().for_each(|message| self.give_back(message));
    }

    fn give_back(&mut self, message: Message) {
        if let Some(kept) = self.kept.remove(&message) {
            self.close(message.0, -i128::from(kept.value));
        }
    }

    /// At the end, what a source has open is what its open messages carry.
    fn judge_source(&self, source: EntityId, cx: &Cx<'_>, open: i128, out: &mut Findings) {
        let Some(outgoing) = self.sources.get(&source) else { return };
        let Some(line) = cx.state.lines.get(&source) else { return };
        let durable = |step: &Accepted| cx.state.durable_at(step.log, step.lsn).is_some();
        let last = line.steps.last();
        if last.is_some_and(|last| !durable(last)) {
            return;
        }
        let unreleased = outgoing.sent - outgoing.released;
        out.check(outgoing.open == open + unreleased, source, &[last.map(|last| last.at)], || {
            let has = outgoing.open - unreleased;
            format!("{has} of what it sent is open; its open messages carry {open}")
        });
    }
}

/// What a step's account does not explain.
pub fn imbalance(flow: &ValueFlow) -> i64 {
    let flow = *flow;
    let brought = [flow.received, flow.returned, flow.minted];
    let expected = brought.into_iter().fold(flow.before, i64::saturating_add);
    flow.after.saturating_sub(expected.saturating_sub(flow.sent))
}

impl Watch for ValueConserved {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Created, Kind::Destroyed, Kind::Burned, Kind::MessageReleased, Kind::MessageClosed]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match *here.event {
            Event::Created { .. } => self.born(here, cx, out),
            Event::Destroyed { entity, value, .. } => {
                let held = cx.state.lines.get(&entity).and_then(|line| line.held);
                self.ended(held.unwrap_or(value));
            }
            Event::Burned { .. } => self.burn(here, out),
            Event::MessageReleased { .. } => self.release(here, out),
            Event::MessageClosed { source, out_seq } => {
                self.burned.entry((source, out_seq)).or_insert(here.at);
            }
            _ => {}
        }
    }

    fn on_grown(&mut self, grown: &Grown<'_>, cx: &Cx<'_>, out: &mut Findings) {
        self.step(grown, cx, out);
    }

    fn on_cut(&mut self, cut: &Cut, _: &Cx<'_>, _: &mut Findings) {
        match &cut.what {
            CutWhat::Step(step) => self.cut_step(cut.entity, step),
            CutWhat::Owner(_) => {}
            CutWhat::Born(mark) => {
                self.held -= i128::from(mark.value);
                match mark.source {
                    Some(message) => self.give_back(message),
                    None => self.made -= i128::from(mark.value),
                }
            }
            CutWhat::Ended(mark) => {
                self.held += i128::from(mark.value);
                self.made += i128::from(mark.value);
            }
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        if cx.is_blind() || cx.goes_on_from_logs() {
            return;
        }
        let mut open: BTreeMap<EntityId, i128> = BTreeMap::new();
        for ((source, out_seq), released) in &cx.state.released {
            let message = (*source, *out_seq);
            let is_open = !self.kept.contains_key(&message) && !self.burned.contains_key(&message);
            let value = if is_open { released.value } else { 0 };
            *open.entry(*source).or_default() += i128::from(value);
        }
        for (source, open) in open {
            self.judge_source(source, cx, open, out);
        }
    }
}
