//! What clients see: pieces of the view and notices, passed on in order, speculative, never of an
//! epoch below one that the client saw, and from a piece on that begins anew.

use crate::core::BaseCore;
use crate::io::{ClientFrame, ToClient};
use bytes::Bytes;
use marchland_common::journal::Refused;
use marchland_common::msg::View;
use marchland_common::order::{EntityId, Node};

impl BaseCore {
    pub(crate) fn on_view(&mut self, from: Node, view: View) {
        let View { entity, session, epoch, tick, fresh, body } = view;
        let Some(lineage) = self.store.entities.get(&entity) else {
            return self.refuse(Refused::UnknownEntity, from, entity);
        };
        // The old owner's last piece may stand behind its request to hand over.
        let may_show =
            (lineage.owner == from && lineage.epoch == epoch) || lineage.is_fallback(from, epoch);
        if !may_show {
            return self.refuse(Refused::StaleEpoch, from, entity);
        }
        let stream = self.streams.get_mut(&session).filter(|s| s.entity == entity);
        let Some(stream) = stream else {
            return self.refuse(Refused::UnknownSession, from, entity);
        };
        if epoch < stream.view_epoch {
            return self.refuse(Refused::StaleEpoch, from, entity);
        }
        stream.shown |= stream.open && fresh;
        if stream.open && stream.shown {
            stream.view_epoch = epoch;
            let what = ClientFrame::View { epoch, tick, fresh, body };
            self.tell_client(ToClient { session, what });
        }
    }

    pub(crate) fn on_notice(&mut self, from: Node, entity: EntityId, payload: Bytes) {
        let owner = self.store.entities.get(&entity).map(|lineage| lineage.owner);
        if owner != Some(from) {
            return self.refuse(Refused::NotOwner, from, entity);
        }
        if let Some(session) = self.open_session_of(entity) {
            self.tell_client(ToClient { session, what: ClientFrame::Notice(payload) });
        }
    }
}
