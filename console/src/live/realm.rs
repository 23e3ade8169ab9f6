//! What a manager tells a console of its cluster.

use crate::frame::{StoreState, VerdictState};
use marchland_runtime::process::Seen;
use std::sync::Arc;
use tokio::sync::watch;
use tonic::transport::Channel;

/// A cluster as its manager knows it.
pub trait Realm: Send + Sync + 'static {
    /// The cluster's name.
    fn cluster(&self) -> String;
    /// What the store says.
    fn seen(&self) -> Arc<Seen>;
    /// The same as it changes.
    fn changes(&self) -> watch::Receiver<Arc<Seen>>;
    /// A connection to the process at `host:port`; none if that is no address.
    fn channel(&self, addr: &str) -> Option<Channel>;
    /// What is missing or wrong, in words.
    fn reasons(&self) -> Vec<String>;
    /// How the store is.
    fn store(&self) -> StoreState;
    /// Who was given up.
    fn verdicts(&self) -> Vec<VerdictState>;
}
