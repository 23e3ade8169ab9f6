//! Arbitrary messages: every variant of every direction.

use super::values::{
    bytes, entity, epoch, message_outcome, node, origin, place, raw, refusal, seq, session, state,
    step, tick, value, why,
};
use marchland_common::msg::{
    BaseToBase, BaseToCell, CellToBase, CellToCell, Command, GhostCreate, Grant, GrantWhy,
    HandoffOrder, InboxMessage, Msg, Offload, Prepare, Seen, Signal, SlotChunk, View, WitnessState,
};
use marchland_common::order::{KindId, SignalWindow, SlotId, Term, Tick};
use proptest::prelude::*;

pub fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        cell_to_base().prop_map(Msg::CellToBase),
        base_to_cell().prop_map(Msg::BaseToCell),
        cell_to_cell().prop_map(Msg::CellToCell),
        base_to_base().prop_map(Msg::BaseToBase),
    ]
}

fn cell_to_base() -> impl Strategy<Value = CellToBase> {
    prop_oneof![
        4 => step().prop_map(CellToBase::Step),
        1 => prepare().prop_map(CellToBase::Prepare),
        1 => (any::<u64>(), entity(), refusal()).prop_map(|(order, entity, reason)| {
            CellToBase::OrderRefused { order, entity, reason }
        }),
        1 => view().prop_map(CellToBase::View),
        1 => (entity(), epoch(), epoch()).prop_map(|(entity, epoch, known)| {
            CellToBase::GrantStale { entity, epoch, known }
        }),
        1 => (entity(), epoch(), seq(), any::<u64>()).prop_map(|(entity, epoch, seq, digest)| {
            CellToBase::Holding { entity, epoch, seq, digest }
        }),
        1 => (entity(), bytes()).prop_map(|(entity, payload)| {
            CellToBase::Notice { entity, payload }
        }),
        1 => any::<u64>().prop_map(|question| CellToBase::Listed { question }),
        1 => slots().prop_map(CellToBase::SlotsClosed),
    ]
}

fn slots() -> impl Strategy<Value = Vec<(SlotId, Term)>> {
    let slot = (any::<u8>(), any::<u64>()).prop_map(|(slot, term)| (SlotId(slot), Term(term)));
    proptest::collection::vec(slot, 0..4)
}

fn prepare() -> impl Strategy<Value = Prepare> {
    (entity(), epoch(), seq(), any::<u64>(), node(), why(), tick(), any::<u64>()).prop_map(
        |(entity, epoch, seq, digest, target, why, last_tick, layout_version)| Prepare {
            entity,
            epoch,
            seq,
            digest,
            target,
            why,
            last_tick,
            layout_version,
        },
    )
}

fn view() -> impl Strategy<Value = View> {
    (entity(), session(), epoch(), tick(), any::<bool>(), bytes()).prop_map(
        |(entity, session, epoch, tick, fresh, body)| View {
            entity,
            session,
            epoch,
            tick,
            fresh,
            body,
        },
    )
}

fn base_to_cell() -> impl Strategy<Value = BaseToCell> {
    let entity_epoch = || (entity(), epoch());
    prop_oneof![
        4 => (entity(), epoch(), seq()).prop_map(|(entity, epoch, seq)| {
            BaseToCell::Ack { entity, epoch, seq }
        }),
        1 => grant().prop_map(BaseToCell::Grant),
        1 => (entity(), epoch(), seq(), refusal()).prop_map(|(entity, epoch, seq, reason)| {
            BaseToCell::Abort { entity, epoch, seq, reason }
        }),
        1 => entity_epoch().prop_map(|(entity, epoch)| BaseToCell::Release { entity, epoch }),
        1 => (entity(), epoch(), epoch()).prop_map(|(entity, epoch, current)| {
            BaseToCell::Fenced { entity, epoch, current }
        }),
        1 => (entity(), epoch(), seq()).prop_map(|(entity, epoch, seq)| {
            BaseToCell::NeedSnapshot { entity, epoch, seq }
        }),
        2 => for_clients(),
        1 => inbox().prop_map(BaseToCell::Inbox),
        1 => (entity(), any::<u64>(), message_outcome()).prop_map(|(entity, out_seq, outcome)| {
            BaseToCell::Answer { entity, out_seq, outcome }
        }),
        1 => (entity(), entity(), any::<u64>()).prop_map(|(entity, source, through)| {
            BaseToCell::Settled { entity, source, through }
        }),
        1 => order().prop_map(BaseToCell::Order),
        1 => any::<u64>().prop_map(|question| BaseToCell::Resync { question }),
        1 => entity().prop_map(|entity| BaseToCell::Destroy { entity }),
        1 => slots().prop_map(BaseToCell::CloseSlots),
        1 => slots().prop_map(BaseToCell::OpenSlots),
    ]
}

