//! Logs to standard error: readable on a terminal, one JSON object a line elsewhere. Every line says
//! which process it is of, which life, and about which tick, as far as that is known.

use marchland_common::order::Tick;
use serde_json::{Map, Value};
use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The form of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people on a terminal, for programs elsewhere.
    #[default]
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

/// Who writes.
#[derive(Clone, Debug, Default)]
struct Identity {
    process: Option<String>,
    incarnation: Option<u64>,
}

static IDENTITY: Mutex<Identity> = Mutex::new(Identity { process: None, incarnation: None });
/// No tick ran yet.
const NO_TICK: u64 = u64::MAX;
static TICK: AtomicU64 = AtomicU64::new(NO_TICK);

/// From now on lines are of this process, and of this life of it once it has one.
pub fn log_as(process: &str, incarnation: Option<u64>) {
    let identity = Identity { process: Some(process.to_owned()), incarnation };
    *IDENTITY.lock().unwrap_or_else(PoisonError::into_inner) = identity;
}

/// From now on lines are about this tick.
pub(crate) fn log_tick(tick: Tick) {
    TICK.store(tick.0, Ordering::Relaxed);
}

fn identity() -> (Identity, Option<u64>) {
    let identity = IDENTITY.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (identity, Some(TICK.load(Ordering::Relaxed)).filter(|tick| *tick != NO_TICK))
}

/// Starts logging. `filter` is what to show (`info`, `marchland_runtime=debug`); the environment's
/// `MARCH_LOG` comes before it. Returns false when the process logs already.
pub fn init_logging(filter: &str, format: LogFormat) -> bool {
    let from_env = std::env::var("MARCH_LOG").ok();
    let wanted = from_env.as_deref().unwrap_or(filter);
    let filter = EnvFilter::try_new(wanted).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would say so on standard error, and panic because it cannot.
        .log_internal_errors(false);
    let terminal = std::io::stderr().is_terminal();
    let pretty = match format {
        LogFormat::Auto => terminal,
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    if pretty {
        let lines = tracing_subscriber::fmt::format().with_target(false).compact();
        builder.with_ansi(terminal).event_format(Lines(lines)).try_init().is_ok()
    } else {
        builder.event_format(Objects).try_init().is_ok()
    }
}

/// Lines for people: who, and when by ticks, stands before each.
struct Lines<F>(F);

impl<S, N, F> FormatEvent<S, N> for Lines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (Identity { process, incarnation }, tick) = identity();
        if let Some(process) = process {
            writer.write_str(&process)?;
            incarnation.map_or(Ok(()), |life| write!(writer, "@{life}"))?;
            tick.map_or(Ok(()), |tick| write!(writer, " t{tick}"))?;
            writer.write_char(' ')?;
        }
        self.0.format_event(context, writer, event)
    }
}

/// One object a line.
struct Objects;

impl<S, N> FormatEvent<S, N> for Objects
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (who, tick) = identity();
        writeln!(writer, "{}", object(&now(), event, who, tick))
    }
}

fn now() -> String {
    let mut text = String::new();
    // A clock that cannot be told is left out.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

/// An event's own fields come before what is known of the process.
fn object(at: &str, event: &Event<'_>, who: Identity, tick: Option<u64>) -> Value {
    let mut fields = Fields(Map::new());
    fields.0.insert("timestamp".to_owned(), at.into());
    fields.0.insert("level".to_owned(), event.metadata().level().as_str().into());
    let known = [
        ("process", who.process.map(Value::from)),
        ("incarnation", who.incarnation.map(Value::from)),
        ("tick", tick.map(Value::from)),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            fields.0.insert(name.to_owned(), value);
        }
    }
    event.record(&mut fields);
    Value::Object(fields.0)
}

/// Fields of an event as JSON.
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::{Context, SubscriberExt};

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<Value>>>);

    impl<S: Subscriber> Layer<S> for Heard {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let who = Identity { process: Some("cell-3".to_owned()), incarnation: Some(7) };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(object(
                "now",
                event,
                who,
                Some(40),
            ));
        }
    }

    #[test]
    fn a_line_says_of_which_process_life_and_tick_it_is_and_its_own_fields_come_first() {
        let heard = Heard::default();
        let subscriber = tracing_subscriber::registry().with(heard.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(count = 3, why = ?"x", "something");
            tracing::warn!(tick = 41, "late");
        });
        let lines = heard.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let expected = serde_json::json!({
            "timestamp": "now", "level": "WARN", "process": "cell-3", "incarnation": 7, "tick": 40,
            "count": 3, "why": "\"x\"", "message": "something",
        });
        assert_eq!(lines[0], expected);
        assert_eq!(lines[1]["tick"], 41);
    }
}
