//! The logs and the journals end with the same world: each slot is compared where it is kept, and a
//! frozen one also where it still is.

use crate::audit::state::Tenures;
use crate::audit::{Accepted, AuditOptions, Cx, Findings, Here, Line, Ownership, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::{Kept, KeptSlot, LogAccount};
use marchland_common::order::{EntityId, Epoch, Lsn, NodeKind, NodeName, Seq};
use std::collections::BTreeMap;

pub struct ImageIsLineage;

impl ImageIsLineage {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

/// What a base's log holds of a slot at its end, and what counts for it: the records of that log,
/// and of others those of lower terms, which came with the slot.
struct View<'a> {
    base: NodeName,
    last: Lsn,
    kept: KeptSlot,
    tenures: Option<&'a Tenures>,
}

impl View<'_> {
    fn counts(&self, log: NodeName, lsn: Lsn) -> bool {
        if log == self.base {
            return lsn <= self.last;
        }
        self.tenures.is_some_and(|tenures| tenures.term_of(log, lsn) < self.kept.term)
    }

    /// Whether nothing is in the logs about the slot that no journal tells.
    fn tells_all(&self, cx: &Cx<'_>) -> bool {
        let mut keepers = self.tenures.into_iter().flat_map(|tenures| &tenures.0);
        cx.tells_all(self.base) && keepers.all(|tenure| cx.tells_all(tenure.base))
    }
}

/// Where a lineage stands after the records that count.
struct Tail<'a> {
    owner: &'a Ownership,
    step: Option<&'a Accepted>,
    ended: bool,
}

impl<'a> Tail<'a> {
    fn of(line: &'a Line, view: &View<'_>) -> Option<Self> {
        let owner = line.owners.iter().rev().find(|owner| view.counts(owner.log, owner.lsn))?;
        let step = line.steps.iter().rev().find(|step| view.counts(step.log, step.lsn));
        let ended = line.ended.is_some_and(|ended| view.counts(ended.log, ended.lsn));
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
    (view, entity): (&View<'_>, EntityId),
    tail: &Tail<'_>,
    kept: Option<&Kept>,
    cx: &Cx<'_>,
    out: &mut Findings,
) {
    let base = view.base;
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
        holds > told && !view.tells_all(cx)
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
            let account = &log.account;
            for (entity, line) in &lines {
                // A slot that is another base's is judged there.
                let kept = account.slots.get(&entity.slot());
                let Some(kept) = kept.filter(|_| cx.sees_slot(entity.slot())) else { continue };
                let tenures = cx.state.tenures(entity.slot());
                let view = View { base: *base, last: account.last, kept: *kept, tenures };
                if let Some(tail) = Tail::of(line, &view) {
                    compare((&view, *entity), &tail, account.end.get(entity), cx, out);
                }
            }
            judge_strangers(*base, account, &lines, cx, out);
        }
    }
}

/// Nobody is in a log of whom no journal tells, and nobody of a slot that it does not keep.
fn judge_strangers(
    base: NodeName,
    account: &LogAccount,
    lines: &BTreeMap<EntityId, &Line>,
    cx: &Cx<'_>,
    out: &mut Findings,
) {
    let tells_all = cx.tells_all(base) && cx.sees_all(NodeKind::Base);
    for entity in account.end.keys() {
        if !account.slots.contains_key(&entity.slot()) {
            out.check(false, *entity, &[], || {
                format!("{base}'s log holds it, and does not keep slot {}", entity.slot())
            });
        } else if !lines.contains_key(entity) && tells_all {
            out.check(false, *entity, &[], || {
                format!("{base}'s log holds it, and no journal tells of it")
            });
        }
    }
}