fn for_clients() -> impl Strategy<Value = BaseToCell> {
    prop_oneof![
        command().prop_map(BaseToCell::Command),
        (entity(), session(), bytes()).prop_map(|(entity, session, payload)| {
            BaseToCell::Input { entity, session, payload }
        }),
        (entity(), session(), any::<i32>()).prop_map(|(entity, session, radius)| {
            BaseToCell::Attach { entity, session, radius }
        }),
        (entity(), session()).prop_map(|(entity, session)| BaseToCell::Detach { entity, session }),
    ]
}

fn grant() -> impl Strategy<Value = Grant> {
    let grant_why =
        proptest::sample::select(vec![GrantWhy::Birth, GrantWhy::Handoff, GrantWhy::Restore]);
    let sessions = proptest::collection::vec((session(), any::<i32>()), 0..3);
    let head = (entity(), epoch(), node(), seq(), any::<u64>());
    (head, grant_why, state(), sessions, bytes()).prop_map(
        |((entity, epoch, to, seq, digest), why, state, sessions, argument)| Grant {
            entity,
            epoch,
            to,
            seq,
            digest,
            why,
            state: Box::new(state),
            sessions,
            argument,
            last_tick: None,
        },
    )
}

fn command() -> impl Strategy<Value = Command> {
    (entity(), session(), any::<u64>(), any::<u8>(), bytes(), tick(), any::<u64>()).prop_map(
        |(entity, session, n, method, args, deadline, acknowledged)| Command {
            entity,
            session,
            n,
            method,
            args,
            deadline,
            acknowledged,
        },
    )
}

fn inbox() -> impl Strategy<Value = InboxMessage> {
    (entity(), entity(), any::<u64>(), bytes(), any::<i64>(), origin(), any::<u64>()).prop_map(
        |(entity, source, out_seq, payload, value, origin, settled)| InboxMessage {
            entity,
            source,
            out_seq,
            payload,
            value,
            origin,
            settled,
        },
    )
}

fn order() -> impl Strategy<Value = HandoffOrder> {
    (any::<u64>(), entity(), node(), any::<u32>(), tick()).prop_map(
        |(order, entity, to, hold, deadline)| HandoffOrder { order, entity, to, hold, deadline },
    )
}

fn cell_to_cell() -> impl Strategy<Value = CellToCell> {
    prop_oneof![
        offload().prop_map(|o| CellToCell::Offload(Box::new(o))),
        ghost().prop_map(CellToCell::GhostCreate),
        bytes().prop_map(CellToCell::GhostDeltas),
        (entity(), epoch(), seq(), any::<u64>(), any::<u32>()).prop_map(
            |(entity, epoch, seq, digest, index)| CellToCell::GhostAdopt {
                entity,
                epoch,
                seq,
                digest,
                index
            }
        ),
        (entity(), epoch(), any::<bool>()).prop_map(|(entity, epoch, destroyed)| {
            CellToCell::GhostRemove { entity, epoch, destroyed }
        }),
        (entity(), epoch(), any::<u32>()).prop_map(|(entity, epoch, index)| {
            CellToCell::GhostDisown { entity, epoch, index }
        }),
        (entity(), epoch())
            .prop_map(|(entity, epoch)| { CellToCell::GhostNeedSnapshot { entity, epoch } }),
        signal().prop_map(CellToCell::Signal),
    ]
}

