//! The bundle: its header, and its messages packed where they repeat.

use super::common::{BadMessage, narrow, need, pack, unpack};
use super::count::{self, BUNDLE_MSGS_MAX};
use super::{base_base, base_cell, cell_base, cell_cell};
use crate::link as wire;
use crate::link::item::What;
use bytes::Bytes;
use marchland_common::msg::{BaseToCell, Bundle, CellToBase, Header, Moment, Msg, Step};
use marchland_common::order::{EntityId, Epoch, Seq, Tick};
use prost::Message;
use prost::encoding::{self, DecodeContext, WireType};

/// Most bytes of memory that reading a bundle takes for each of its bytes. Of what takes the most,
/// changes and messages, a bundle holds so many and no more: [`count`].
pub const BUNDLE_MEMORY: u64 = 200;

/// The number of the field of a bundle that holds its items.
const ITEMS: u32 = 8;

/// The wire's form of a bundle.
#[must_use]
pub fn bundle_to_wire(bundle: Bundle) -> wire::Bundle {
    let moment = match bundle.moment {
        Moment::Flush => 0,
        Moment::Release(n) => n.into(),
    };
    wire::Bundle {
        n: bundle.n,
        src_tick: bundle.src_tick.0,
        moment,
        phase_us: bundle.phase_us,
        header: Some(header_to_wire(bundle.header)),
        items: items_to_wire(bundle.msgs),
    }
}

/// Reads the bytes of a bundle. Takes at most [`BUNDLE_MEMORY`] bytes of memory for each of them.
///
/// # Errors
/// [`BadMessage`] when any part of it does not decode, or it holds too much; nothing of it may be
/// used then.
pub fn read_bundle(bytes: Bytes) -> Result<Bundle, BadMessage> {
    check_items(&bytes)?;
    let decoded = wire::Bundle::decode(bytes).map_err(|_| BadMessage::Packed("bundle"))?;
    bundle_from_wire(decoded)
}

