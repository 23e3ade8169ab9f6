//! The Chrome trace event format, as a JSON object with `traceEvents`. Slices are complete events
//! (`X`), marks instants of their thread (`i`), arrows flow events (`s`, `t`, `f`) that are bound to
//! the slice around them.

use super::model::{Arrow, ArrowEnd, ArrowKind, Mark, Paint, Slice, TraceOptions, Track, Value};
use serde_json::{Map, json};
use std::io::{self, Write};

pub(super) struct Json<'a> {
    out: &'a mut dyn Write,
    is_first: bool,
}

impl<'a> Json<'a> {
    pub fn begin(out: &'a mut dyn Write, options: &TraceOptions) -> io::Result<Self> {
        let other = json!({
            "times": "nominal: journals hold ticks and no times; a tick stands where a cluster in step \
                      would run it",
            "step_us": options.step_us,
        });
        write!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{other},\"traceEvents\":[")?;
        Ok(Self { out, is_first: true })
    }

    pub fn end(self) -> io::Result<()> {
        writeln!(self.out, "\n]}}")
    }

    fn write(&mut self, event: &serde_json::Value) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        write!(self.out, "{comma}\n{event}")
    }

    fn name(&mut self, what: &str, track: Track, name: &str) -> io::Result<()> {
        let Track { process, row } = track;
        self.write(&json!({
            "ph": "M", "name": what, "pid": process, "tid": row, "ts": 0, "args": { "name": name },
        }))
    }

    fn arrow(&mut self, slice: &Slice<'_>, arrow: &Arrow) -> io::Result<()> {
        let (name, cat) = match arrow.what {
            ArrowKind::Bundle => ("bundle", "bundle"),
            ArrowKind::Handoff => ("handoff", "handoff"),
        };
        // What arrives does so at the beginning, what leaves at the end, both inside of the slice.
        let (ph, at_us) = match arrow.end {
            ArrowEnd::Begins => ("s", slice.at_us + slice.long_us.saturating_sub(1)),
            ArrowEnd::Passes => ("t", slice.at_us + slice.long_us / 2),
            ArrowEnd::Arrives => ("f", slice.at_us),
        };
        let Track { process, row } = slice.track;
        let mut event = json!({
            "ph": ph, "id": format!("0x{:x}", arrow.id), "name": name, "cat": cat,
            "pid": process, "tid": row, "ts": at_us,
        });
        if ph == "f" {
            event["bp"] = "e".into();
        }
        self.write(&event)
    }
}

fn args(values: &[(&'static str, Value)]) -> Map<String, serde_json::Value> {
    let value = |value: &Value| match value {
        Value::Number(n) => json!(n),
        Value::Flag(flag) => json!(flag),
        Value::Text(text) => json!(text),
    };
    values.iter().map(|(name, what)| ((*name).to_owned(), value(what))).collect()
}

impl Paint for Json<'_> {
    fn process(&mut self, process: u64, name: &str) -> io::Result<()> {
        self.name("process_name", Track { process, row: 0 }, name)?;
        self.write(&json!({
            "ph": "M", "name": "process_sort_index", "pid": process, "tid": 0, "ts": 0,
            "args": { "sort_index": process },
        }))
    }

    fn row(&mut self, track: Track, name: &str) -> io::Result<()> {
        self.name("thread_name", track, name)
    }

    fn begin(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let Track { process, row } = slice.track;
        self.write(&json!({
            "ph": "X", "name": slice.name, "cat": "tick", "pid": process, "tid": row,
            "ts": slice.at_us, "dur": slice.long_us, "args": args(slice.values),
        }))
    }

    fn end_of(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        slice.arrows.iter().try_for_each(|arrow| self.arrow(slice, arrow))
    }

    fn mark(&mut self, mark: &Mark<'_>) -> io::Result<()> {
        let Track { process, row } = mark.track;
        self.write(&json!({
            "ph": "i", "s": "t", "name": mark.name, "cat": "event", "pid": process, "tid": row,
            "ts": mark.at_us, "args": args(mark.values),
        }))
    }
}
