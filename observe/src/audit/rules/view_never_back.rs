//! A client's view only goes forward.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;
use crate::merge::At;
use marchland_common::journal::Event;
use marchland_common::order::{EntityId, Epoch, Seq, SessionId, Tick};
use rustc_hash::FxHashMap;

/// One client life, session and entity.
type Key = (u32, SessionId, EntityId);

pub struct ViewNeverBack {
    seen: FxHashMap<Key, ((Epoch, Tick), At)>,
    confirmed: FxHashMap<Key, (Seq, At)>,
}

impl ViewNeverBack {
    pub fn new(_: &AuditOptions) -> Self {
        Self { seen: FxHashMap::default(), confirmed: FxHashMap::default() }
    }
}

impl Watch for ViewNeverBack {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::ClientSaw]
    }

    fn on(&mut self, here: &Here<'_>, _: &Cx<'_>, out: &mut Findings) {
        let Event::ClientSaw { session, entity, epoch, tick, confirmed, .. } = *here.event else {
            return;
        };
        let key = (here.at.proc, session, entity);
        let seen = (epoch, tick);
        let (last, at) = *self.seen.entry(key).or_insert((seen, here.at));
        out.check(seen >= last, entity, &[Some(at), Some(here.at)], || {
            let (last_epoch, last_tick) = last;
            format!(
                "session {session} saw tick {tick} of epoch {epoch} after tick {last_tick} of \
                 epoch {last_epoch}"
            )
        });
        if seen > last {
            self.seen.insert(key, (seen, here.at));
        }
        let Some(seq) = confirmed else { return };
        let (last, at) = *self.confirmed.entry(key).or_insert((seq, here.at));
        if seq < last {
            out.accuse(entity, &[Some(at), Some(here.at)], || {
                format!("session {session} was told step {seq} after step {last} was confirmed")
            });
        } else {
            self.confirmed.insert(key, (seq, here.at));
        }
    }
}
