//! Whether this build may join: the links of a cluster speak one protocol.
//!
//! `meta` says which, and whoever leads writes it. A cluster in which nobody is registered takes the
//! protocol of the build that it is started with: there is nobody who could not be talked to. So
//! whoever joins is let in then, waits until somebody leads, and goes by what that one says.

use super::feed::Seen;
use crate::coord::MetaValue;
use crate::link::PROTO;
use marchland_common::order::NodeName;

/// The cluster speaks protocols that this build does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this build speaks protocol {ours}, the cluster speaks {oldest} to {newest}: start the build \
     that fits it, or stop every process of the other one first; nothing was changed"
)]
pub struct ProtocolMismatch {
    /// What this build speaks.
    pub ours: u32,
    /// The oldest that the cluster speaks.
    pub oldest: u32,
    /// The newest.
    pub newest: u32,
}

impl ProtocolMismatch {
    const fn with(meta: MetaValue) -> Self {
        Self { ours: PROTO, oldest: meta.proto_min, newest: meta.proto_max }
    }
}

/// Before a name is taken: refuses a cluster with which no link could be made, for whoever is
/// registered is given work. Somebody else must be there who speaks otherwise.
///
/// # Errors
/// [`ProtocolMismatch`].
pub fn may_join(seen: &Seen, name: NodeName) -> Result<(), ProtocolMismatch> {
    let Some(meta) = seen.meta.filter(|meta| !meta.speaks(PROTO)) else { return Ok(()) };
    let others = seen.members.iter().filter(|member| member.info.name != name);
    let leader = seen.leader.iter().filter(|leader| leader.name != name);
    let mut spoken = others.map(|m| m.info.proto).chain(leader.map(|l| l.proto));
    if spoken.any(|proto| proto != PROTO) { Err(ProtocolMismatch::with(meta)) } else { Ok(()) }
}

/// After it: the cluster's identity, once it says that it speaks what this build does. None as long
/// as that may still come.
///
/// # Errors
/// [`ProtocolMismatch`]: somebody leads who speaks otherwise.
pub fn settled(seen: &Seen) -> Option<Result<MetaValue, ProtocolMismatch>> {
    let meta = seen.meta?;
    if meta.speaks(PROTO) {
        return Some(Ok(meta));
    }
    // One who speaks as we do has not written it yet.
    let other = seen.leader.as_ref().is_some_and(|leader| leader.proto != PROTO);
    other.then(|| Err(ProtocolMismatch::with(meta)))
}
