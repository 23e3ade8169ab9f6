//! Clients: sessions, their commands and answers, and what they see.
//!
//! A stream is what one client is told, in one order: first a welcome, then whatever is freed for
//! it. A session outlives its stream for a while, and a restart of the base.

mod answers;
mod commands;
mod login;
mod views;

pub use login::account_slot;

use crate::core::BaseCore;
use crate::io::ClientEvent;
use crate::lineage::Lineage;
use crate::log::{Alone, SessionRow};
use bytes::Bytes;
use marchland_common::order::{EntityId, Epoch, Node, Seq, SessionId, SlotId};
use marchland_common::world::CommandOutcome;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Ticks that a session stays without a stream.
pub const SESSION_LINGER: u64 = 1_200;

/// Commands of a session that may be without an acknowledged answer; the next one is told busy.
pub const UNACKNOWLEDGED_MAX: u64 = 64;

/// Answers that are kept for a client that acknowledges none. Beyond, its stream ends: it sends
/// and does not listen.
pub const ANSWERS_MAX: usize = 256;

/// One answer to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// How it ended.
    pub outcome: CommandOutcome,
    /// The step that holds it; none where no owner saw the command.
    pub confirmed: Option<(Epoch, Seq)>,
}

/// The volatile part of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The entity that it plays.
    pub entity: EntityId,
    /// How far it sees, in millimetres.
    pub radius: i32,
    /// Whether the welcome has left and the client is there.
    pub open: bool,
    /// Since when it is without a client.
    pub gone: Option<u64>,
    /// The newest command that was taken in.
    pub last_n: u64,
    /// The newest answer that the client has acknowledged, with all before it.
    pub acked: u64,
    /// The newest answer that this stream was told, with all before it.
    pub told: u64,
    /// Commands that were answered here alone and whose answers the client does not say to have.
    pub alone: BTreeSet<u64>,
    /// Whether the session began in an earlier life of this base, which may have sent any command
    /// to an owner.
    pub recovered: bool,
    /// Answers that are not acknowledged.
    pub answers: BTreeMap<u64, Answered>,
    /// The newest input that was not passed on.
    pub input: Option<Bytes>,
    /// The highest epoch that its client saw something of.
    pub view_epoch: Epoch,
    /// Whether its client has a view to go on from. Before the first piece that begins anew, and
    /// where pieces are missing, later ones fit nothing.
    pub shown: bool,
}

impl Stream {
    /// The stream of a new session.
    #[must_use]
    pub fn new(entity: EntityId, radius: i32) -> Self {
        Self {
            entity,
            radius,
            open: false,
            gone: None,
            last_n: 0,
            acked: 0,
            told: 0,
            alone: BTreeSet::new(),
            recovered: false,
            answers: BTreeMap::new(),
            input: None,
            view_epoch: Epoch::NONE,
            shown: false,
        }
    }

    /// Commands that the client has no answer to, or does not say that it has.
    #[must_use]
    pub const fn unacknowledged(&self) -> u64 {
        self.last_n.saturating_sub(self.acked)
    }

    /// The newest command before `n` that was answered here alone, unless the client has it.
    fn last_alone(&self, n: u64) -> u64 {
        self.alone.range(..n).next_back().copied().unwrap_or(0)
    }

    /// After a restart: what the image and the log still say of a session. A command that was
    /// taken in without an answer left no trace; its client sends it and all after it again.
    fn take_up(&mut self, session: SessionId, lineage: &Lineage, alone: Option<&Alone>) {
        let at = (lineage.epoch, lineage.seq);
        let rows = lineage.state.commands.rows();
        let row = rows.iter().find(|row| row.session == session);
        let owners = row
            .iter()
            .flat_map(|row| &row.answers)
            .map(|(n, outcome)| (*n, Answered { outcome: outcome.clone(), confirmed: Some(at) }));
        let bases = alone
            .iter()
            .flat_map(|known| &known.answers)
            .map(|(n, outcome)| (*n, Answered { outcome: outcome.clone(), confirmed: None }));
        self.answers = owners.chain(bases).collect();
        self.alone = alone.iter().flat_map(|known| known.answers.keys()).copied().collect();
        let high = row.map_or(0, |row| row.high);
        let first = self.answers.keys().next().map_or(high, |n| (n - 1).min(high));
        self.note_acknowledged(first.max(alone.map_or(0, |known| known.acknowledged)));
        self.told = self.acked;
    }

