//! How logs look, on the command line.

use clap::ValueEnum;
use marchland_runtime::telemetry::LogFormat;

/// The form of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines for people on a terminal, JSON elsewhere.
    Auto,
    /// Lines for people.
    Pretty,
    /// One JSON object a line.
    Json,
}

impl From<LogForm> for LogFormat {
    fn from(form: LogForm) -> Self {
        match form {
            LogForm::Auto => Self::Auto,
            LogForm::Pretty => Self::Pretty,
            LogForm::Json => Self::Json,
        }
    }
}
