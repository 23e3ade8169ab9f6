//! The Script phase: every real that is awake or that something waits for, in the order of ids.

use super::turn::{Disposition, Turn, take_turn};
use crate::behaviour::SignalCtx;
use crate::cell::Cell;
use crate::io::CellBug;
use crate::signals;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Signal};
use marchland_common::order::{EntityId, SESSIONS_MAX, SessionId};
use marchland_common::world::Change;
use std::collections::VecDeque;

/// Runs the behaviours.
pub fn run(cell: &mut Cell) {
    let mut ids = cell.reals.awake().to_vec();
    if cell.has_bug(CellBug::NoFreeze) {
        ids.extend(cell.reals.frozen());
    }
    let waited_for = cell.reals.waited_for();
    if !waited_for.is_empty() {
        ids.extend(waited_for);
        ids.sort_unstable();
        ids.dedup();
    }
    for entity in ids {
        if let Some(is_idle) = take_turn(cell, entity, run_one) {
            cell.out.stats.behaviours += 1;
            if is_idle {
                cell.reals.attended(entity);
            }
        }
    }
}

/// One real's turn. Returns whether nothing waits for it any more.
fn run_one(turn: &mut Turn<'_>) -> bool {
    if let Some(argument) = turn.real.birth.take() {
        turn.call(|behaviour, me, _| behaviour.born(me, &argument));
    }
    for session in std::mem::take(&mut turn.real.sessions_due) {
        turn.attach(session);
    }
    take_queue(turn);
    while let Some((token, payload)) = turn.real.completed.pop_front() {
        if turn.is_over() {
            turn.refuse(Refused::CompletionLost);
        } else {
            turn.call(|behaviour, me, _| behaviour.completed(me, token, &payload));
        }
    }
    while let Some(signal) = turn.real.signals.pop_front() {
        hear(turn, &signal);
    }
    if let Some((session, payload)) = turn.real.input.take() {
        let rows = turn.real.state.commands.rows();
        if !rows.iter().any(|row| row.session == session) {
            turn.refuse(Refused::UnknownSession);
        } else if !turn.is_over() {
            turn.call(|behaviour, me, _| behaviour.input(me, &payload));
        }
    }
    if turn.real.awake && !turn.is_over() {
        turn.call(|behaviour, me, sight| behaviour.tick(me, sight));
    }
    !turn.real.has_work()
}

/// A signal of another entity. It may change what does not last, and nothing else.
fn hear(turn: &mut Turn<'_>, signal: &Signal) {
    let (to, source) = (turn.real.id, signal.source);
    if turn.is_over() {
        turn.refuse(Refused::SignalLost);
        return;
    }
    let behaviour = turn.behaviour;
    behaviour.signal(&mut SignalCtx::new(turn.me()), source, &signal.payload);
    let n = signals::number(signal);
    turn.events.push(Event::SignalRun { to, source, epoch: signal.epoch, n });
}

impl Turn<'_> {
    /// Makes a session the newest of the entity. One that makes room for it sees nothing more.
    fn attach(&mut self, session: SessionId) {
        let rows = self.real.state.commands.rows();
        if rows.last().is_some_and(|row| row.session == session) {
            return;
        }
        let is_known = rows.iter().any(|row| row.session == session);
        let oldest = rows.first().filter(|_| rows.len() >= SESSIONS_MAX && !is_known);
        if let Some(oldest) = oldest.map(|row| row.session) {
            self.watches.push((self.real.id, oldest, None));
        }
        self.me().record(Change::Attach(session));
    }
}

/// Takes what waits, in its order; what must be held stays, in its order.
fn take_queue(turn: &mut Turn<'_>) {
    let mut held = VecDeque::new();
    let mut blocked = Vec::new();
    while let Some(msg) = turn.real.queue.pop_front() {
        let kept = if turn.is_over() {
            turn.refuse(Refused::NotHere);
            Disposition::Done
        } else {
            take_one(turn, &msg, &mut blocked)
        };
        if kept == Disposition::Hold {
            held.push_back(msg);
        }
    }
    turn.real.queue = held;
}

fn take_one(turn: &mut Turn<'_>, msg: &BaseToCell, blocked: &mut Vec<EntityId>) -> Disposition {
    match msg {
        BaseToCell::Command(command) => return turn.command(command),
        BaseToCell::Inbox(message) => return turn.message(message, blocked),
        BaseToCell::Answer { out_seq, outcome, .. } => return turn.answer(*out_seq, outcome),
        BaseToCell::Settled { source, through, .. } => turn.settled(*source, *through, true),
        BaseToCell::Attach { session, radius, .. } => {
            turn.attach(*session);
            turn.watches.push((turn.real.id, *session, Some(*radius)));
        }
        BaseToCell::Detach { session, .. } => {
            turn.watches.push((turn.real.id, *session, None));
            let rows = turn.real.state.commands.rows();
            match rows.iter().any(|row| row.session == *session) {
                true => turn.me().record(Change::Detach(*session)),
                false => turn.refuse(Refused::UnknownSession),
            }
        }
        BaseToCell::Destroy { .. } => turn.me().destroy(),
        BaseToCell::Ack { .. }
        | BaseToCell::Grant(_)
        | BaseToCell::Abort { .. }
        | BaseToCell::Release { .. }
        | BaseToCell::Fenced { .. }
        | BaseToCell::NeedSnapshot { .. }
        | BaseToCell::Input { .. }
        | BaseToCell::Order(_)
        | BaseToCell::CloseSlots(_)
        | BaseToCell::OpenSlots(_)
        | BaseToCell::Resync { .. } => {}
    }
    Disposition::Done
}
