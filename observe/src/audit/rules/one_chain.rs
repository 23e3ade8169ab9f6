//! The steps that count form one chain, the same at the base and at its owners.

use crate::audit::{Accepted, AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Node, Seq};
use rustc_hash::FxHashMap;

pub struct OneChain {
    /// The newest step of a life under an epoch, or the image that it began with.
    made: FxHashMap<(u32, EntityId), (Epoch, Seq, u64, At)>,
}

impl OneChain {
    pub fn new(_: &AuditOptions) -> Self {
        Self { made: FxHashMap::default() }
    }

    /// Whether its owner made every step from the one after `tail` to `seq`.
    fn stands_for(
        cx: &Cx<'_>,
        (entity, epoch, owner): (EntityId, Epoch, Node),
        tail: Seq,
        seq: Seq,
    ) -> bool {
        let Some(chain) = cx.state.chain(owner, entity, epoch) else { return !cx.sees(owner) };
        (tail.0.saturating_add(1)..=seq.0).all(|seq| chain.step(Seq(seq)).is_some())
    }

    fn accepted(here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Accepted { entity, epoch, seq, owner, prev_digest, digest, .. } = *here.event
        else {
            return;
        };
        if !cx.sees_line(here, entity) {
            return;
        }
        let line = cx.state.lines.get(&entity);
        let (tail, known) = line.map_or((Seq(0), None), |line| line.tail());
        let last = line.and_then(|line| line.steps.last()).map(|step: &Accepted| step.at);
        let begins = line.is_none_or(|line| line.born.is_none() && line.steps.is_empty());
        let follows = tail.0.checked_add(1) == Some(seq.0)
            || begins
            || seq > tail && Self::stands_for(cx, (entity, epoch, owner), tail, seq);
        // What is between stands in the log alone.
        let skips = !follows && seq > tail && cx.is_written(entity, tail, Seq(seq.0 - 1));
        let follows = follows || skips;
        out.check(follows, entity, &[last, Some(here.at)], || {
            format!("{} accepted step {seq} after step {tail}", here.node)
        });
        if !skips && known.is_some_and(|known| known != prev_digest) {
            out.accuse(entity, &[last, Some(here.at)], || {
                format!("step {seq} goes on from another state than step {tail} led to")
            });
        }
        let chain = cx.state.chain(owner, entity, epoch);
        match chain.and_then(|chain| chain.step(seq)) {
            Some((made, at)) if made != digest => {
                out.accuse(entity, &[Some(at), Some(here.at)], || {
                    format!("{} and {owner} differ after step {seq}", here.node)
                });
            }
            None if cx.sees(owner) => {
                out.accuse(entity, &[last, Some(here.at)], || {
                    format!("step {seq} was accepted and {owner} never made it")
                });
            }
            _ => {}
        }
    }

    fn owner_changed(here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::OwnerChanged { entity, seq, .. } = *here.event else { return };
        let Some(line) = cx.state.lines.get(&entity) else { return };
        let Some(last) = line.steps.last() else { return };
        let follows =
            last.seq == seq || !cx.sees_line(here, entity) || cx.is_written(entity, last.seq, seq);
        out.check(follows, entity, &[Some(last.at), Some(here.at)], || {
            format!("ownership changed at step {seq}; the lineage stands at step {}", last.seq)
        });
    }

    fn activated(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Activated { entity, epoch, seq, digest, base, .. } = *here.event else { return };
        self.made.insert((here.at.proc, entity), (epoch, seq, digest, here.at));
        let Some(line) = cx.state.lines.get(&entity) else { return };
        let Some(owner) = line.ownership(epoch) else { return };
        let image = line.step(owner.seq);
        let at = image.map_or(owner.at, |image| image.at);
        let same = !cx.sees(base)
            || !cx.sees_slot(entity.slot())
            || seq == owner.seq && image.is_none_or(|image| image.digest == digest);
        out.check(same, entity, &[Some(at), Some(here.at)], || {
            format!("{} began epoch {epoch} with another image than its base has", here.node)
        });
    }

    fn stepped(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        let Event::Stepped { entity, epoch, seq, prev_digest, digest } = *here.event else {
            return;
        };
        let before = self.made.insert((here.at.proc, entity), (epoch, seq, digest, here.at));
        let Some((last_epoch, last, last_digest, at)) = before else { return };
        if last_epoch != epoch {
            return;
        }
        let follows = last.0.checked_add(1) == Some(seq.0) && prev_digest == last_digest
            || !cx.sees_here(here);
        out.check(follows, entity, &[Some(at), Some(here.at)], || {
            format!("{} made step {seq} that does not follow its step {last}", here.node)
        });
    }
}

impl Watch for OneChain {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Accepted, Kind::OwnerChanged, Kind::Activated, Kind::Stepped]
    }

    fn on(&mut self, here: &Here<'_>, cx: &Cx<'_>, out: &mut Findings) {
        match here.event {
            Event::Accepted { .. } => Self::accepted(here, cx, out),
            Event::OwnerChanged { .. } => Self::owner_changed(here, cx, out),
            Event::Activated { .. } => self.activated(here, cx, out),
            _ => self.stepped(here, cx, out),
        }
    }
}
