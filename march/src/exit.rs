//! How the program ends: exit codes, and errors that say what, where, what stayed unchanged and
//! what to do next.

use std::fmt;

/// A check failed.
pub(crate) const CHECK_FAILED: u8 = 1;
/// The command line makes no sense.
pub(crate) const USAGE: u8 = 2;
/// There is no such thing.
pub(crate) const NOT_FOUND: u8 = 3;
/// Refused by a rule.
pub(crate) const REFUSED: u8 = 4;
/// A deadline passed.
pub(crate) const TIMEOUT: u8 = 5;
/// Nobody answers.
pub(crate) const UNREACHABLE: u8 = 6;
/// Versions do not meet.
pub(crate) const INCOMPATIBLE: u8 = 7;
/// A fault of this program.
pub(crate) const INTERNAL: u8 = 70;

/// Why a verb did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    what: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), hint: None }
    }

    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self::new(INTERNAL, what)
    }

    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(USAGE, what)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What a remote answer means for the exit code.
    pub(crate) fn of_status(status: &tonic::Status, doing: &str) -> Self {
        let code = match status.code() {
            tonic::Code::NotFound => NOT_FOUND,
            tonic::Code::InvalidArgument => USAGE,
            tonic::Code::FailedPrecondition | tonic::Code::ResourceExhausted => REFUSED,
            tonic::Code::DeadlineExceeded => TIMEOUT,
            tonic::Code::Unavailable => UNREACHABLE,
            tonic::Code::Unimplemented => INCOMPATIBLE,
            _ => INTERNAL,
        };
        Self::new(code, format!("{doing}: {}", status.message()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}
