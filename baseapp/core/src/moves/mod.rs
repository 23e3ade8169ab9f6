//! Slots on their way from one base to another.
//!
//! ```text
//!  keeper                        cellapps              next keeper              the slot's key
//!    |  CloseSlots ---------------->|                       |
//!    |  <-- last steps, SlotsClosed-|  entities stand still |
//!    |  SlotFrozen on the record    |                       |
//!    |  SlotChunk --------------------------------------->  |  on the record, not served
//!    |  <------------------------------------- SlotHeld --- |
//!    |  held -> the manager ---------------------------------------> {next keeper}: COMMIT
//!    |  SlotGiven                   |                       |  SlotTaken: served from here on
//!    |                              |<------- OpenSlots --- |
//! ```
//!
//! The slot's key is the one commit point, of a move and of its being called off: whoever froze a
//! slot serves it again only under a higher term of its own, however long that takes, and whoever
//! holds an image of it uses that only under a term of its own. No clock decides.
//!
//! A slot whose keeper is lost goes the same way: the keeper is a log then, which nobody writes to any
//! more, the pieces come out of it, and whoever reads it says what is held.
//!
//! Invariants: nothing about a frozen slot is written, so its image stays what it is, also across
//! a restart; a cellapp that has not said that the slot's entities stand still gets no further
//! with the window of this base.

mod adopt;
mod clients;
mod give;
mod keep;
mod take;

pub(crate) use adopt::Adoption;
pub(crate) use clients::HeldClients;

use crate::log::Image;
use marchland_common::order::{Lsn, Node, NodeName, SlotId, Term};
use serde::{Deserialize, Serialize};

/// A slot that is being given away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Give {
    /// Its term.
    pub term: Term,
    /// Who is to keep it.
    pub to: NodeName,
    /// The record that froze it, once no cellapp runs its entities any more.
    pub frozen: Option<Lsn>,
    /// The first piece that the next keeper does not have.
    pub next: u32,
    /// The first piece that was not sent.
    pub unsent: u32,
    /// When a piece was sent last.
    pub sent: u64,
    /// The life of the next keeper that has it all, durably. Another life may have come back
    /// without its log.
    pub held: Option<Node>,
    /// What is sent. The frozen slot gives it again after a restart.
    #[serde(skip)]
    pub image: Option<Image>,
}

impl Give {
    /// A slot whose entities still run.
    pub const fn begin(term: Term, to: NodeName) -> Self {
        let (frozen, image) = (None, None);
        Self { term, to, frozen, next: 0, unsent: 0, sent: 0, held: None, image }
    }

    /// A slot that an earlier life of this base froze.
    pub fn recovered(term: Term, to: NodeName) -> Self {
        Self { frozen: Some(Lsn(0)), ..Self::begin(term, to) }
    }

    /// Another life of the next keeper than the one that had it all is there: it gets everything
    /// from the first piece on. If it kept its log, it says at once that it has it.
    pub fn send_anew(&mut self) {
        (self.held, self.next, self.unsent) = (None, 0, 0);
    }
}

/// How far a cellapp is with letting a slot's entities stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The term under which that was asked.
    pub term: Term,
    /// When it was asked last.
    pub asked: u64,
    /// Whether it said so.
    pub done: bool,
}

/// Slots with the terms under which something is said of them.
pub(crate) type Terms = Vec<(SlotId, Term)>;
