//! A simulated player: it logs in, gives commands, loses its stream and comes back.

use marchland_baseapp_core::io::{ClientEvent, ClientFrame, ToClient};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, NodeName, SessionId, Tick};
use marchland_common::rng::Rng;
use marchland_frontier_core::{AVATAR, Method, encode, home_of, kinds};
use std::collections::BTreeMap;

/// How far players see, in millimetres.
const RADIUS: i32 = 40_000;

pub(crate) struct Player {
    pub(crate) account: String,
    pub(crate) base: NodeName,
    rng: Rng,
    pub(crate) session: Option<SessionId>,
    pub(crate) entity: EntityId,
    secret: u64,
    pub(crate) streaming: bool,
    last_n: u64,
    open: BTreeMap<u64, ClientEvent>,
    pub(crate) answered: u64,
    /// When the last thing said reaches the baseapp: nothing overtakes.
    pub(crate) busy: u64,
    pub(crate) hangups: u64,
    request: u64,
    /// The newest tick that its view spoke of.
    tick: Tick,
}

impl Player {
    pub(crate) fn new(number: usize, seed: u64, base: NodeName) -> Self {
        Self {
            account: account(number),
            base,
            rng: Rng::child(seed, 0x706c_6179_0000 + number as u64),
            session: None,
            entity: EntityId(0),
            secret: 0,
            streaming: false,
            last_n: 0,
            open: BTreeMap::new(),
            answered: 0,
            busy: 0,
            hangups: 0,
            request: number as u64,
            tick: Tick(0),
        }
    }

    pub(crate) fn login(&self) -> ClientEvent {
        ClientEvent::Login {
            request: self.request,
            account: self.account.clone(),
            kind: AVATAR,
            place: home_of(&self.account),
            radius: RADIUS,
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn hangup(&mut self) -> Option<ClientEvent> {
        let session = self.session.filter(|_| self.streaming)?;
        self.streaming = false;
        self.hangups += 1;
        Some(ClientEvent::Gone { session })
    }

    pub(crate) fn come_back(&mut self) -> Option<ClientEvent> {
        let session = self.session.filter(|_| !self.streaming)?;
        self.request += 1_000;
        Some(ClientEvent::Resume {
            request: self.request,
            session,
            secret: self.secret,
            acknowledged: self.acknowledged(),
            radius: RADIUS,
        })
    }

    fn acknowledged(&self) -> u64 {
        self.open.keys().next().map_or(self.last_n, |first| first - 1)
    }

    /// What it does next: an input, and often a command.
    pub(crate) fn act(&mut self, others: &[EntityId], events: &mut Vec<Event>) -> Vec<ClientEvent> {
        let Some(session) = self.session.filter(|_| self.streaming) else { return Vec::new() };
        let mut said = Vec::new();
        if self.rng.chance(1, 3) {
            let sector = self.rng.below(17) as u8;
            said.push(ClientEvent::Input { session, payload: encode(&sector).into() });
        }
        if let Some(method) = self.deed(others).filter(|_| self.open.len() < 40) {
            self.last_n += 1;
            let index = kinds().get(AVATAR).and_then(|k| k.method(method.name()));
            let command = ClientEvent::Command {
                session,
                n: self.last_n,
                entity: self.entity,
                method: index.unwrap_or(u8::MAX),
                args: method.args().into(),
                ttl: if self.rng.chance(1, 10) { 3 } else { 0 },
                acknowledged: self.acknowledged(),
            };
            let (entity, n) = (self.entity, self.last_n);
            events.push(Event::ClientSent { session, entity, n });
            self.open.insert(self.last_n, command.clone());
            said.push(command);
        }
        said
    }

    fn deed(&mut self, others: &[EntityId]) -> Option<Method> {
        let somebody = |rng: &mut Rng| {
            (!others.is_empty()).then(|| others[rng.below(others.len() as u64) as usize])
        };
        Some(match self.rng.below(10) {
            0..4 => Method::Attack(somebody(&mut self.rng)?),
            4..7 => {
                let friend = somebody(&mut self.rng)?;
                Method::Give(friend, self.rng.between(1, 20) as u32)
            }
            7 => Method::Heal,
            8 => match self.rng.below(3) {
                0 => Method::Portal,
                1 => Method::Say(b"hail".to_vec()),
                _ => Method::Write(vec![7; self.rng.below(40) as usize]),
            },
            _ => Method::Scout,
        })
    }

    /// Takes in what its baseapp says. Returns what it has to say at once.
    pub(crate) fn hear(&mut self, told: ToClient, events: &mut Vec<Event>) -> Vec<ClientEvent> {
        let (session, entity) = (told.session, self.entity);
        match told.what {
            ClientFrame::Welcome { entity, secret, resumed, last_n, .. } => {
                (self.session, self.entity, self.secret) = (Some(session), entity, secret);
                self.streaming = true;
                events.push(Event::ClientWelcome { session, entity, resumed });
                return self.open.range(last_n + 1..).map(|(_, c)| c.clone()).collect();
            }
            ClientFrame::Answer { n, outcome, .. } => {
                if self.open.remove(&n).is_some() {
                    self.answered += 1;
                    events.push(Event::ClientAnswered { session, entity, n, outcome });
                }
            }
            ClientFrame::View { epoch, tick, fresh, .. } => {
                self.tick = tick;
                events.push(Event::ClientSaw {
                    session,
                    entity,
                    epoch,
                    tick,
                    fresh,
                    confirmed: None,
                });
            }
            ClientFrame::Own { epoch, seq, .. } => {
                let (tick, confirmed) = (self.tick, Some(seq));
                events.push(Event::ClientSaw {
                    session,
                    entity,
                    epoch,
                    tick,
                    fresh: false,
                    confirmed,
                });
            }
            ClientFrame::Refused { reason, .. } => {
                unreachable!("no login or resume of a run is refused: {reason}")
            }
            ClientFrame::Ended { .. } | ClientFrame::Moved | ClientFrame::NotYet { .. } => {
                self.streaming = false;
            }
            ClientFrame::Reset { .. } | ClientFrame::Notice(_) => {}
        }
        Vec::new()
    }
}

/// The account of a player.
pub(crate) fn account(number: usize) -> String {
    format!("player-{number}")
}
