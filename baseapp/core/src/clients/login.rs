//! The beginning and the end of sessions: one account, one entity, the newest login wins.

use super::{SESSION_LINGER, Stream};
use crate::births::{Birth, ids_from, losses_before};
use crate::core::BaseCore;
use crate::effects::own_props;
use crate::gate::Held;
use crate::io::{ClientFrame, ToClient};
use crate::log::{LogRecord, SessionRow};
use bytes::Bytes;
use marchland_common::digest::digest_bytes;
use marchland_common::journal::{Event, Refused};
use marchland_common::msg::{BaseToCell, Msg};
use marchland_common::order::{EntityId, Epoch, KindId, Lsn, Seq, SessionId, SlotId};
use marchland_common::world::{Place, Value};

/// The longest account name in bytes.
const ACCOUNT_MAX: usize = 64;

/// The slot whose base keeps an account: every gateway sends its client there, so that an account
/// has one entity however often and wherever it logs in.
#[must_use]
pub fn account_slot(account: &str) -> SlotId {
    SlotId((digest_bytes(account.as_bytes()) & 0xff) as u8)
}

impl BaseCore {
    pub(crate) fn on_login(
        &mut self,
        request: u64,
        account: String,
        kind: KindId,
        place: Place,
        radius: i32,
    ) {
        let fits = (1..=ACCOUNT_MAX).contains(&account.len());
        if fits && !self.keeps(account_slot(&account)) {
            let keeper = self.keeper_of(account_slot(&account));
            return self
                .refuse_for_now(request, &format!("this account's slot is kept by {keeper}"));
        }
        match self.log_in(account, kind, place, radius) {
            Ok((session, lsn)) => {
                let own = self.own_baseline(session);
                self.leave(lsn, Held::Welcome { session, request, resumed: false, own });
            }
            Err(reason) => self.refuse_client(request, reason),
        }
    }

    fn log_in(
        &mut self,
        account: String,
        kind: KindId,
        place: Place,
        radius: i32,
    ) -> Result<(SessionId, Lsn), String> {
        if self.is_frozen() {
            return Err("busy: the journal is behind; try again".to_owned());
        }
        if !(1..=ACCOUNT_MAX).contains(&account.len()) {
            return Err(format!("an account has 1 to {ACCOUNT_MAX} bytes"));
        }
        let slot = account_slot(&account);
        let known = self.store.accounts.get(&account).copied();
        let entity = match known {
            Some(entity) => entity,
            None => {
                let birth = Birth {
                    slot,
                    kind,
                    place,
                    props: Vec::new(),
                    value: None,
                    source: None,
                    account: Some(account),
                    argument: Bytes::new(),
                };
                self.give_birth(birth)?.0
            }
        };
        if let Some(older) = self.session_of(entity) {
            self.close_session(older, "replaced");
        }
        Ok(self.open_session(entity, slot, radius))
    }

    fn keeper_of(&self, slot: SlotId) -> String {
        let owner = self.map.slot(slot);
        owner.map_or_else(|| "nobody at present".to_owned(), |owner| owner.base.to_string())
    }

    fn open_session(&mut self, entity: EntityId, slot: SlotId, radius: i32) -> (SessionId, Lsn) {
        let row = self.store.slots.get(&slot).copied().unwrap_or_default();
        // Sessions keep to the range of the slot's ids: after a loss none is numbered as before.
        let from = ids_from(losses_before(row.reserved)).unwrap_or_default();
        let counter = row.sessions.max(from) + 1;
        let session = SessionId((counter << 8) | u64::from(slot.0));
        let row = SessionRow { entity, secret: self.rng.next_u64(), radius };
        let lsn = self.write(&LogRecord::SessionOpened { session, row });
        self.streams.insert(session, Stream::new(entity, radius));
        self.playing.insert(entity, session);
        (session, lsn)
    }

    pub(crate) fn on_resume(
        &mut self,
        request: u64,
        session: SessionId,
        secret: u64,
        (acknowledged, radius): (u64, i32),
    ) {
        if !self.keeps(session.slot()) {
            let keeper = self.keeper_of(session.slot());
            return self
                .refuse_for_now(request, &format!("this session's slot is kept by {keeper}"));
        }
        let known = self.store.sessions.get(&session).is_some_and(|row| row.secret == secret);
        let Some(stream) = self.streams.get_mut(&session).filter(|_| known) else {
            self.refusals.add(Refused::UnknownSession, None, None);
            return self.refuse_client(request, "unknown session: log in again".to_owned());
        };
        // A client knows no more than it was told; after a restart, by an earlier life, no more
        // than the log holds.
        let known = if stream.recovered { stream.last_n } else { stream.told };
        let acked = acknowledged.min(known);
        let was_open = std::mem::take(&mut stream.open);
        stream.gone = None;
        stream.radius = radius;
        stream.note_acknowledged(acked);
        stream.told = stream.acked;
        if was_open {
            self.end_stream(session, "replaced");
        }
        let own = self.own_baseline(session);
        let entity = self.streams.get(&session).map(|s| s.entity).unwrap_or_default();
        let lsn = self.now.get(&entity).map_or(Lsn(0), |now| now.lsn);
        self.leave(lsn, Held::Welcome { session, request, resumed: true, own });
    }

