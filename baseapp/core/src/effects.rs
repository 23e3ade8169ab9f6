//! What an accepted step frees once it is durable, and what it did to the conserved number.

use crate::core::BaseCore;
use crate::gate::StepEffects;
use crate::log::StepRecord;
use marchland_common::journal::ValueFlow;
use marchland_common::msg::StepBody;
use marchland_common::order::{EntityId, SessionId};
use marchland_common::world::{
    Change, CommandOutcome, EntityState, KindDef, Lasting, MessageOutcome, Scope, Value,
};

/// The effects of a step that leads from one state to another.
#[must_use]
pub fn of_step(
    step: &StepRecord,
    before: &EntityState,
    after: &EntityState,
    kind: Option<&KindDef>,
) -> StepEffects {
    let mut out = StepEffects {
        entity: step.entity,
        owner: step.owner,
        epoch: step.epoch,
        seq: step.seq,
        commands: Vec::new(),
        sent: Vec::new(),
        received: Vec::new(),
        answered: Vec::new(),
        own: Vec::new(),
        release: None,
        destroyed: after.destroyed,
    };
    match &step.body {
        StepBody::Delta(changes) => of_delta(changes, before, &mut out),
        StepBody::Snapshot(_) => of_snapshot(before, after, &mut out),
    }
    if let Some(kind) = kind {
        out.own = own_changes(&step.body, before, after, kind);
    }
    out
}

fn of_delta(changes: &[Change], before: &EntityState, out: &mut StepEffects) {
    for change in changes {
        match change {
            Change::Command(session, n, outcome) => {
                out.commands.push((*session, *n, outcome.clone()));
            }
            Change::Received(source, out_seq, outcome) => {
                out.received.push((*source, *out_seq, outcome.clone()));
            }
            Change::Sent(message) => out.sent.push(message.out_seq),
            Change::Answered(out_seq) => {
                if let Some(message) = before.outbox.open.get(out_seq) {
                    out.answered.push((*out_seq, message.to.clone()));
                }
            }
            _ => {}
        }
    }
}

/// A whole state stands for steps that were lost on the way: what they did is the difference.
fn of_snapshot(before: &EntityState, after: &EntityState, out: &mut StepEffects) {
    out.commands = new_commands(before, after);
    out.received = new_messages(before, after);
    out.sent = after.outbox.open.range(before.outbox.last + 1..).map(|(n, _)| *n).collect();
    out.answered = before
        .outbox
        .open
        .iter()
        .filter(|(n, _)| !after.outbox.open.contains_key(n))
        .map(|(n, message)| (*n, message.to.clone()))
        .collect();
}

fn new_commands(
    before: &EntityState,
    after: &EntityState,
) -> Vec<(SessionId, u64, CommandOutcome)> {
    let known = |session| {
        before.commands.rows().iter().find(|row| row.session == session).map_or(0, |row| row.high)
    };
    let rows = after.commands.rows().iter();
    rows.flat_map(|row| {
        let high = known(row.session);
        let new = row.answers.iter().filter(move |(n, _)| *n > high);
        new.map(|(n, outcome)| (row.session, *n, outcome.clone()))
    })
    .collect()
}

fn new_messages(before: &EntityState, after: &EntityState) -> Vec<(EntityId, u64, MessageOutcome)> {
    let known = |source| {
        before.inbox.rows().iter().find(|row| row.source == source).map_or(0, |row| row.high)
    };
    let rows = after.inbox.rows().iter();
    rows.flat_map(|row| {
        let high = known(row.source);
        let new = row.answers.iter().filter(move |(n, _)| *n > high);
        new.map(|(n, outcome)| (row.source, *n, outcome.clone()))
    })
    .collect()
}

/// Whether the client that plays an entity learns a property once it is confirmed.
const fn is_own(scope: Scope, lasting: Lasting) -> bool {
    matches!(scope, Scope::OwnClient | Scope::AllClients) && matches!(lasting, Lasting::Durable)
}

