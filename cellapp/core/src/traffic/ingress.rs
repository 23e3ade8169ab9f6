//! The Network phase: what came in for this tick, in a fixed order, and what may run in it.

use super::dispatch;
use super::peers::{Heard, Unheard};
use crate::around;
use crate::cell::Cell;
use crate::io::{CellBug, CellOrder};
use crate::ownership::{closed, handoff};
use marchland_common::cluster::MapChange;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{Frame, Header};
use marchland_common::order::{Node, NodeKind, SlotId};
use marchland_common::world::{CellRect, Rect};

/// Takes in what the coordination store says, and what follows from it.
pub fn follow_map(cell: &mut Cell) {
    if let Some(dropped) = cell.input.dropped.take() {
        cell.event(Event::TicksDropped(dropped));
    }
    let changes = std::mem::take(&mut cell.input.map);
    if changes.is_empty() {
        return;
    }
    let gone = around::bridge(&changes);
    for change in changes {
        let is_layout = matches!(change, MapChange::Layout(_));
        if !is_sound(&change) {
            cell.refusals.add(Refused::Malformed, None, None);
            continue;
        }
        if let MapChange::Slots(slots) = &change {
            closed::follow_keys(cell, slots);
        }
        if !cell.map.apply(change) && is_layout {
            cell.refusals.add(Refused::StaleLayout, None, None);
        }
    }
    if cell.map.is_dead(cell.config.node) {
        handoff::end_of_life(cell);
    }
    follow_peers(cell);
    around::follow_map(cell, &gone);
    let changed = cell.territory.follow(&cell.map, cell.config.node);
    if !changed.is_empty() {
        let ids = cell.reals.ids_where(|real| changed.contains(&real.state.place.space));
        cell.borders.look_at(ids);
    }
}

/// Who is there, and who is no more.
fn follow_peers(cell: &mut Cell) {
    for (node, lost) in cell.peers.follow(&cell.map, cell.tick) {
        cell.refusals.add_many(Refused::PeerGone, Some(node), None, lost);
        around::forget(cell, node);
    }
    follow_bases(cell);
}

/// Whether distances in a layout can be computed.
fn is_sound(change: &MapChange) -> bool {
    let MapChange::Layout(layout) = change else { return true };
    let Rect { min, max } = layout.bounds;
    let has_inside = min.x < max.x && min.y < max.y;
    let is_cut_inside = |cell: &CellRect| {
        let Rect { min, max } = cell.rect;
        min.x < max.x && min.y < max.y
    };
    has_inside && min.is_in_range() && max.is_in_range() && layout.cells().iter().all(is_cut_inside)
}

/// Finds the newest life of each base, and moves the entities of slots that changed hands.
pub fn follow_bases(cell: &mut Cell) {
    let lives: Vec<Node> = cell.peers.of_kind(NodeKind::Base).collect();
    for life in &lives {
        cell.bases.add(*life);
    }
    for slot in (0..=u8::MAX).map(SlotId) {
        let owner = cell.map.slot(slot);
        let keeper = owner.and_then(|owner| cell.peers.newest(owner.base));
        let keeper = owner.zip(keeper).filter(|(owner, keeper)| cell.closed.lets(*owner, *keeper));
        let keeper = keeper.map(|(_, keeper)| keeper);
        let before = cell.bases.keeper(slot);
        if keeper != before {
            move_slot(cell, slot, keeper);
            if keeper.and_then(|base| cell.bases.link(base)).is_some_and(|link| link.told) {
                cell.closed.join(slot);
            }
        }
    }
    let over: Vec<Node> =
        cell.bases.links().map(|link| link.base).filter(|base| !lives.contains(base)).collect();
    for base in over {
        let link = cell.bases.drop_link(base);
        if let Some(durable) = link.filter(|link| link.open).map(|link| link.durable) {
            cell.event(Event::WindowClosed { base, durable });
        }
    }
}

/// From now on the entities of a slot answer to another base life.
pub fn move_slot(cell: &mut Cell, slot: SlotId, keeper: Option<Node>) {
    let ids = cell.reals.ids_where(|real| real.id.slot() == slot);
    let step_us = cell.config.step_us;
    for id in &ids {
        let steps = cell.bases.steps_of(*id);
        crate::effects::timers::unlist(cell, *id);
        if let Some(real) = cell.reals.get_mut(*id) {
            real.settle(steps, step_us);
        }
    }
    cell.bases.assign(slot, keeper);
    cell.event(Event::SlotFollowed { slot, base: keeper });
    for id in ids {
        let steps = cell.bases.steps_of(id);
        if let Some(real) = cell.reals.get_mut(id) {
            real.mark = steps;
        }
        crate::effects::timers::list(cell, id);
        cell.reals.touch(id);
    }
}

