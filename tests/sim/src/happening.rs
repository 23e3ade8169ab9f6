//! What happens when: one queue of happenings, ordered by time and then by when they were planned.

use crate::links::Parcel;
use marchland_baseapp_core::io::{ClientEvent, ToClient};
use marchland_cellapp_core::io::Completion;
use marchland_common::link::{Ack, Connection, Frame, Resume};
use marchland_common::msg::Outgoing;
use marchland_common::order::{Lsn, NodeName};
use std::collections::BTreeMap;

/// A direction between two processes.
pub(crate) type Way = (NodeName, NodeName);

/// One thing that happens.
pub(crate) enum Happening {
    /// A process looks at its clock.
    Wake(NodeName),
    /// A baseapp may send what became durable.
    Release(NodeName),
    /// A process's bundles leave it.
    Send(NodeName, Vec<Outgoing>),
    /// A frame arrives over a connection (by the receiver's name of it).
    Arrive(Way, Connection, Frame<Parcel>),
    /// Credit arrives over a connection (by the sender's name of it).
    Credit(Way, Connection, Ack),
    /// A connection breaks.
    Cut(Way),
    /// A connection is made.
    Connect(Way),
    /// Both ends said where they are: the sender learns where the receiver is.
    Greeted(Way, Resume, Resume),
    /// A disk finished.
    Synced(NodeName, Lsn),
    /// A process hears that the store changed.
    Notice(NodeName),
    /// Asynchronous work is done.
    Worked(NodeName, Completion),
    /// A player acts.
    Act(usize),
    /// Something that a client said reaches its baseapp.
    Said(NodeName, ClientEvent),
    /// Something that a baseapp said reaches a client.
    Told(NodeName, ToClient),
    /// A client's stream breaks.
    Hangup(usize),
    /// A client comes back.
    Return(usize),
    /// An operator orders a handoff.
    Order,
    /// Cells change their owners.
    Relayout,
    /// A process stands still for this long.
    Stall(NodeName, u64),
    /// A disk stands still for this long.
    DiskStall(NodeName, u64),
}

/// The queue. Time is in microseconds.
#[derive(Default)]
pub(crate) struct Agenda {
    queue: BTreeMap<(u64, u64), Happening>,
    planned: u64,
    pub(crate) now: u64,
}

impl Agenda {
    pub(crate) fn at(&mut self, time: u64, what: Happening) {
        self.planned += 1;
        self.queue.insert((time.max(self.now), self.planned), what);
    }

    pub(crate) fn after(&mut self, delay: u64, what: Happening) {
        self.at(self.now + delay, what);
    }

    pub(crate) fn next(&mut self) -> Option<Happening> {
        let ((time, _), what) = self.queue.pop_first()?;
        self.now = time;
        Some(what)
    }
}
