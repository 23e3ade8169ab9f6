//! What a base keeps of one entity durably: who owns it under which epoch, and the image, which is
//! the state after the newest step.
//!
//! ```text
//!              commit or restore                    first step
//!   reported ---------------------> granted (e+1) ------------> reported
//!      ^  steps of e                   |  deadline, verdict: granted (e+2), and so on
//!      +-----------+                   v
//! ```
//!
//! Invariants: epochs only grow; `seq` grows with every step and `digest` is that of the image;
//! while `prev` stands, the life that it names holds the frozen copy that the image came from and
//! is never told that it is fenced.

use crate::log::{BadRecord, Created, OwnerRecord, StepRecord};
use bytes::Bytes;
use marchland_common::journal::OwnerWhy;
use marchland_common::msg::{GrantWhy, HandoffRefusal, Origin, StepBody};
use marchland_common::order::{EntityId, Epoch, Node, Seq, Tick};
use marchland_common::world::{Change, EntityState, KindDef, MessageOutcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The owner before the present one, while it may hold a frozen copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prev {
    /// Which life.
    pub node: Node,
    /// The epoch of its copy.
    pub epoch: Epoch,
}

/// The durable part of one entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// The epoch that holds.
    pub epoch: Epoch,
    /// Who owns it.
    pub owner: Node,
    /// Why it was granted.
    pub why: GrantWhy,
    /// Whether the first step of the epoch was accepted.
    pub reported: bool,
    /// Who holds the frozen copy until then.
    pub prev: Option<Prev>,
    /// The last tick of the owner before, as it said.
    pub last_tick: Option<Tick>,
    /// The newest refused request of this epoch to hand over, by the last tick that its owner had
    /// simulated, and why: one that is not newer is the same.
    pub refused: Option<(Tick, HandoffRefusal)>,
    /// The newest step.
    pub seq: Seq,
    /// The digest after it.
    pub digest: u64,
    /// The state after it.
    pub state: EntityState,
    /// Which steps the open messages rest on, by number.
    pub origins: BTreeMap<u64, Origin>,
    /// How open messages that carry value ended, by number.
    pub outcomes: BTreeMap<u64, MessageOutcome>,
    /// What messages that it has not taken carry, by source and number.
    pub carried: BTreeMap<(EntityId, u64), i64>,
    /// The account that plays it.
    pub account: Option<String>,
    /// What the behaviour is told at birth, until an owner reported.
    pub argument: Bytes,
}

impl Lineage {
    /// A new entity.
    #[must_use]
    pub fn born(created: &Created, kind: &KindDef) -> Self {
        Self {
            epoch: Epoch::of_grant(1),
            owner: created.owner,
            why: GrantWhy::Birth,
            reported: false,
            prev: None,
            last_tick: None,
            refused: None,
            seq: Seq(0),
            digest: created.state.durable_digest(kind),
            state: created.state.clone(),
            origins: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            carried: BTreeMap::new(),
            account: created.account.clone(),
            argument: created.argument.clone(),
        }
    }

    /// The state that a step's body makes of the image.
    ///
    /// # Errors
    /// [`BadRecord`] when a change does not fit or a whole state is not one of this kind.
    pub fn after(&self, body: &StepBody, kind: &KindDef) -> Result<EntityState, BadRecord> {
        match body {
            StepBody::Snapshot(state) => {
                let same = state.kind == kind.id
                    && state.props.len() == kind.props.len()
                    && kind.props.iter().zip(&state.props).all(|(def, value)| {
                        std::mem::discriminant(&def.default) == std::mem::discriminant(value)
                    });
                if same { Ok((**state).clone()) } else { Err(BadRecord::AnotherKind) }
            }
            StepBody::Delta(changes) => {
                let mut state = self.state.clone();
                for change in changes {
                    state.apply(change)?;
                }
                Ok(state)
            }
        }
    }

    /// Takes a step in. `state` is what [`Lineage::after`] said.
    pub fn take_step(&mut self, step: &StepRecord, state: EntityState) {
        self.state = state;
        self.note_step(step);
        if touches_outbox(&step.body) {
            self.note_origins(step);
        }
        if !self.carried.is_empty() {
            let rows = self.state.inbox.rows();
            self.carried.retain(|(source, out_seq), _| {
                !rows.iter().any(|row| row.source == *source && row.high >= *out_seq)
            });
        }
    }

    /// Takes in a step that changed nothing durable, without a copy of the state.
    pub fn take_move(&mut self, step: &StepRecord, changes: &[Change]) {
        for change in changes {
            if let Change::Moved(place, rng) = change {
                (self.state.place, self.state.rng) = (*place, *rng);
            }
        }
        self.note_step(step);
    }

    fn note_step(&mut self, step: &StepRecord) {
        self.state.time = step.time;
        self.seq = step.seq;
        self.digest = step.digest;
        self.prev = None;
        if !self.reported {
            self.reported = true;
            self.argument = Bytes::new();
        }
    }

    fn note_origins(&mut self, step: &StepRecord) {
        let open = &self.state.outbox.open;
        self.origins.retain(|out_seq, _| open.contains_key(out_seq));
        self.outcomes.retain(|out_seq, _| open.contains_key(out_seq));
        for (out_seq, message) in open {
            self.origins.entry(*out_seq).or_insert(Origin {
                authority: step.owner,
                epoch: step.epoch,
                seq: step.seq,
                tick: message.sent,
            });
        }
    }

    /// Takes in a change of ownership.
    pub fn take_owner(&mut self, record: &OwnerRecord) {
        self.epoch = record.epoch;
        self.owner = record.owner;
        self.why = match record.why {
            OwnerWhy::Birth => GrantWhy::Birth,
            OwnerWhy::Handoff(_) => GrantWhy::Handoff,
            // An entity that no owner ever reported for is still to be born.
            OwnerWhy::GrantDeadline | OwnerWhy::Verdict if self.seq == Seq(0) => GrantWhy::Birth,
            OwnerWhy::GrantDeadline | OwnerWhy::Verdict => GrantWhy::Restore,
        };
        self.reported = false;
        self.prev = record.prev;
        self.last_tick = record.last_tick;
        self.refused = None;
        self.state.time = record.time;
    }

    /// Whether `node` under `epoch` is the life whose frozen copy is the fallback.
    #[must_use]
    pub fn is_fallback(&self, node: Node, epoch: Epoch) -> bool {
        self.prev == Some(Prev { node, epoch })
    }

    /// The newest number up to which all messages to a receiver are closed, if some are open.
    #[must_use]
    pub fn lowest_open_to(&self, receiver: EntityId) -> Option<u64> {
        self.open_to(receiver).next()
    }

    /// The open messages to a receiver, rising.
    pub fn open_to(&self, receiver: EntityId) -> impl DoubleEndedIterator<Item = u64> {
        use marchland_common::world::Address;
        self.state
            .outbox
            .open
            .iter()
            .filter(move |(_, m)| m.to == Address::Entity(receiver))
            .map(|(out_seq, _)| *out_seq)
    }
}

/// Whether a body changes nothing durable: only where the entity is.
#[must_use]
pub fn only_moves(changes: &[Change]) -> bool {
    changes.iter().all(|c| matches!(c, Change::Moved(..)))
}

fn touches_outbox(body: &StepBody) -> bool {
    match body {
        StepBody::Snapshot(_) => true,
        StepBody::Delta(changes) => {
            changes.iter().any(|c| matches!(c, Change::Sent(_) | Change::Answered(_)))
        }
    }
}
