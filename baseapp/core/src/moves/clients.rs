//! What clients say about a frozen slot waits here: after the move they say it again to the next
//! keeper, and if it is called off it is taken in as if nothing had been.

use crate::clients::account_slot;
use crate::core::BaseCore;
use crate::io::{ClientEvent, ClientFrame, ToClient};
use marchland_common::journal::Refused;
use marchland_common::order::{SessionId, SlotId};
use std::collections::VecDeque;

/// Words that wait, over all frozen slots; a client whose word does not fit comes back later.
const HELD_MAX: usize = 4_096;

/// Words of clients that wait.
pub(crate) type HeldClients = VecDeque<ClientEvent>;

impl BaseCore {
    /// Takes in what clients said, what waited first.
    pub(crate) fn take_clients(&mut self, said: Vec<ClientEvent>) {
        let held = std::mem::take(&mut self.held_clients);
        for event in held.into_iter().chain(said) {
            if self.store.leaving.contains_key(&slot_of(&event)) {
                self.hold_client(event);
            } else {
                self.on_client(event);
            }
        }
    }

    fn hold_client(&mut self, event: ClientEvent) {
        if self.held_clients.len() < HELD_MAX {
            return self.held_clients.push_back(event);
        }
        self.refusals.add(Refused::QueueFull, None, None);
        match session_of(&event) {
            Some(session) => self.end_stream(session, "draining"),
            None => self.put_off(&event),
        }
    }

    /// The slot of these words is another base's.
    pub(crate) fn refuse_held_clients(&mut self, slot: SlotId) {
        let held = std::mem::take(&mut self.held_clients);
        let (over, held) = held.into_iter().partition(|event| slot_of(event) == slot);
        self.held_clients = held;
        let over: HeldClients = over;
        over.iter().for_each(|event| self.put_off(event));
    }

    /// Who asks for a stream is told to come again; who has one is told where.
    fn put_off(&mut self, event: &ClientEvent) {
        if let ClientEvent::Login { request, .. } | ClientEvent::Resume { request, .. } = event {
            self.refuse_for_now(*request, "the slot is on its way to another baseapp");
        }
    }

    /// Refuses a stream that may be opened a little later, here or elsewhere.
    pub(crate) fn refuse_for_now(&mut self, request: u64, reason: &str) {
        let what = ClientFrame::NotYet { request, reason: reason.to_owned() };
        self.tell_client(ToClient { session: SessionId(0), what });
    }
}

fn session_of(event: &ClientEvent) -> Option<SessionId> {
    match event {
        ClientEvent::Login { .. } | ClientEvent::Resume { .. } => None,
        ClientEvent::Gone { session }
        | ClientEvent::Logout { session }
        | ClientEvent::Command { session, .. }
        | ClientEvent::Input { session, .. }
        | ClientEvent::Acknowledge { session, .. } => Some(*session),
    }
}

fn slot_of(event: &ClientEvent) -> SlotId {
    match event {
        ClientEvent::Login { account, .. } => account_slot(account),
        ClientEvent::Resume { session, .. }
        | ClientEvent::Gone { session }
        | ClientEvent::Logout { session }
        | ClientEvent::Command { session, .. }
        | ClientEvent::Input { session, .. }
        | ClientEvent::Acknowledge { session, .. } => session.slot(),
    }
}
