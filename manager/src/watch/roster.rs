//! Every life that was ever registered and was not given up, with its address: a life whose key
//! ran out must still be asked before anything is said about it. Who has links tells of them where
//! it is linked to.

use marchland_common::order::{Node, NodeKind};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use tokio::sync::watch;

/// Followed by the prober. A name has at most one life here that is not about to be given up: a
/// later one replaces it.
#[derive(Clone, Debug)]
pub(crate) struct Roster(watch::Sender<BTreeMap<Node, String>>);

impl Roster {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(BTreeMap::new()))
    }

    /// The map changed.
    pub(crate) fn follow(&self, seen: &Seen) {
        self.0.send_if_modified(|lives| {
            let before = lives.clone();
            for member in &seen.members {
                if matches!(member.info.name.kind, NodeKind::Cell | NodeKind::Base) {
                    lives.insert(member.node(), member.info.link_addr.clone());
                }
            }
            lives.retain(|node, _| !seen.dead.contains(&node.incarnation));
            *lives != before
        });
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<BTreeMap<Node, String>> {
        self.0.subscribe()
    }
}