/// Carries out what the process around the core decided.
pub fn take_orders(cell: &mut Cell) {
    for order in std::mem::take(&mut cell.input.orders) {
        match order {
            CellOrder::Drain => cell.drain.begin(cell.reals.len()),
            CellOrder::Freeze => cell.halted = true,
            CellOrder::Thaw => cell.halted = false,
            CellOrder::Accept(accepting) => cell.accepting = accepting,
            CellOrder::LinkReset(peer) => reset(cell, peer),
        }
    }
}

/// What was under way between this process and a peer was lost.
fn reset(cell: &mut Cell, peer: Node) {
    match cell.bases.link_mut(peer) {
        Some(link) => link.resync = true,
        None => around::reset(cell, peer),
    }
}

/// Reads the bundles, by sender and number.
pub fn take_bundles(cell: &mut Cell) {
    let mut frames = std::mem::take(&mut cell.input.frames);
    frames.sort_by_key(|frame| (frame.from, frame.bundle.n));
    for frame in frames {
        if is_heard(cell, &frame) {
            read(cell, frame);
        }
    }
}

fn is_heard(cell: &mut Cell, frame: &Frame) -> bool {
    let from = frame.from;
    let known = cell.peers.knows(from);
    let heard = match cell.map.is_dead(from) {
        true => Err(Unheard::Stale),
        false => cell.peers.hear(from, frame.bundle.n, cell.tick),
    };
    if heard == Ok(Heard::AfterGap) {
        reset(cell, from);
    }
    let refused = match heard {
        Ok(Heard::Next) => None,
        Ok(Heard::AfterGap) | Err(Unheard::Repeated) => Some(Refused::BundleGap),
        Err(Unheard::Stale) => Some(Refused::StaleIncarnation),
        Err(Unheard::Unwelcome) => Some(Refused::WrongDirection),
    };
    if let Some(reason) = refused {
        cell.refusals.add(reason, Some(from), None);
    }
    if heard.is_ok() && !known {
        // A new life is at work before the registry told: what its predecessor kept is its own.
        follow_peers(cell);
    }
    heard.is_ok()
}

fn read(cell: &mut Cell, frame: Frame) {
    let from = frame.from;
    if from.name.kind == NodeKind::Cell {
        around::hear(cell, from);
    }
    match frame.bundle.header {
        Header::BaseToCell { durable_tick } if from.name.kind == NodeKind::Base => {
            cell.bases.note_durable(from, durable_tick);
        }
        Header::Peer if from.name.kind == NodeKind::Cell => {}
        Header::BaseToCell { .. } | Header::CellToBase { .. } | Header::Peer => {
            cell.refusals.add(Refused::WrongDirection, Some(from), None);
        }
    }
    for msg in frame.bundle.msgs {
        dispatch::take(cell, from, msg);
    }
}

/// Posts finished asynchronous work to whoever asked for it.
pub fn take_completions(cell: &mut Cell) {
    for done in std::mem::take(&mut cell.input.completions) {
        let Some(real) = cell.reals.get_mut(done.entity) else {
            cell.refusals.add(Refused::CompletionLost, None, Some(done.entity));
            continue;
        };
        if real.completed.len() >= crate::effects::queue::QUEUE_MAX {
            cell.refusals.add(Refused::QueueFull, None, Some(done.entity));
            continue;
        }
        real.completed.push_back((done.token, done.payload));
        cell.reals.wait_for(done.entity);
    }
}

/// Decides whose entities run in this tick.
pub fn open_windows(cell: &mut Cell) {
    let window = match cell.has_bug(CellBug::NoWindow) {
        true => u64::MAX,
        false => cell.config.window,
    };
    let peers = &cell.peers;
    let held_back = |base| peers.held_back(base);
    for change in cell.bases.open_windows(cell.tick, window, cell.halted, held_back) {
        let base = change.base;
        cell.event(match change.open {
            true => Event::WindowOpened { base },
            false => Event::WindowClosed { base, durable: change.durable },
        });
    }
}
