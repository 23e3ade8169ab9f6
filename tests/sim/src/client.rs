//! A simulated player: it logs in, gives commands, loses its stream and comes back.

use marchland_baseapp_core::account_slot;
use marchland_baseapp_core::io::{ClientEvent, ClientFrame, ToClient};
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Node, NodeName, SessionId, SlotId, Tick};
use marchland_common::rng::Rng;
use marchland_frontier_core::{AVATAR, Method, encode, home_of, kinds};
use std::collections::BTreeMap;

/// How far players see, in millimetres.
const RADIUS: i32 = 40_000;
/// An acknowledgement goes out by itself after this many answers without a command.
const ACKNOWLEDGE_EVERY: u64 = 16;

/// Where a player's stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    None,
    /// It has said hello to this life, with this number.
    Asked(Node, u64),
    Open(Node),
}

pub(crate) struct Player {
    pub(crate) account: String,
    pub(crate) base: NodeName,
    rng: Rng,
    pub(crate) session: Option<SessionId>,
    pub(crate) entity: EntityId,
    secret: u64,
    pub(crate) stream: Stream,
    last_n: u64,
    open: BTreeMap<u64, ClientEvent>,
    told: u64,
    pub(crate) answered: u64,
    /// When the last thing said reaches the baseapp: nothing overtakes.
    pub(crate) busy: u64,
    request: u64,
    /// The newest tick that its view spoke of.
    tick: Tick,
}

/// What became of a frame.
pub(crate) enum Heard {
    /// It says this at once.
    Says(Vec<ClientEvent>),
    /// It has no stream any more, for this reason, and tries again.
    Refused(String),
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
            stream: Stream::None,
            last_n: 0,
            open: BTreeMap::new(),
            told: 0,
            answered: 0,
            busy: 0,
            request: number as u64,
            tick: Tick(0),
        }
    }

    /// The player that a hello with this number is of.
    pub(crate) const fn of_request(request: u64) -> usize {
        (request % 1_000) as usize
    }

    /// Whose keeper it belongs to.
    pub(crate) fn slot(&self) -> SlotId {
        self.session.map_or_else(|| account_slot(&self.account), SessionId::slot)
    }

    /// What it says first to a life of its baseapp.
    pub(crate) fn hello(&mut self, to: Node) -> ClientEvent {
        self.request += 1_000;
        self.stream = Stream::Asked(to, self.request);
        let (request, radius) = (self.request, RADIUS);
        match self.session {
            None => {
                let account = self.account.clone();
                let place = home_of(&account);
                ClientEvent::Login { request, account, kind: AVATAR, place, radius }
            }
            Some(session) => {
                let (secret, acknowledged) = (self.secret, self.acknowledged());
                ClientEvent::Resume { request, session, secret, acknowledged, radius }
            }
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.open.is_empty()
    }

    /// Its stream breaks. Returns what its gateway says about that.
    pub(crate) fn hangup(&mut self) -> Option<(Node, ClientEvent)> {
        let Stream::Open(node) = self.stream else { return None };
        let session = self.session?;
        self.stream = Stream::None;
        Some((node, ClientEvent::Gone { session }))
    }

    fn acknowledged(&self) -> u64 {
        self.open.keys().next().map_or(self.last_n, |first| first - 1)
    }

    /// What it does next: an input, and often a command.
    pub(crate) fn act(&mut self, others: &[EntityId], events: &mut Vec<Event>) -> Vec<ClientEvent> {
        let (Some(session), Stream::Open(_)) = (self.session, self.stream) else {
            return Vec::new();
        };
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
            self.told = self.acknowledged();
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

    /// Whether a frame of a life belongs to the stream that it has.
    pub(crate) fn listens(&self, from: Node, told: &ToClient) -> bool {
        match &told.what {
            ClientFrame::Welcome { request, .. }
            | ClientFrame::NotYet { request, .. }
            | ClientFrame::Refused { request, .. } => self.stream == Stream::Asked(from, *request),
            _ => self.stream == Stream::Open(from) && self.session == Some(told.session),
        }
    }

    /// Takes in what its baseapp says.
    pub(crate) fn hear(&mut self, from: Node, told: ToClient, events: &mut Vec<Event>) -> Heard {
        let (session, entity) = (told.session, self.entity);
        let mut saw = |epoch, tick, fresh, confirmed| {
            events.push(Event::ClientSaw { session, entity, epoch, tick, fresh, confirmed });
        };
        match told.what {
            ClientFrame::Welcome { entity, secret, resumed, last_n, .. } => {
                (self.session, self.entity, self.secret) = (Some(session), entity, secret);
                self.stream = Stream::Open(from);
                events.push(Event::ClientWelcome { session, entity, resumed });
                let again = self.open.range(last_n + 1..).map(|(_, c)| c.clone());
                return Heard::Says(again.collect());
            }
            ClientFrame::Answer { n, outcome, .. } => {
                if self.open.remove(&n).is_some() {
                    self.answered += 1;
                    events.push(Event::ClientAnswered { session, entity, n, outcome });
                    return Heard::Says(self.acknowledge(session));
                }
            }
            ClientFrame::View { epoch, tick, fresh, .. } => {
                self.tick = tick;
                saw(epoch, tick, fresh, None);
            }
            ClientFrame::Own { epoch, seq, .. } => saw(epoch, self.tick, false, Some(seq)),
            ClientFrame::Refused { reason, .. } | ClientFrame::NotYet { reason, .. } => {
                self.stream = Stream::None;
                return Heard::Refused(reason);
            }
            ClientFrame::Moved => {
                self.stream = Stream::None;
                return Heard::Refused("moved".to_owned());
            }
            ClientFrame::Ended { .. } => self.stream = Stream::None,
            ClientFrame::Reset { .. } | ClientFrame::Notice(_) => {}
        }
        Heard::Says(Vec::new())
    }

    /// A command behind one that the base refused by itself waits for this word.
    fn acknowledge(&mut self, session: SessionId) -> Vec<ClientEvent> {
        let n = self.acknowledged();
        let due = n > self.told && !self.open.is_empty() || n >= self.told + ACKNOWLEDGE_EVERY;
        if !due {
            return Vec::new();
        }
        self.told = n;
        vec![ClientEvent::Acknowledge { session, n }]
    }
}

/// The account of a player.
pub(crate) fn account(number: usize) -> String {
    format!("player-{number}")
}
