//! A cluster as it really ran, with everything that its cores were told: where examples come from,
//! and where hostile words meet cores that are in the middle of their work.

use bytes::Bytes;
use marchland_baseapp_core::io::BaseInput;
use marchland_cellapp_core::io::CellInput;
use marchland_common::journal::{PartedDigest, Record, TickRecord};
use marchland_common::msg::{Bundle, Frame, Msg};
use marchland_common::order::{EntityId, Epoch, Node, NodeKind};
use marchland_common::rng::Rng;
use marchland_fuzz::{Words, mutate_fields};
use marchland_proto::convert::{BadMessage, bundle_to_wire, read_bundle};
use marchland_sim::{Class, Faults, SimConfig, SimReport, run};
use prost::Message;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Seed of the recorded run.
pub const SEED: u64 = 11;

/// A run with handoffs, commands, messages, births, a killed cellapp and a killed baseapp.
pub fn record() -> SimReport {
    run(&SimConfig {
        wolves: 16,
        players: 6,
        ticks: 300,
        order_every: 6,
        keep_inputs: true,
        faults: Faults::of(&[Class::Cuts, Class::Clients, Class::CrashCell, Class::CrashBase]),
        ..SimConfig::of_seed(SEED)
    })
}

/// The output moments of a journal.
pub fn ticks(records: &[Record]) -> impl Iterator<Item = &TickRecord> {
    records.iter().filter_map(|record| match record {
        Record::Tick(tick) => Some(tick),
        _ => None,
    })
}

/// The inputs of a journal, each with the digest of the core after it.
pub fn inputs<T: DeserializeOwned>(records: &[Record]) -> Vec<(T, PartedDigest)> {
    let read =
        |tick: &TickRecord| (postcard::from_bytes(&tick.input).unwrap(), tick.digest.clone());
    ticks(records).map(read).collect()
}

/// The first life of a process, which began with nothing.
pub fn first_life(report: &SimReport, kind: NodeKind, number: u16) -> (Node, &[Record]) {
    let is_it = |node: &Node| (node.name.kind, node.name.number) == (kind, number);
    let (node, records) = report.journals.iter().find(|(node, _)| is_it(node)).unwrap();
    (*node, records)
}

/// Every bundle that a core of the run took in.
pub fn frames(report: &SimReport) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (node, records) in &report.journals {
        match node.name.kind {
            NodeKind::Cell => {
                frames.extend(inputs::<CellInput>(records).into_iter().flat_map(|(i, _)| i.frames));
            }
            NodeKind::Base => {
                frames.extend(inputs::<BaseInput>(records).into_iter().flat_map(|(i, _)| i.frames));
            }
            NodeKind::Manager | NodeKind::Client => {}
        }
    }
    frames
}

/// What the run speaks of: entities, their epochs, ticks, sessions, lives.
pub fn words(report: &SimReport, frames: &[Frame]) -> Words {
    let mut entities: Vec<u64> = Vec::new();
    let mut others: Vec<u64> = (1..5).map(|grant| Epoch::of_grant(grant).0).collect();
    for frame in frames.iter().step_by(97) {
        others.push(frame.bundle.src_tick.0);
        for msg in &frame.bundle.msgs {
            entities.extend(entity_of(msg).map(|entity| entity.0));
        }
    }
    entities.sort_unstable();
    entities.dedup();
    others.extend(report.journals.iter().map(|(node, _)| node.incarnation.0));
    let nodes = report.journals.iter().map(|(node, _)| *node);
    Words::default().with(entities).with(others).with_nodes(nodes)
}

fn entity_of(msg: &Msg) -> Option<EntityId> {
    use marchland_common::msg::{BaseToCell, CellToBase};
    match msg {
        Msg::BaseToCell(BaseToCell::Ack { entity, .. }) => Some(*entity),
        Msg::BaseToCell(BaseToCell::Command(command)) => Some(command.entity),
        Msg::CellToBase(CellToBase::Step(step)) => Some(step.entity),
        Msg::CellToBase(CellToBase::Prepare(prepare)) => Some(prepare.entity),
        _ => None,
    }
}

/// A bundle as the wire carries it.
pub fn encoded(bundle: Bundle) -> Vec<u8> {
    bundle_to_wire(bundle).encode_to_vec()
}

/// Reads a bundle as the link plane does.
pub fn read(bytes: &[u8]) -> Result<Bundle, BadMessage> {
    read_bundle(Bytes::copy_from_slice(bytes))
}

/// Damages a bundle until something of it still reads; keeps what makes a core listen to it, mostly.
pub fn hostile(rng: &mut Rng, bundle: &Bundle, other: &Bundle) -> Bundle {
    let (bytes, foreign) = (encoded(bundle.clone()), encoded(other.clone()));
    for _ in 0..8 {
        let Ok(mut read) = read(&mutate_fields(rng, &bytes, &foreign)) else { continue };
        if rng.chance(7, 8) {
            (read.n, read.src_tick) = (bundle.n, bundle.src_tick);
        }
        return read;
    }
    bundle.clone()
}

/// Counts what happened, by name: a hostile world that never gets anywhere proves nothing.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub fn add(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// A run that is as short as a run can be: for what reads whole journals many times.
pub fn record_little() -> SimReport {
    run(&SimConfig {
        wolves: 4,
        players: 2,
        ticks: 120,
        order_every: 10,
        faults: Faults::of(&[Class::Cuts, Class::Clients]),
        ..SimConfig::of_seed(SEED)
    })
}