/// Whether there are not too many items, and none without a byte, as far as the bytes are those of a
/// bundle: each would take the room of the largest.
fn check_items(mut bytes: &[u8]) -> Result<(), BadMessage> {
    let mut items = 0;
    while let Ok((field, wire_type)) = encoding::decode_key(&mut bytes) {
        if field == ITEMS && wire_type == WireType::LengthDelimited {
            items += 1;
            if bytes.first() == Some(&0) {
                return Err(BadMessage::Missing("item"));
            }
            if items > BUNDLE_MSGS_MAX {
                return Err(BadMessage::TooMany("messages"));
            }
        }
        if encoding::skip_field(wire_type, field, &mut bytes, DecodeContext::default()).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads a bundle.
///
/// # Errors
/// [`BadMessage`] when any part of it does not decode; nothing of it may be used then.
pub fn bundle_from_wire(bundle: wire::Bundle) -> Result<Bundle, BadMessage> {
    let moment = match bundle.moment {
        0 => Moment::Flush,
        n if n <= u32::from(Moment::RELEASES_MAX) => Moment::Release(narrow(n, "moment")?),
        _ => return Err(BadMessage::Range("moment")),
    };
    count::check(&bundle.items)?;
    let mut msgs = Vec::with_capacity(bundle.items.len());
    for item in bundle.items {
        item_from_wire(need(item.what, "item")?, &mut msgs)?;
    }
    Ok(Bundle {
        n: bundle.n,
        src_tick: Tick(bundle.src_tick),
        moment,
        phase_us: bundle.phase_us,
        header: header_from_wire(need(bundle.header, "header")?)?,
        msgs,
    })
}

fn header_to_wire(header: Header) -> wire::bundle::Header {
    match header {
        Header::CellToBase { steps, accepting, schema } => {
            wire::bundle::Header::CellToBase(wire::CellToBaseHeader { steps, accepting, schema })
        }
        Header::BaseToCell { durable_tick } => {
            let durable_tick = durable_tick.map(|t| t.0);
            wire::bundle::Header::BaseToCell(wire::BaseToCellHeader { durable_tick })
        }
        Header::Peer => wire::bundle::Header::Peer(wire::PeerHeader {}),
    }
}

fn header_from_wire(header: wire::bundle::Header) -> Result<Header, BadMessage> {
    Ok(match header {
        wire::bundle::Header::CellToBase(h) => {
            Header::CellToBase { steps: h.steps, accepting: h.accepting, schema: h.schema }
        }
        wire::bundle::Header::BaseToCell(h) => {
            Header::BaseToCell { durable_tick: h.durable_tick.map(Tick) }
        }
        wire::bundle::Header::Peer(_) => Header::Peer,
    })
}

/// One acknowledgement, as it travels packed.
type PackedAck = (EntityId, Epoch, Seq);

/// Consecutive steps, and consecutive acknowledgements, become one item.
#[derive(Default)]
struct Packer {
    items: Vec<wire::Item>,
    steps: Vec<Step>,
    acks: Vec<PackedAck>,
}

impl Packer {
    fn push(&mut self, what: What) {
        self.items.push(wire::Item { what: Some(what) });
    }

    fn end_run(&mut self) {
        if !self.steps.is_empty() {
            let steps = std::mem::take(&mut self.steps);
            self.push(What::Steps(pack(&steps)));
        }
        if !self.acks.is_empty() {
            let acks = std::mem::take(&mut self.acks);
            self.push(What::Acks(pack(&acks)));
        }
    }

    fn take(&mut self, msg: Msg) {
        match msg {
            Msg::CellToBase(CellToBase::Step(step)) => {
                if !self.acks.is_empty() {
                    self.end_run();
                }
                self.steps.push(step);
                return;
            }
            Msg::BaseToCell(BaseToCell::Ack { entity, epoch, seq }) => {
                if !self.steps.is_empty() {
                    self.end_run();
                }
                self.acks.push((entity, epoch, seq));
                return;
            }
            _ => self.end_run(),
        }
        match msg {
            Msg::CellToBase(msg) => self.push(cell_base::to_wire(msg)),
            Msg::BaseToCell(msg) => self.push(base_cell::to_wire(msg)),
            Msg::CellToCell(msg) => self.push(cell_cell::to_wire(msg)),
            Msg::BaseToBase(msg) => self.push(base_base::to_wire(msg)),
        }
    }
}

fn items_to_wire(msgs: Vec<Msg>) -> Vec<wire::Item> {
    let mut packer = Packer::default();
    for msg in msgs {
        packer.take(msg);
    }
    packer.end_run();
    packer.items
}

fn item_from_wire(what: What, out: &mut Vec<Msg>) -> Result<(), BadMessage> {
    match what {
        What::Steps(bytes) => {
            let steps: Vec<Step> = unpack(&bytes, "steps")?;
            out.extend(steps.into_iter().map(|s| Msg::CellToBase(CellToBase::Step(s))));
        }
        What::Acks(bytes) => {
            let acks: Vec<PackedAck> = unpack(&bytes, "acks")?;
            out.extend(acks.into_iter().map(|(entity, epoch, seq)| {
                Msg::BaseToCell(BaseToCell::Ack { entity, epoch, seq })
            }));
        }
        what @ (What::Prepare(_)
        | What::OrderRefused(_)
        | What::View(_)
        | What::GrantStale(_)
        | What::Holding(_)
        | What::Notice(_)
        | What::Listed(_)
        | What::SlotsClosed(_)) => out.push(Msg::CellToBase(cell_base::from_wire(what)?)),
        what @ (What::Offload(_)
        | What::GhostCreate(_)
        | What::GhostDeltas(_)
        | What::GhostAdopt(_)
        | What::GhostRemove(_)
        | What::GhostDisown(_)
        | What::GhostNeedSnapshot(_)
        | What::Signal(_)) => out.push(Msg::CellToCell(cell_cell::from_wire(what)?)),
        what @ (What::Deliver(_)
        | What::Delivered(_)
        | What::Settled(_)
        | What::SlotChunk(_)
        | What::SlotGot(_)
        | What::SlotHeld(_)) => {
            out.push(Msg::BaseToBase(base_base::from_wire(what)?));
        }
        what => out.push(Msg::BaseToCell(base_cell::from_wire(what)?)),
    }
    Ok(())
}
