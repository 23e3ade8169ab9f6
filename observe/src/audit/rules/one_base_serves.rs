//! A slot is served by one base at a time, and its terms only grow.

use crate::audit::state::{Tenure, Tenures};
use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::{Event, KeptSlot};
use marchland_common::order::{NodeKind, NodeName, SlotId, Term};

pub struct OneBaseServes {
    /// What bases gave up that they had not frozen, and where.
    given_up: Vec<(SlotId, Tenure, Term, At)>,
}

impl OneBaseServes {
    pub const fn new(_: &AuditOptions) -> Self {
        Self { given_up: Vec::new() }
    }

    fn taken(here: &Here<'_>, (slot, term): (SlotId, Term), cx: &Cx<'_>, out: &mut Findings) {
        let before = cx.state.tenures(slot).and_then(Tenures::last);
        let Some(before) = before.filter(|before| cx.sees_log(before.base)) else {
            return out.check(true, None, &[], String::new);
        };
        let base = here.node.name;
        out.check(before.term < term, None, &[Some(before.taken.at), Some(here.at)], || {
            let (other, old) = (before.base, before.term);
            format!("{base} serves slot {slot} under term {term}, {other} had it under {old}")
        });
        if before.base != base && cx.sees_slot(slot) {
            Self::taken_over(here, (slot, term), before, cx, out);
        }
    }

    /// Whoever takes a slot over does so after the base before froze it for just that base, or out
    /// of the log of that base.
    fn taken_over(
        here: &Here<'_>,
        (slot, term): (SlotId, Term),
        before: &Tenure,
        cx: &Cx<'_>,
        out: &mut Findings,
    ) {
        if let Some(adopted) = cx.state.adopted.get(&(slot, here.node.name, term)) {
            let holds = adopted.from == before.base || !cx.tells_all(adopted.from);
            let witness = [Some(before.taken.at), Some(adopted.at), Some(here.at)];
            return out.check(holds, None, &witness, || {
                let (node, from, keeper) = (here.node, adopted.from, before.base);
                format!("{node} took slot {slot} out of the log of {from}, and {keeper} keeps it")
            });
        }
        let frozen = before.frozen.filter(|(to, _)| *to == here.node.name);
        let holds = frozen.is_some_and(|(_, told)| cx.before(told.at, here.at));
        let frozen = frozen.map(|(_, told)| told.at);
        out.check(holds, None, &[Some(before.taken.at), frozen, Some(here.at)], || {
            format!("{} took slot {slot} that {} had not frozen for it", here.node, before.base)
        });
    }

    /// A base goes on with a slot under the term that it had.
    fn kept(here: &Here<'_>, (slot, term): (SlotId, Term), cx: &Cx<'_>, out: &mut Findings) {
        let known = cx.state.tenures(slot).and_then(|all| all.last_of(here.node.name));
        if known.is_none_or(|known| known.term < term) {
            // The life that took it could not tell.
            return Self::taken(here, (slot, term), cx, out);
        }
        let Some(known) = known else { return };
        let given = known.given.map(|(_, told)| told.at);
        let goes_on = known.term == term && given.is_none();
        out.check(goes_on, None, &[Some(known.taken.at), given, Some(here.at)], || {
            let (node, own) = (here.node, known.term);
            format!("{node} goes on with slot {slot} under term {term}, after its term {own}")
        });
    }

    fn frozen(here: &Here<'_>, (slot, term): (SlotId, Term), cx: &Cx<'_>, out: &mut Findings) {
        let last = cx.state.tenures(slot).and_then(Tenures::last);
        let Some(last) = last.filter(|_| cx.sees_slot(slot)) else { return };
        let is_its = (last.base, last.term) == (here.node.name, term) && last.frozen.is_none();
        out.check(is_its, None, &[Some(last.taken.at), Some(here.at)], || {
            let (node, base, own) = (here.node, last.base, last.term);
            format!("{node} froze slot {slot} of term {term}; {base} serves it under {own}")
        });
    }

    fn given(
        &mut self,
        here: &Here<'_>,
        (slot, term): (SlotId, Term),
        cx: &Cx<'_>,
        out: &mut Findings,
    ) {
        let own = cx.state.tenures(slot).and_then(|all| all.last_of(here.node.name));
        let Some(own) = own else { return };
        let frozen = own.frozen.map(|(_, told)| told.at);
        let ends = own.given.is_none() && own.term < term;
        out.check(ends, None, &[Some(own.taken.at), frozen, Some(here.at)], || {
            let (node, old) = (here.node, own.term);
            format!("{node} gave slot {slot} of term {old} away to term {term}")
        });
        if frozen.is_none() {
            // Who took it over may not have told of it yet.
            self.given_up.push((slot, *own, term, here.at));
        }
    }