/// All durable properties that the own client may know.
#[must_use]
pub fn own_props(state: &EntityState, kind: &KindDef) -> Vec<(u8, Value)> {
    let all = kind.props.iter().zip(&state.props).enumerate();
    all.filter(|(_, (def, _))| is_own(def.scope, def.lasting))
        .map(|(index, (_, value))| (index as u8, value.clone()))
        .collect()
}

fn own_changes(
    body: &StepBody,
    before: &EntityState,
    after: &EntityState,
    kind: &KindDef,
) -> Vec<(u8, Value)> {
    if let StepBody::Delta(changes) = body
        && !changes.iter().any(|c| matches!(c, Change::Prop(..)))
    {
        return Vec::new();
    }
    let mut own = own_props(after, kind);
    own.retain(|(index, value)| before.props.get(usize::from(*index)) != Some(value));
    own
}

impl BaseCore {
    /// What a step does to the conserved number; none when it has nothing to do with it.
    ///
    /// What messages carried and how own ones ended is on the record before any owner acts on it.
    /// A whole state, which stands for lost steps, does not say what was minted in them: there it
    /// is what makes the step balance.
    pub(crate) fn flow(
        &self,
        step: &StepRecord,
        effects: &StepEffects,
        kind: &KindDef,
        after: &EntityState,
    ) -> Option<ValueFlow> {
        if !kind.props.iter().any(|p| p.conserved) {
            return None;
        }
        let before = &self.store.entities[&step.entity].state;
        let minted = minted(&step.body);
        let mut flow = ValueFlow {
            before: before.held_value(kind),
            after: after.held_value(kind),
            sent: sum(effects.sent.iter().map(|n| self.sent_value(step, after, *n))),
            received: self.received(step.entity, effects),
            returned: self.returned(step.entity, effects, before),
            minted: minted.unwrap_or_default(),
        };
        if minted.is_none() {
            let known = sum([flow.before, flow.received, flow.returned].into_iter());
            flow.minted = flow.after.saturating_add(flow.sent).saturating_sub(known);
        }
        let same = ValueFlow { before: flow.before, after: flow.before, ..ValueFlow::default() };
        (flow != same).then_some(flow)
    }

    fn sent_value(&self, step: &StepRecord, after: &EntityState, out_seq: u64) -> i64 {
        if let Some(message) = after.outbox.open.get(&out_seq) {
            return message.value;
        }
        // Sent and closed in one step, which no answer can be in time for; count it all the same.
        match &step.body {
            StepBody::Delta(changes) => sum(changes.iter().filter_map(|c| match c {
                Change::Sent(message) if message.out_seq == out_seq => Some(message.value),
                _ => None,
            })),
            StepBody::Snapshot(_) => 0,
        }
    }

    fn received(&self, entity: EntityId, effects: &StepEffects) -> i64 {
        let carried = &self.store.entities[&entity].carried;
        let kept = effects.received.iter().filter(|(_, _, outcome)| outcome.is_kept());
        sum(kept.filter_map(|(source, n, _)| carried.get(&(*source, *n)).copied()))
    }

    fn returned(&self, entity: EntityId, effects: &StepEffects, before: &EntityState) -> i64 {
        let back = effects.answered.iter().filter(|(out_seq, to)| {
            self.outcome_of(entity, *out_seq, to).is_some_and(|outcome| !outcome.is_kept())
        });
        sum(back.map(|(out_seq, _)| before.outbox.open.get(out_seq).map_or(0, |m| m.value)))
    }
}

/// What a step minted, as far as it says.
fn minted(body: &StepBody) -> Option<i64> {
    let StepBody::Delta(changes) = body else { return None };
    let minted = changes.iter().filter_map(|change| match change {
        Change::Minted(amount) => Some(*amount),
        _ => None,
    });
    Some(sum(minted))
}

fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}
