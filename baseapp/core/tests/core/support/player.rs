//! A client that plays by the rules: it comes back, repeats what is not answered, and checks what
//! it is told.

use super::*;
use marchland_baseapp_core::account_slot;

/// A client that numbers its commands, repeats what is not answered, and believes nothing twice.
pub struct Player {
    pub number: u64,
    pub account: String,
    pub base: usize,
    pub session: Option<(SessionId, u64, EntityId)>,
    /// Whether it believes to have a stream.
    pub open: bool,
    pub read: usize,
    request: u64,
    pub next_n: u64,
    pub sent: u64,
    pub acked: u64,
    pub answers: BTreeMap<u64, CommandOutcome>,
    pub ended: u32,
}

impl Player {
    pub fn new(n: usize, base: usize) -> Self {
        let fits = |account: &String| usize::from(account_slot(account).0) % 2 == base;
        let account = (0..).map(|k| format!("client-{n}-{k}")).find(fits).unwrap();
        Self {
            number: n as u64 + 1,
            account,
            base,
            session: None,
            open: false,
            read: 0,
            request: 0,
            next_n: 1,
            sent: 0,
            acked: 0,
            answers: BTreeMap::new(),
            ended: 0,
        }
    }

    pub fn slot(&self) -> SlotId {
        account_slot(&self.account)
    }

    /// Without a stream it asks whoever keeps its slot.
    pub fn go_to(&mut self, base: usize, cluster: &Cluster) {
        if base != self.base {
            (self.base, self.read) = (base, cluster.bases[base].clients.len());
        }
    }

    pub fn hear(&mut self, base: &Base) {
        for frame in &base.clients[self.read.min(base.clients.len())..] {
            let mine = self.session.is_some_and(|(session, ..)| session == frame.session);
            match &frame.what {
                ClientFrame::Welcome { request, entity, secret, resumed, last_n }
                    if *request == self.request =>
                {
                    if !*resumed {
                        (self.next_n, self.acked) = (1, 0);
                        self.answers.clear();
                    }
                    self.session = Some((frame.session, *secret, *entity));
                    self.sent = *last_n;
                    self.open = true;
                }
                ClientFrame::Refused { request, .. } if *request == self.request => {
                    self.session = None;
                }
                ClientFrame::Answer { n, outcome, .. } if mine => {
                    let first = self.answers.entry(*n).or_insert_with(|| outcome.clone());
                    assert_eq!(first, outcome, "one answer to command {n}");
                    while self.answers.contains_key(&(self.acked + 1)) {
                        self.acked += 1;
                    }
                }
                ClientFrame::Moved if mine => self.open = false,
                ClientFrame::Ended { reason } if mine && reason != "replaced" => {
                    self.ended += u32::from(reason == "destroyed");
                    (self.session, self.open) = (None, false);
                }
                _ => {}
            }
        }
        self.read = base.clients.len();
    }

    pub fn act(&mut self, base: &mut Base, tick: u64, rng: &mut Rng, busy: bool) {
        if !self.open && (tick.is_multiple_of(7) || self.request == 0) {
            self.request = tick * 16 + self.number;
            base.clients_in.push(match self.session {
                None => ClientEvent::Login {
                    request: self.request,
                    account: self.account.clone(),
                    kind: HERO,
                    place: west(),
                    radius: 10_000,
                },
                Some((session, secret, _)) => ClientEvent::Resume {
                    request: self.request,
                    session,
                    secret,
                    acknowledged: self.acked,
                    radius: 10_000,
                },
            });
        }
        let Some((session, _, entity)) = self.session.filter(|_| self.open) else { return };
        if busy && rng.chance(1, 4) {
            self.next_n += 1;
        }
        while self.sent + 1 < self.next_n {
            self.sent += 1;
            let method = if self.sent.is_multiple_of(5) { HIDDEN } else { POKE };
            base.clients_in.push(ClientEvent::Command {
                session,
                n: self.sent,
                entity,
                method,
                args: Bytes::new(),
                ttl: 0,
                acknowledged: self.acked,
            });
        }
        base.clients_in.push(ClientEvent::Acknowledge { session, n: self.acked });
        if busy && rng.chance(1, 60) {
            base.clients_in.push(ClientEvent::Gone { session });
            self.open = false;
        }
    }
}