fn signal() -> impl Strategy<Value = Signal> {
    (entity(), entity(), epoch(), any::<u32>(), any::<u64>(), any::<u8>(), bytes()).prop_map(
        |(to, source, epoch, run, n, hops, payload)| Signal {
            to,
            source,
            epoch,
            run,
            n,
            hops,
            payload,
        },
    )
}

fn witness() -> impl Strategy<Value = WitnessState> {
    let seen = (entity(), epoch(), seq(), any::<u32>())
        .prop_map(|(entity, epoch, seq, owed)| Seen { entity, epoch, seq, owed });
    (session(), any::<i32>(), proptest::collection::vec(seen, 0..4))
        .prop_map(|(session, radius, seen)| WitnessState { session, radius, seen })
}

fn offload() -> impl Strategy<Value = Offload> {
    let head = (entity(), epoch(), seq(), any::<u64>(), state());
    let ghosts = (seq(), epoch(), proptest::collection::vec(node(), 0..3));
    let witnesses = proptest::collection::vec(witness(), 0..3);
    let heard = proptest::collection::vec(signal(), 0..4);
    (head, ghosts, witnesses, heard, raw()).prop_map(
        |((entity, epoch, seq, digest, state), ghosts, witnesses, heard, scratch)| Offload {
            entity,
            epoch,
            seq,
            digest,
            state,
            ghost_seq: ghosts.0,
            ghost_since: ghosts.1,
            hosts: ghosts.2,
            witnesses,
            signals: window_of(heard),
            scratch,
        },
    )
}

fn window_of(heard: Vec<Signal>) -> SignalWindow<Signal> {
    let mut window = SignalWindow::default();
    for signal in heard {
        let (source, epoch, n) = (signal.source, signal.epoch, signal.n % 64);
        window.accept(source, epoch, n, signal, Tick(7));
    }
    window
}

fn ghost() -> impl Strategy<Value = GhostCreate> {
    let head = (entity(), epoch(), seq(), any::<u32>(), any::<u16>(), place());
    let props = proptest::collection::vec((any::<u8>(), value()), 0..4);
    (head, props, any::<u64>(), epoch()).prop_map(
        |((entity, epoch, seq, index, kind, place), props, digest, since)| GhostCreate {
            entity,
            epoch,
            seq,
            index,
            kind: KindId(kind),
            place,
            props,
            digest,
            since,
        },
    )
}

fn base_to_base() -> impl Strategy<Value = BaseToBase> {
    let deliver = (
        (entity(), entity(), any::<u64>(), bytes(), any::<i64>()),
        (origin(), any::<u64>(), any::<u64>()),
    );
    prop_oneof![
        deliver.prop_map(|((to, source, out_seq, payload, value), (origin, settled, after))| {
            BaseToBase::Deliver { to, source, out_seq, payload, value, origin, settled, after }
        }),
        (entity(), any::<u64>(), entity(), message_outcome()).prop_map(
            |(source, out_seq, to, outcome)| BaseToBase::Delivered { source, out_seq, to, outcome }
        ),
        (entity(), entity(), any::<u64>())
            .prop_map(|(source, to, through)| { BaseToBase::Settled { source, to, through } }),
        chunk().prop_map(BaseToBase::SlotChunk),
        (any::<u8>(), any::<u64>(), any::<u32>()).prop_map(|(slot, term, next)| {
            BaseToBase::SlotGot { slot: SlotId(slot), term: Term(term), next }
        }),
        (any::<u8>(), any::<u64>(), any::<u64>()).prop_map(|(slot, term, digest)| {
            BaseToBase::SlotHeld { slot: SlotId(slot), term: Term(term), digest }
        }),
    ]
}

fn chunk() -> impl Strategy<Value = SlotChunk> {
    let numbers = (any::<u8>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u64>());
    (numbers, bytes()).prop_map(|((slot, term, index, count, digest), body)| SlotChunk {
        slot: SlotId(slot),
        term: Term(term),
        index,
        count,
        digest,
        body,
    })
}
