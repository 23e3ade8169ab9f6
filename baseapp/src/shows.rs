//! What a baseapp shows of one entity to whoever looks: its record, and whether it would let it be
//! handed over. Made on the tick thread, from the core alone, and only when asked.

use crate::door::{text_of, verdict};
use marchland_baseapp_core::BaseCore;
use marchland_common::world::Kinds;
use marchland_proto::observer::PassportReply;
use marchland_runtime::observe::Subject;

/// One entity as its record stands here.
pub(crate) fn passport(core: &BaseCore, kinds: &Kinds, subject: Subject) -> PassportReply {
    let Subject { entity, to } = subject;
    let tick = core.last_tick().0;
    let mut reply = PassportReply { tick, role: "none".to_owned(), ..PassportReply::default() };
    let Some(brief) = core.brief(entity) else { return reply };
    let kind = kinds.get(brief.kind);
    let name = |index: u8| {
        let prop = kind.and_then(|kind| kind.props.get(usize::from(index)));
        prop.map_or_else(|| index.to_string(), |prop| prop.name.clone())
    };
    reply.role = "base".to_owned();
    reply.kind = kind.map_or_else(|| brief.kind.to_string(), |kind| kind.name.clone());
    reply.space = brief.place.space.0;
    (reply.x, reply.y) = (brief.place.pos.x, brief.place.pos.y);
    (reply.epoch, reply.seq, reply.state_tick) = (brief.epoch.grant(), brief.seq.0, tick);
    reply.digest = core.digest_of(entity);
    reply.owner = brief.owner.to_string();
    reply.fields = brief.durable.iter().map(|(i, value)| (name(*i), text_of(value))).collect();
    reply.pinned = brief.pinned.map(|until| until.0);
    if let Some(Err(reason)) = to.map(|to| core.may_order(entity, to)) {
        reply.held = verdict(Some(reason)).1.to_owned();
    }
    reply
}
