//! Which gateway a client belongs to: the one on the baseapp that keeps its entity's slot.

use super::Gateway;
use marchland_baseapp_core::account_slot;
use marchland_common::order::{SessionId, SlotId};

/// Where a client is to go.
pub(super) enum Route {
    /// It is right here.
    Here,
    /// To this address.
    There(String),
    /// Nobody keeps the slot yet, or its keeper is away: it may try again.
    NotYet(String),
}

impl Gateway {
    pub(super) fn route_account(&self, account: &str) -> Route {
        self.route(account_slot(account))
    }

    /// A session's slot is in its low byte, as that of an entity.
    pub(super) fn route_session(&self, session: SessionId) -> Route {
        self.route(SlotId((session.0 & 0xff) as u8))
    }

    fn route(&self, slot: SlotId) -> Route {
        let seen = self.feed.seen();
        let Some(owner) = seen.slots.iter().find(|s| s.slot == slot) else {
            return Route::NotYet(format!("nobody keeps slot {slot} yet"));
        };
        if owner.base == self.name {
            return Route::Here;
        }
        let keeper = seen.members.iter().filter(|m| m.info.name == owner.base);
        let address =
            keeper.max_by_key(|m| m.incarnation).and_then(|m| m.info.extra.get("gateway"));
        match address {
            Some(address) => Route::There(format!("http://{address}")),
            None => Route::NotYet(format!("{}, which keeps slot {slot}, is away", owner.base)),
        }
    }
}
