//! The log and the journals end with the same world.

use crate::audit::{Accepted, AuditOptions, Cx, Findings, Here, Line, Ownership, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Kept;
use marchland_common::order::{EntityId, Epoch, Lsn, NodeName, Seq};
use std::collections::BTreeMap;

pub struct ImageIsLineage;

impl ImageIsLineage {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

/// Where a lineage stands after a record of its log.
struct Tail<'a> {
    owner: &'a Ownership,
    step: Option<&'a Accepted>,
    ended: bool,
}

impl<'a> Tail<'a> {
    fn of(line: &'a Line, base: NodeName, last: Lsn) -> Option<Self> {
        let is_in = |log: NodeName, lsn: Lsn| log == base && lsn <= last;
        let owner = line.owners.iter().rev().find(|owner| is_in(owner.log, owner.lsn))?;
        let step = line.steps.iter().rev().find(|step| is_in(step.log, step.lsn));
        let ended = line.ended.is_some_and(|ended| is_in(ended.log, ended.lsn));
        Some(Self { owner, step, ended })
    }

    fn place(&self) -> (Epoch, Seq) {
        (self.owner.epoch, self.step.map_or(self.owner.seq, |step| step.seq))
    }

    fn at(&self) -> [Option<At>; 2] {
        [Some(self.owner.at), self.step.map(|step| step.at)]
    }

    fn is(&self, kept: &Kept) -> bool {
        let digest = self.step.map_or(kept.digest, |step| step.digest);
        self.owner.to == kept.owner && digest == kept.digest && self.ended == kept.ended
    }
}

fn compare(
    (base, entity): (NodeName, EntityId),
    tail: &Tail<'_>,
    kept: Option<&Kept>,
    cx: &Cx<'_>,
    out: &mut Findings,
) {
    let Some(kept) = kept else {
        // What has ended and has nothing open is forgotten.
        return out.check(tail.ended, entity, &tail.at(), || {
            format!("{base}'s log does not hold it any more")
        });
    };
    let (told, holds) = (tail.place(), (kept.epoch, kept.seq));
    let fits = if told == holds {
        tail.is(kept)
    } else {
        // A life may have written what it could not tell any more, never the other way round.
        holds > told && !cx.tells_all(base)
    };
    out.check(fits, entity, &tail.at(), || {
        if told == holds {
            return format!("{base}'s log holds another state of step {}", kept.seq);
        }
        let ((told_epoch, told_seq), (epoch, seq)) = (told, holds);
        format!(
            "{base}'s log ends with step {seq} of epoch {epoch}, the lineage with step {told_seq} \
             of epoch {told_epoch}"
        )
    });
}

impl Watch for ImageIsLineage {
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn on(&mut self, _: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {}

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        let lines: BTreeMap<EntityId, &Line> =
            cx.state.lines.iter().map(|(entity, line)| (*entity, line)).collect();
        for (base, log) in cx.written.iter().filter(|(base, _)| cx.sees_log(**base)) {
            let (last, end) = (log.account.last, &log.account.end);
            for (entity, line) in &lines {
                if let Some(tail) = Tail::of(line, *base, last) {
                    compare((*base, *entity), &tail, end.get(entity), cx, out);
                }
            }
            let strangers = end.keys().filter(|entity| !lines.contains_key(entity));
            for entity in strangers.filter(|_| cx.tells_all(*base)) {
                out.check(false, *entity, &[], || {
                    format!("{base}'s log holds it, and no journal tells of it")
                });
            }
        }
    }
}