    /// What a base gave up without having frozen it was taken over from its log by then.
    fn judge_given_up(&self, cx: &Cx<'_>, out: &mut Findings) {
        for (slot, own, term, at) in &self.given_up {
            let mut others = cx.state.logs.keys().filter(|base| **base != own.base);
            let all_tell = cx.sees_all(NodeKind::Base) && others.all(|base| cx.tells_all(*base));
            let tenures = cx.state.tenures(*slot);
            let taker = tenures.and_then(|all| all.taken_over(own.base, own.term, *term));
            if taker.is_none() && !all_tell {
                continue;
            }
            out.check(taker.is_some(), None, &[Some(own.taken.at), Some(*at)], || {
                let (base, old) = (own.base, own.term);
                format!(
                    "{base} gave slot {slot} of term {old} up for term {term}, and neither froze it \
                     for anybody nor was it taken over"
                )
            });
        }
    }
}

impl Watch for OneBaseServes {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::SlotTaken, Kind::SlotKept, Kind::SlotFrozen, Kind::SlotGiven]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        if !cx.sees_here(here) {
            return;
        }
        match *here.event {
            Event::SlotTaken { slot, term, .. } => Self::taken(here, (slot, term), cx, out),
            Event::SlotKept { slot, term, .. } => Self::kept(here, (slot, term), cx, out),
            Event::SlotFrozen { slot, term, .. } => Self::frozen(here, (slot, term), cx, out),
            Event::SlotGiven { slot, term, .. } => self.given(here, (slot, term), cx, out),
            _ => {}
        }
    }

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        self.judge_given_up(cx, out);
        let all = cx
            .state
            .slots
            .iter()
            .filter(|(slot, tenures)| !tenures.0.is_empty() && cx.sees_slot(**slot));
        for (slot, tenures) in all {
            judge_logs(*slot, tenures, cx, out);
        }
    }
}

/// At the end one log keeps the slot, or holds it until its key names it; others that have it have
/// it frozen, or it was taken over from them.
fn judge_logs(slot: SlotId, tenures: &Tenures, cx: &Cx<'_>, out: &mut Findings) {
    let logs = cx.written.iter().filter(|(base, _)| cx.sees_log(**base));
    let rows = logs.clone().filter_map(|(base, log)| Some((*base, log.account.slots.get(&slot)?)));
    let rows: Vec<(NodeName, KeptSlot)> = rows.map(|(base, kept)| (base, *kept)).collect();
    // The taker may have been killed before it could tell.
    let is_read = |base: NodeName, kept: KeptSlot| {
        let by = |(_, other): &(NodeName, KeptSlot)| {
            other.term > kept.term && other.adopted.is_some_and(|(from, _)| from.name == base)
        };
        rows.iter().any(by) || tenures.taken_over(base, kept.term, Term(u64::MAX)).is_some()
    };
    let keeps: Vec<(NodeName, KeptSlot)> =
        rows.iter().filter(|(base, kept)| !is_read(*base, *kept)).copied().collect();
    let mut serve =
        keeps.iter().filter(|(_, kept)| kept.frozen_for.is_none()).map(|(base, _)| *base);
    let witness: Vec<Option<At>> = tenures.0.iter().map(|tenure| Some(tenure.taken.at)).collect();
    if let Some((one, two)) = serve.next().zip(serve.next()) {
        out.accuse(None, &witness, || {
            format!("the logs of {one} and {two} both serve slot {slot}")
        });
    }
    let comes = logs.clone().any(|(_, log)| log.account.coming.contains_key(&slot));
    // What a killed life could not tell, or a log that is not here, may hold it.
    let known =
        |tenure: &Tenure| cx.tells_all(tenure.base) && cx.written.contains_key(&tenure.base);
    if keeps.is_empty() && !comes && cx.sees_all(NodeKind::Base) && tenures.0.iter().all(known) {
        let durable = |t: &Tenure| t.taken.lsn.and_then(|lsn| cx.state.durable_at(t.base, lsn));
        out.check(!tenures.0.iter().any(|t| durable(t).is_some()), None, &witness, || {
            format!("slot {slot} is in no log any more")
        });
    }
}