    fn refuse_client(&mut self, request: u64, reason: String) {
        let what = ClientFrame::Refused { request, reason };
        self.tell_client(ToClient { session: SessionId(0), what });
    }

    /// The own fields as they are now: what a client begins with.
    fn own_baseline(&self, session: SessionId) -> (Epoch, Seq, Vec<(u8, Value)>) {
        let entity = self.streams.get(&session).map(|s| s.entity);
        let lineage = entity.and_then(|entity| self.store.entities.get(&entity));
        let Some(lineage) = lineage else { return (Epoch::NONE, Seq(0), Vec::new()) };
        let kind = self.kinds.get(lineage.state.kind);
        let own = kind.map_or_else(Vec::new, |kind| own_props(&lineage.state, kind));
        (lineage.epoch, lineage.seq, own)
    }

    /// A session is durable: its stream begins with the welcome. One that was replaced meanwhile
    /// never began.
    pub(crate) fn welcome(
        &mut self,
        session: SessionId,
        request: u64,
        resumed: bool,
        (epoch, seq, props): (Epoch, Seq, Vec<(u8, Value)>),
    ) {
        let Some(row) = self.store.sessions.get(&session).copied() else {
            let reason = "replaced by a newer login".to_owned();
            return self.refuse_client(request, reason);
        };
        let last_n = self.streams.get(&session).map_or(0, |s| s.last_n);
        let SessionRow { entity, secret, .. } = row;
        let what = ClientFrame::Welcome { request, entity, secret, resumed, last_n };
        self.tell_client(ToClient { session, what });
        if !resumed {
            self.event(Event::SessionOpened { entity, session });
        }
        self.tell_client(ToClient { session, what: ClientFrame::Own { epoch, seq, props } });
        let Some(stream) = self.streams.get_mut(&session) else { return };
        stream.open = stream.gone.is_none();
        // What its owner says until it is attached again goes on from what another stream was told.
        stream.shown = false;
        self.announced.insert(session);
        self.attach_again(entity);
        self.tell_answers(session);
        self.push(entity);
    }

    /// Tells the owner which sessions the entity has: their views begin anew.
    pub(crate) fn attach_again(&mut self, entity: EntityId) {
        let Some(owner) = self.reachable_owner(entity) else { return };
        for (session, radius) in self.attached(entity) {
            let msg = BaseToCell::Attach { entity, session, radius };
            self.peers.at(owner).out.push(Msg::BaseToCell(msg));
        }
        self.schedule(entity);
    }

    pub(crate) fn on_gone(&mut self, session: SessionId) {
        let ran = self.ran;
        let Some(stream) = self.streams.get_mut(&session) else {
            return self.refusals.add(Refused::UnknownSession, None, None);
        };
        stream.open = false;
        stream.input = None;
        stream.gone.get_or_insert(ran);
        let entity = stream.entity;
        self.attach_again(entity);
    }

    pub(crate) fn on_logout(&mut self, session: SessionId) {
        if self.streams.contains_key(&session) {
            self.close_session(session, "logout");
        } else {
            self.refusals.add(Refused::UnknownSession, None, None);
        }
    }

    pub(crate) fn end_lingering_sessions(&mut self) {
        let over: Vec<SessionId> = self
            .streams
            .iter()
            .filter(|(_, s)| s.gone.is_some_and(|at| self.ran > at + SESSION_LINGER))
            .filter(|(session, _)| !self.is_away(session.slot()))
            .map(|(session, _)| *session)
            .collect();
        for session in over {
            self.close_session(session, "timeout");
        }
    }

    /// Ends a session for good.
    fn close_session(&mut self, session: SessionId, why: &str) {
        let Some(stream) = self.streams.remove(&session) else { return };
        let entity = stream.entity;
        if self.playing.get(&entity) == Some(&session) {
            self.playing.remove(&entity);
        }
        let was_welcomed = self.announced.remove(&session);
        if let Some(queue) = self.queues.get_mut(&entity) {
            queue.commands.retain(|open| open.command.session != session);
        }
        self.tidy_queue(entity);
        let lsn = self.write(&LogRecord::SessionClosed { session });
        if was_welcomed {
            let what = ClientFrame::Ended { reason: why.to_owned() };
            self.leave(lsn, Held::Client(ToClient { session, what }));
            self.leave(lsn, Held::SessionEnd { entity, session });
        }
        if let Some(owner) = self.reachable_owner(entity).filter(|_| was_welcomed) {
            self.leave(lsn, Held::Cell(owner, BaseToCell::Detach { entity, session }));
        }
    }

    /// The streams of an entity that ended.
    pub(crate) fn end_streams_of(&mut self, entity: EntityId, why: &str) {
        let Some(session) = self.playing.remove(&entity) else { return };
        self.end_stream(session, why);
        self.announced.remove(&session);
        self.streams.remove(&session);
        self.event(Event::SessionClosed { entity, session });
    }

    pub(crate) fn end_stream(&mut self, session: SessionId, why: &str) {
        let what = ClientFrame::Ended { reason: why.to_owned() };
        self.tell_client(ToClient { session, what });
    }

    pub(crate) fn session_of(&self, entity: EntityId) -> Option<SessionId> {
        self.playing.get(&entity).copied()
    }

    /// Whether a session is durable, so that an owner may know of it.
    pub(crate) fn is_announced(&self, session: SessionId) -> bool {
        self.announced.contains(&session)
    }
}
