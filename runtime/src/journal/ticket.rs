//! When what a tick sends may leave: after the record of that tick was handed to the operating
//! system.

use tokio::sync::watch;

/// The writer's side: how many records are written, in the order of their appending.
#[derive(Debug)]
pub struct Written(watch::Sender<u64>);

impl Written {
    /// Nothing is written yet.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// Everything up to the record number `n`, from 1, is written. Never goes back.
    pub fn advance(&self, n: u64) {
        self.0.send_if_modified(|written| {
            let news = n > *written;
            *written = n.max(*written);
            news
        });
    }

    /// The newest written record.
    #[must_use]
    pub fn newest(&self) -> u64 {
        *self.0.borrow()
    }

    /// A ticket that completes when the record number `n` is written.
    #[must_use]
    pub fn ticket(&self, n: u64) -> ReleaseTicket {
        ReleaseTicket(Some((n, self.0.subscribe())))
    }
}

impl Default for Written {
    fn default() -> Self {
        Self::new()
    }
}

/// The journal ended before it wrote the record: what waits for it must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal ended before the record of this tick was written")]
pub struct NeverWritten;

/// Says when one record is written. Waiting is for the input and output side; the tick thread
/// only passes tickets on.
#[derive(Clone, Debug)]
pub struct ReleaseTicket(Option<(u64, watch::Receiver<u64>)>);

impl ReleaseTicket {
    /// For a process without a journal: complete from the start.
    #[must_use]
    pub const fn open() -> Self {
        Self(None)
    }

    /// Whether the record is written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.0.as_ref().is_none_or(|(n, written)| *written.borrow() >= *n)
    }

    /// Waits until the record is written.
    ///
    /// # Errors
    /// The journal ended without it.
    pub async fn written(&mut self) -> Result<(), NeverWritten> {
        let Some((n, written)) = &mut self.0 else { return Ok(()) };
        let n = *n;
        written.wait_for(|newest| *newest >= n).await.map(|_| ()).map_err(|_| NeverWritten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ticket_completes_with_its_record_and_not_before() {
        let written = Written::new();
        let mut second = written.ticket(2);
        written.advance(1);
        assert!(!second.is_written());
        written.advance(3);
        written.advance(2);
        assert_eq!(written.newest(), 3);
        assert_eq!(second.written().await, Ok(()));
    }

    #[tokio::test]
    async fn a_record_that_the_journal_never_wrote_releases_nothing() {
        let written = Written::new();
        let mut ticket = written.ticket(1);
        drop(written);
        assert_eq!(ticket.written().await, Err(NeverWritten));
        assert!(ReleaseTicket::open().is_written());
    }
}
