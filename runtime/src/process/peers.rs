//! Addresses of peers on their way from the map to the link plane. The map is followed before the
//! plane can be made: it says which cluster this is.

use super::feed::Seen;
use crate::link::{LinkPlane, PeerAddr};
use marchland_common::order::{Incarnation, Node};
use std::collections::BTreeSet;
use tokio::sync::watch;

/// What the map says about peers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Peers {
    addrs: Vec<PeerAddr>,
    dead: BTreeSet<Incarnation>,
}

/// The map's end.
#[derive(Debug)]
pub struct PeerBook(watch::Sender<Peers>);

/// The plane's end.
#[derive(Debug)]
pub struct PeerAddresses(watch::Receiver<Peers>);

impl PeerBook {
    /// Both ends.
    #[must_use]
    pub fn new() -> (Self, PeerAddresses) {
        let (tell, told) = watch::channel(Peers::default());
        (Self(tell), PeerAddresses(told))
    }

    /// The map changed.
    pub fn tell(&self, seen: &Seen) {
        self.0.send_replace(Peers { addrs: seen.peers(), dead: seen.dead.clone() });
    }
}

impl PeerAddresses {
    /// Tells the plane what the map said and will say. Must be called inside a tokio runtime;
    /// ends with the map.
    pub fn follow(mut self, plane: LinkPlane) {
        tokio::spawn(async move {
            let mut known: BTreeSet<Node> = BTreeSet::new();
            loop {
                let peers = self.0.borrow_and_update().clone();
                known.extend(peers.addrs.iter().map(|p| p.node));
                let buried: Vec<Node> = known
                    .iter()
                    .filter(|node| peers.dead.contains(&node.incarnation))
                    .copied()
                    .collect();
                plane.set_peers(peers.addrs);
                plane.bury(&buried);
                known.retain(|node| !buried.contains(node));
                if self.0.changed().await.is_err() {
                    return;
                }
            }
        });
    }
}
