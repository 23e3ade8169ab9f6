//! What a base says that it wrote is what it wrote.

use crate::audit::{
    Accepted, AuditOptions, Cx, FIRST, Findings, Here, Line, Mark, Ownership, Watch,
};
use crate::facts::Kind;
use crate::journals::BaseLog;
use crate::merge::At;
use marchland_common::journal::{LogAccount, Logged, OwnerWhy};
use marchland_common::order::{EntityId, Lsn, NodeName};

pub struct LogAsTold;

impl LogAsTold {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

/// What a journal tells of a record.
enum Told<'a> {
    Born(&'a Mark),
    Owner(&'a Ownership),
    Step(&'a Accepted),
    Ended(&'a Mark),
}

impl Told<'_> {
    const fn place(&self) -> (NodeName, Lsn, At) {
        match self {
            Self::Born(mark) | Self::Ended(mark) => (mark.log, mark.lsn, mark.at),
            Self::Owner(owner) => (owner.log, owner.lsn, owner.at),
            Self::Step(step) => (step.log, step.lsn, step.at),
        }
    }

    /// Whether a record says the same.
    fn is(&self, said: &Logged) -> bool {
        match (self, *said) {
            (Self::Born(mark), Logged::Born { source, .. }) => mark.source == source,
            // The record of a birth names its first owner too.
            (Self::Owner(told), Logged::Born { owner, .. }) => {
                told.why == OwnerWhy::Birth && (told.epoch, told.to) == (FIRST, owner)
            }
            (Self::Owner(told), Logged::Owner { epoch, owner, why, last_tick, .. }) => {
                (told.epoch, told.to, told.why, told.last_tick) == (epoch, owner, why, last_tick)
            }
            (Self::Step(told), Logged::Step { epoch, seq, owner, digest, .. }) => {
                (told.epoch, told.seq, told.owner, told.digest) == (epoch, seq, owner, digest)
            }
            // An entity ends with a step.
            (Self::Ended(_), Logged::Step { .. }) => true,
            _ => false,
        }
    }
}

/// Everything that journals tell of one line's records.
fn told(line: &Line) -> impl Iterator<Item = Told<'_>> {
    let born = line.born.iter().map(Told::Born);
    let owners = line.owners.iter().map(Told::Owner);
    let steps = line.steps.iter().map(Told::Step);
    born.chain(owners).chain(steps).chain(line.ended.iter().map(Told::Ended))
}

/// What a journal tells of a record about a slot.
struct ToldSlot {
    said: Logged,
    lsn: Lsn,
    at: At,
}

/// Everything that journals tell of a log's records about slots.
fn told_slots(base: NodeName, cx: &Cx<'_>) -> Vec<ToldSlot> {
    let mut out = Vec::new();
    for (slot, tenures) in &cx.state.slots {
        let slot = *slot;
        for tenure in tenures.0.iter().filter(|tenure| tenure.base == base) {
            let term = tenure.term;
            let taken = Some((Logged::Taken { slot, term }, tenure.taken));
            let frozen = tenure.frozen.map(|(to, told)| (Logged::Frozen { slot, term, to }, told));
            let given = tenure.given.map(|(term, told)| (Logged::Given { slot, term }, told));
            let known = [taken, frozen, given].into_iter().flatten();
            out.extend(known.filter_map(|(said, told)| {
                told.lsn.map(|lsn| ToldSlot { said, lsn, at: told.at })
            }));
        }
    }
    out
}

fn record(account: &LogAccount, lsn: Lsn) -> Option<usize> {
    account.records.binary_search_by_key(&lsn, |(lsn, _)| *lsn).ok()
}

/// A log, and which of its records journals tell of.
struct Book<'a> {
    base: NodeName,
    account: &'a LogAccount,
    known: Vec<bool>,
}

impl Book<'_> {
    /// Compares a record that a journal tells of with what is there.
    fn compare(
        &mut self,
        entity: Option<EntityId>,
        (lsn, at): (Lsn, At),
        is: impl Fn(&Logged) -> bool,
        cx: &Cx<'_>,
        out: &mut Findings,
    ) {
        let (base, account) = (self.base, self.account);
        let durable = cx.state.durable_at(base, lsn);
        // A checkpoint has taken the place of the oldest records; the newest may be lost.
        if lsn <= account.through || lsn > account.last && durable.is_none() {
            return;
        }
        let found = record(account, lsn);
        let said = found.and_then(|at| account.records.get(at)).map(|(_, said)| said);
        if let Some(known) = found.and_then(|at| self.known.get_mut(at)) {
            *known = true;
        }
        let same = said.is_some_and(|said| said.entity() == entity && is(said));
        out.check(same, entity, &[Some(at), durable], || match said {
            Some(_) => format!("record {lsn} of {base}'s log says something else"),
            None => format!("record {lsn} of {base}'s log is not there"),
        });
    }
}

/// Compares what journals tell of one log. Returns which of its records they tell of.
fn compare(base: NodeName, log: &BaseLog, cx: &Cx<'_>, out: &mut Findings) -> Vec<bool> {
    let account = &log.account;
    let mut book = Book { base, account, known: vec![false; account.records.len()] };
    let mut entities: Vec<(&EntityId, &Line)> = cx.state.lines.iter().collect();
    entities.sort_unstable_by_key(|(entity, _)| **entity);
    for (entity, line) in entities {
        for told in told(line) {
            let (written, lsn, at) = told.place();
            if written == base {
                book.compare(Some(*entity), (lsn, at), |said| told.is(said), cx, out);
            }
        }
    }
    for ToldSlot { said, lsn, at } in told_slots(base, cx) {
        book.compare(None, (lsn, at), |is| *is == said, cx, out);
    }
    book.known
}

impl Watch for LogAsTold {
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn on(&mut self, _: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {}

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        for (base, log) in cx.written.iter().filter(|(base, _)| cx.sees_log(**base)) {
            let known = compare(*base, log, cx, out);
            if !cx.tells_all(*base) {
                continue;
            }
            let unknown = log.account.records.iter().zip(known).filter(|(_, known)| !known);
            for ((lsn, said), _) in unknown {
                out.check(false, said.entity(), &[], || {
                    format!("record {lsn} of {base}'s log is told of in no journal")
                });
            }
        }
    }
}
