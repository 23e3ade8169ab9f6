//! A recording as a trace for timeline viewers such as ui.perfetto.dev: a process for each life, a
//! slice for each tick and its phases, arrows for bundles and handoffs, marks for what happened.
//!
//! A journal holds ticks and no times: everything stands where a cluster in step would do it, and is
//! marked as nominal; so an arrow may lead back, from late in a tick to early in it. Two forms: the
//! Chrome trace event format (JSON), and TrackEvent (protobuf).

mod json;
mod model;
mod proto;
#[cfg(test)]
mod tests;

pub use model::{Figures, Form, TraceOptions};

use crate::causal::Catalog;
use crate::journals::Journals;
use model::draw;
use std::io::{self, Write};

/// Writes a trace of a recording. What it holds and what was left out is returned.
///
/// # Errors
/// Only what the writer says.
pub fn trace(
    journals: &Journals,
    catalog: &Catalog,
    options: &TraceOptions,
    form: Form,
    out: &mut dyn Write,
) -> io::Result<Figures> {
    match form {
        Form::Json => {
            let mut paint = json::Json::begin(out, options)?;
            let figures = draw(journals, catalog, options, &mut paint)?;
            paint.end()?;
            Ok(figures)
        }
        Form::TrackEvent => draw(journals, catalog, options, &mut proto::TrackEvents::new(out)),
    }
}
