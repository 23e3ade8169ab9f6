//! Which gateway a client belongs to: the one on the baseapp that keeps its entity's slot.
//!
//! A gateway may have two addresses: one for clients anywhere, and the one that processes of the
//! cluster use, where bots may stand as well. A client that called this gateway by its inside
//! address is sent to inside addresses, all others to those for everybody.

use super::Gateway;
use super::translate::{ended, redirect};
use marchland_baseapp_core::account_slot;
use marchland_common::order::{SessionId, SlotId};
use marchland_proto::client::Down;
use tonic::codegen::http;

/// The key in a member's value of the address for everybody.
pub const GATEWAY: &str = "gateway";
/// The key of the address that works inside.
pub const GATEWAY_INSIDE: &str = "gateway-inside";

/// What a client called the gateway: the authority of its request.
#[derive(Clone, Debug)]
struct CalledAs(String);

/// Notes what the client called us where the service finds it.
pub fn note_name<B>(mut request: http::Request<B>) -> http::Request<B> {
    if let Some(name) = request.uri().authority() {
        let called = CalledAs(name.to_string());
        request.extensions_mut().insert(called);
    }
    request
}

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
    pub(super) fn is_called_from_inside(&self, noted: &http::Extensions) -> bool {
        noted.get().is_some_and(|CalledAs(name)| *name == self.inside)
    }

    pub(super) fn route_account(&self, account: &str, inside: bool) -> Route {
        self.route(account_slot(account), inside)
    }

    pub(super) fn route_session(&self, session: SessionId, inside: bool) -> Route {
        self.route(session.slot(), inside)
    }

    /// What a client is told whose session goes on at another keeper: where, or to ask any gateway.
    pub(super) fn sent_on(&self, session: SessionId, inside: bool) -> Down {
        match self.route_session(session, inside) {
            Route::There(address) => redirect(address),
            Route::Here | Route::NotYet(_) => ended("draining"),
        }
    }

    fn route(&self, slot: SlotId, inside: bool) -> Route {
        let seen = self.feed.seen();
        let Some(owner) = seen.slots.iter().find(|s| s.slot == slot) else {
            return Route::NotYet(format!("nobody keeps slot {slot} yet"));
        };
        if owner.base == self.name {
            return Route::Here;
        }
        let address_key = if inside { GATEWAY_INSIDE } else { GATEWAY };
        let keeper = seen.members.iter().filter(|m| m.info.name == owner.base);
        let address =
            keeper.max_by_key(|m| m.incarnation).and_then(|m| m.info.extra.get(address_key));
        match address {
            Some(address) => Route::There(format!("http://{address}")),
            None => Route::NotYet(format!("{}, which keeps slot {slot}, is away", owner.base)),
        }
    }
}
