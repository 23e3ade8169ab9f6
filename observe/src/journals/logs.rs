//! The bases' write-ahead logs beside their journals, read by whoever knows their records.

use super::Journals;
use marchland_common::journal::LogAccount;
use marchland_common::order::NodeName;
use std::collections::BTreeMap;

/// What is on disk of one base's log, over all its lives.
#[derive(Clone, Debug)]
pub struct BaseLog {
    /// Whose log it is.
    pub base: NodeName,
    /// What it says, up to the first fault.
    pub account: LogAccount,
    /// What is broken in it, for people. An end that a crash tore off is no fault: nobody was
    /// promised what it held.
    pub faults: Vec<String>,
}

impl Journals {
    /// Adds the bases' logs. They must have been read after the journals: then everything that
    /// the journals say to be durable was on disk.
    #[must_use]
    pub fn with_logs(mut self, logs: Vec<BaseLog>) -> Self {
        for log in logs {
            let base = log.base;
            if self.logs.insert(base, log).is_some() {
                self.strays.push(format!("there is more than one log of {base}"));
            }
        }
        self
    }

    /// The logs, by base.
    #[must_use]
    pub const fn logs(&self) -> &BTreeMap<NodeName, BaseLog> {
        &self.logs
    }
}