    /// The client has all answers up to a number.
    fn note_acknowledged(&mut self, n: u64) {
        if n > self.acked {
            self.acked = n;
            self.answers = self.answers.split_off(&n.saturating_add(1));
            self.alone = self.alone.split_off(&n.saturating_add(1));
        }
        self.last_n = self.last_n.max(self.acked);
        self.follow_answers();
    }

    /// Commands that are answered count as taken in as far as none is missing before them.
    fn follow_answers(&mut self) {
        while self.answers.contains_key(&self.last_n.saturating_add(1)) {
            self.last_n += 1;
        }
    }
}

impl BaseCore {
    pub(crate) fn on_client(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Login { request, account, kind, place, radius } => {
                self.on_login(request, account, kind, place, radius);
            }
            ClientEvent::Resume { request, session, secret, acknowledged, radius } => {
                self.on_resume(request, session, secret, (acknowledged, radius));
            }
            ClientEvent::Gone { session } => self.on_gone(session),
            ClientEvent::Logout { session } => self.on_logout(session),
            ClientEvent::Command { session, n, entity, method, args, ttl, acknowledged } => {
                self.on_acknowledge(session, acknowledged);
                self.on_command(session, n, entity, (method, args, ttl));
            }
            ClientEvent::Input { session, payload } => self.on_input(session, payload),
            ClientEvent::Acknowledge { session, n } => {
                self.on_acknowledge(session, n);
                if let Some(entity) = self.streams.get(&session).map(|s| s.entity) {
                    self.push(entity);
                }
            }
        }
    }

    /// The sessions of an entity, with the radius that each sees now. A session whose client is
    /// away sees nobody.
    pub(crate) fn attached(&self, entity: EntityId) -> Vec<(SessionId, i32)> {
        let mut out = Vec::new();
        if let Some(session) = self.session_of(entity)
            && let Some(stream) = self.streams.get(&session)
            && self.is_announced(session)
        {
            out.push((session, if stream.gone.is_some() { 0 } else { stream.radius }));
        }
        out
    }

    /// Whether an owner misses a session that it must know.
    pub(crate) fn is_unattached(&self, entity: EntityId) -> bool {
        let Some(lineage) = self.store.entities.get(&entity) else { return false };
        let rows = lineage.state.commands.rows();
        self.attached(entity).iter().any(|(s, _)| !rows.iter().any(|row| row.session == *s))
    }

    /// Whether a client waits for a view that begins anew.
    pub(crate) fn is_blind(&self, entity: EntityId) -> bool {
        let stream = self.session_of(entity).and_then(|session| self.streams.get(&session));
        stream.is_some_and(|stream| stream.open && !stream.shown)
    }

    /// Bundles of a cellapp are missing, and with them perhaps pieces of views: those begin anew.
    pub(crate) fn lose_views_of(&mut self, cell: Node) {
        let mut blind = Vec::new();
        for stream in self.streams.values_mut().filter(|stream| stream.shown) {
            let lineage = self.store.entities.get(&stream.entity);
            if lineage.is_none_or(|lineage| lineage.owner == cell) {
                stream.shown = false;
                blind.push(stream.entity);
            }
        }
        blind.into_iter().for_each(|entity| self.schedule(entity));
    }

    /// After a restart or a move: sessions without a client, with the answers that the images
    /// hold.
    pub(crate) fn recover_streams(&mut self, of: impl Fn(SlotId) -> bool) {
        let sessions = self.store.sessions.iter().filter(|(session, _)| of(session.slot()));
        for (session, SessionRow { entity, radius, .. }) in sessions {
            let mut stream = Stream::new(*entity, *radius);
            stream.gone = Some(self.ran);
            stream.recovered = true;
            if let Some(lineage) = self.store.entities.get(entity) {
                stream.take_up(*session, lineage, self.store.alone.get(session));
            }
            self.playing.insert(*entity, *session);
            self.streams.insert(*session, stream);
        }
    }
}
