//! Answers on their way out: in the order of the commands, each once per stream, kept until the
//! client acknowledges them.

use super::Answered;
use crate::core::BaseCore;
use crate::gate::Held;
use crate::io::{ClientFrame, ToClient};
use crate::log::LogRecord;
use marchland_common::journal::{Event, Refused};
use marchland_common::order::{EntityId, Epoch, Seq, SessionId};
use marchland_common::world::{CommandOutcome, Value};

impl BaseCore {
    /// A durable step holds the outcome of a command.
    pub(crate) fn confirm(
        &mut self,
        entity: EntityId,
        (session, n): (SessionId, u64),
        outcome: CommandOutcome,
        (epoch, seq): (Epoch, Seq),
    ) {
        if let Some(queue) = self.queues.get_mut(&entity) {
            queue.commands.retain(|open| open.command.session != session || open.command.n != n);
            self.tidy_queue(entity);
        }
        let told = outcome.clone();
        self.event(Event::CommandConfirmed { entity, session, n, outcome: told, epoch, seq });
        self.answer(session, n, Answered { outcome, confirmed: Some((epoch, seq)) });
    }

    /// Answers a command that no owner can have run. The answer is an effect like any other: it
    /// is on the record before it is told, and stays there until the client has it.
    pub(crate) fn answer_alone(&mut self, session: SessionId, n: u64, outcome: CommandOutcome) {
        let Some(stream) = self.streams.get_mut(&session) else { return };
        stream.alone.insert(n);
        let (entity, acknowledged) = (stream.entity, stream.acked);
        let answer = outcome.clone();
        let record = LogRecord::CommandAnswered { session, n, outcome: answer, acknowledged };
        let lsn = self.write(&record);
        self.leave(lsn, Held::Alone { entity, session, n, outcome });
    }

    /// Such an answer may be told.
    pub(crate) fn answered_alone(
        &mut self,
        entity: EntityId,
        (session, n): (SessionId, u64),
        outcome: CommandOutcome,
    ) {
        let told = outcome.clone();
        self.event(Event::CommandAnswered { entity, session, n, outcome: told });
        self.answer(session, n, Answered { outcome, confirmed: None });
    }

    fn answer(&mut self, session: SessionId, n: u64, answer: Answered) {
        let Some(stream) = self.streams.get_mut(&session) else { return };
        if n > stream.acked {
            stream.answers.entry(n).or_insert(answer);
        }
        self.tell_answers(session);
    }

    /// Tells a client the answers that are next in order.
    pub(crate) fn tell_answers(&mut self, session: SessionId) {
        let Some(stream) = self.streams.get_mut(&session).filter(|s| s.open) else { return };
        let mut frames = Vec::new();
        while let Some(Answered { outcome, confirmed }) = stream.answers.get(&(stream.told + 1)) {
            stream.told += 1;
            let (n, outcome) = (stream.told, outcome.clone());
            let what = ClientFrame::Answer { n, outcome, confirmed: *confirmed };
            frames.push(ToClient { session, what });
        }
        self.out.clients.extend(frames);
    }

    /// A client has all answers up to a number. It cannot have more than it was told.
    pub(crate) fn on_acknowledge(&mut self, session: SessionId, n: u64) {
        let Some(stream) = self.streams.get_mut(&session) else {
            return self.refusals.add(Refused::UnknownSession, None, None);
        };
        let n = n.min(stream.told);
        stream.note_acknowledged(n);
    }

    /// Tells the client of an entity what became durable of its own fields.
    pub(crate) fn tell_own(
        &mut self,
        entity: EntityId,
        (epoch, seq): (Epoch, Seq),
        props: Vec<(u8, Value)>,
    ) {
        if let Some(session) = self.open_session_of(entity) {
            self.tell_client(ToClient { session, what: ClientFrame::Own { epoch, seq, props } });
        }
    }

    /// Tells the client of an entity that it went back to what was durable.
    pub(crate) fn reset_clients(&mut self, entity: EntityId, epoch: Epoch, seq: Seq) {
        let Some(session) = self.session_of(entity) else { return };
        let Some(stream) = self.streams.get_mut(&session) else { return };
        stream.view_epoch = stream.view_epoch.max(epoch);
        if stream.open {
            self.tell_client(ToClient { session, what: ClientFrame::Reset { epoch, seq } });
        }
    }

    /// The session of an entity whose client is there.
    pub(crate) fn open_session_of(&self, entity: EntityId) -> Option<SessionId> {
        let session = self.session_of(entity)?;
        self.streams.get(&session).filter(|stream| stream.open).map(|_| session)
    }
}
