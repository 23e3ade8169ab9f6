//! Who lives in a run: wolves spread over the bases, and where a player's base is.

use crate::config::SimConfig;
use marchland_baseapp_core::account_slot;
use marchland_baseapp_core::io::BaseOrder;
use marchland_common::order::{NodeKind, NodeName};
use marchland_frontier_core::{WOLF, wolf_dens};

/// The orders that create the wolves, by base.
pub(crate) fn wolves(config: &SimConfig) -> Vec<(NodeName, BaseOrder)> {
    let order = |(i, place): (usize, _)| {
        let base = base_name(config, i as u8);
        let order = BaseOrder::Create {
            request: i as u64,
            kind: WOLF,
            place,
            argument: Vec::new(),
            props: Vec::new(),
        };
        (base, order)
    };
    wolf_dens(config.wolves, config.seed).into_iter().enumerate().map(order).collect()
}

/// The planner deals slots out in turn, so the n-th slot belongs to the n-th base.
fn base_name(config: &SimConfig, slot: u8) -> NodeName {
    NodeName { kind: NodeKind::Base, number: u16::from(slot) % config.bases + 1 }
}

/// Which base keeps an account.
pub(crate) fn base_of(config: &SimConfig, account: &str) -> NodeName {
    base_name(config, account_slot(account).0)
}
