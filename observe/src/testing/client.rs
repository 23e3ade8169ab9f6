//! The clients of the model: one process with a few sessions.

use super::base::ToBase;
use super::{BASES, CLIENT, Cluster, entity_id};
use marchland_common::journal::Event;
use marchland_common::msg::Moment;
use marchland_common::order::{EntityId, Epoch, Seq, SessionId, Tick};
use marchland_common::world::CommandOutcome;
use std::collections::BTreeMap;

/// What a client hears.
#[derive(Clone, Debug)]
pub enum ToClient {
    Welcome { entity: EntityId, session: SessionId },
    Answer { entity: EntityId, session: SessionId, n: u64, outcome: CommandOutcome },
    Saw { entity: EntityId, epoch: Epoch, tick: Tick, seq: Seq },
}

#[derive(Default)]
pub struct ClientModel {
    pub input: Vec<ToClient>,
    sessions: BTreeMap<EntityId, (SessionId, u64)>,
}

impl Cluster {
    pub fn run_client(&mut self) {
        let mut events = Vec::new();
        if self.tick == Tick(4) {
            for base in 0..BASES {
                let entity = entity_id(base, 1);
                let session = SessionId(1 << 8 | base as u64);
                self.bases[base].input.push(ToBase::Login { entity, session });
            }
        }
        for input in std::mem::take(&mut self.client.input) {
            match input {
                ToClient::Welcome { entity, session } => {
                    self.client.sessions.insert(entity, (session, 0));
                    events.push(Event::ClientWelcome { session, entity, resumed: false });
                }
                ToClient::Answer { entity, session, n, outcome } => {
                    events.push(Event::ClientAnswered { session, entity, n, outcome });
                }
                ToClient::Saw { entity, epoch, tick, seq } => {
                    if let Some((session, _)) = self.client.sessions.get(&entity) {
                        let (session, confirmed) = (*session, Some(seq));
                        let fresh = false;
                        let saw =
                            Event::ClientSaw { session, entity, epoch, tick, fresh, confirmed };
                        events.push(saw);
                    }
                }
            }
        }
        if self.is_busy() {
            let sessions: Vec<EntityId> = self.client.sessions.keys().copied().collect();
            for entity in sessions {
                self.send_command(entity, &mut events);
            }
        }
        self.writer.write(CLIENT, self.tick, Moment::Flush, events);
    }

    fn send_command(&mut self, entity: EntityId, events: &mut Vec<Event>) {
        if !self.rng.chance(1, 3) {
            return;
        }
        let Some((session, n)) = self.client.sessions.get_mut(&entity) else { return };
        *n += 1;
        let (session, n) = (*session, *n);
        events.push(Event::ClientSent { session, entity, n });
        let base = self.base_of(entity);
        self.bases[base].input.push(ToBase::Command { entity, session, n });
    }
}
