//! What happens when: one queue of happenings, ordered by time and then by when they were planned.

use crate::incident::Incident;
use crate::links::Parcel;
use marchland_baseapp_core::io::{BaseOrder, ClientEvent, ToClient};
use marchland_cellapp_core::io::Completion;
use marchland_common::link::{Ack, Connection, Frame, Resume};
use marchland_common::msg::Outgoing;
use marchland_common::order::{Lsn, Node, NodeName};
use std::collections::BTreeMap;

/// A direction between two lives.
pub(crate) type Way = (Node, Node);

/// What leaves a process.
pub(crate) enum Outward {
    Bundles(Vec<Outgoing>),
    Told(ToClient),
}

/// One thing that happens.
pub(crate) enum Happening {
    /// A process looks at its clock.
    Wake(Node),
    /// A baseapp may send what became durable.
    Release(Node),
    /// Something leaves a process.
    Leave(Node, Outward),
    /// A process tries to connect to another, to send to it.
    Dial(Way),
    /// The attempt with this number is greeted by the receiver.
    Hello(Way, u64, Resume),
    /// The welcome of the attempt with this number reaches the sender.
    Welcome(Way, u64, Resume),
    /// A frame arrives over a connection (by the receiver's name of it).
    Arrive(Way, Connection, Frame<Parcel>),
    /// Credit arrives over a connection (by the sender's name of it).
    Credit(Way, Connection, Ack),
    /// The connection of a line ends.
    Fin(Way),
    /// Keep-alives between two processes had no answer for long enough, if it is still so.
    Lapse(NodeName, NodeName),
    /// A disk finished.
    Synced(Node, Lsn),
    /// A process looks what its watch of the store says.
    Watch(Node),
    /// A process lists the whole store, as it does now and then.
    List(Node),
    /// A process renews its lease.
    Renew(Node),
    /// A process starts.
    Start(NodeName),
    /// A process ends because it heard that its life is over.
    Over(Node),
    /// The manager looks around.
    Manage,
    /// Asynchronous work is done.
    Worked(Node, Completion),
    /// A player acts.
    Act(usize),
    /// Something that a client said reaches its baseapp.
    Said(Node, ClientEvent),
    /// Something that a baseapp said reaches a client.
    Told(Node, ToClient),
    /// A client's stream breaks.
    Hangup(usize),
    /// The stream of a client to a life that is over breaks.
    Broken(usize, Node),
    /// A client comes back.
    Return(usize),
    /// An operator orders a handoff.
    Order,
    /// A fault begins or ends.
    Incident(Incident),
    /// What a baseapp is asked for by the manager, or by an operator, reaches it.
    Ordered(Node, BaseOrder),
    /// A baseapp that drained serves again.
    Serve(NodeName),
    /// Every fault ends.
    Heal,
    /// Everything must have come right.
    Settled,
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
