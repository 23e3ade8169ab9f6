//! For how long a log made no progress while records waited.

/// What was seen of the log last.
#[derive(Debug, Default)]
pub(crate) struct SaveAge {
    groups: u64,
    /// When records began to wait, or the log made progress last.
    since_ns: Option<u64>,
}

impl SaveAge {
    /// The log made so many groups durable, and so many records wait: for how many microseconds it
    /// made no progress; 0 while nothing waits.
    pub(crate) fn us(&mut self, groups: u64, waiting: u64, now_ns: u64) -> u64 {
        if waiting == 0 {
            self.since_ns = None;
            return 0;
        }
        if groups != self.groups {
            (self.groups, self.since_ns) = (groups, None);
        }
        now_ns.saturating_sub(*self.since_ns.get_or_insert(now_ns)) / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_records_wait_and_nothing_becomes_durable() {
        let mut age = SaveAge::default();
        assert_eq!(age.us(3, 1, 5_000), 0);
        assert_eq!(age.us(3, 2, 9_000), 4);
        assert_eq!(age.us(4, 2, 12_000), 0, "progress");
        assert_eq!(age.us(4, 2, 13_000), 1);
        assert_eq!((age.us(4, 0, 20_000), age.us(4, 1, 30_000)), (0, 0), "nothing waited");
    }
}
