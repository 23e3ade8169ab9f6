//! Which gateway a client belongs to: the one on the baseapp that keeps its entity's slot.

use super::Gateway;
use super::translate::{down, ended};
use marchland_baseapp_core::account_slot;
use marchland_common::order::{SessionId, SlotId};
use marchland_proto::client::{self as wire, Down, down};

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

    pub(super) fn route_session(&self, session: SessionId) -> Route {
        self.route(session.slot())
    }

    /// What a client is told whose session goes on elsewhere. If nobody knows where at present, it
    /// comes back and asks.
    pub(super) fn moved(&self, session: SessionId) -> Down {
        match self.route_session(session) {
            Route::There(address) => down(down::What::Redirect(wire::Redirect { address })),
            Route::Here | Route::NotYet(_) => ended("draining"),
        }
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
