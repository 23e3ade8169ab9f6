//! How a process is told to give away what it has. It stays, and takes nothing new, until it ends.

use std::future::pending;
use tokio::sync::watch;

/// Whether that was ordered. Clones share it; an order is never taken back.
#[derive(Clone, Debug)]
pub struct DrainOrder(watch::Sender<bool>);

impl Default for DrainOrder {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl DrainOrder {
    /// It is ordered. Repeating it changes nothing.
    pub fn give(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was ordered.
    #[must_use]
    pub fn is_given(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is ordered.
    pub async fn given(&self) {
        if self.0.subscribe().wait_for(|given| *given).await.is_err() {
            // Nobody is left who could order it.
            pending::<()>().await;
        }
    }
}
