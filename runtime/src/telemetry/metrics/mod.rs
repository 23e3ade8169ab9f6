//! Metrics in the text form of Prometheus: the same counters that the operator's answer has, under
//! the names that dashboards and alerts use, and histograms.
//!
//! What is shown is put together when somebody asks, and never by the tick thread.

mod names;

pub use names::{FAMILIES, Family, From, Kind};

use super::Counters;
use super::histogram::Counted;
use names::{OTHER, family, is_left_out};
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::collections::BTreeMap;
use std::fmt;

/// The labels of a line.
type Labels = Vec<(&'static str, String)>;

/// Everything that is shown at one moment.
#[derive(Debug, Default)]
pub struct Sheet(BTreeMap<&'static str, BTreeMap<Labels, Shown>>);

#[derive(Clone, Debug, PartialEq)]
enum Shown {
    Number(f64),
    Histogram(Counted),
}

/// Whoever knows something that is shown, and that no counter holds.
pub trait Source: Send + Sync {
    /// Puts it down.
    fn show(&self, sheet: &mut Sheet);
}

impl Sheet {
    /// Puts down a number of a family. What the catalogue does not know is not shown.
    pub fn number(&mut self, family: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.put(family, labels, Shown::Number(value));
    }

    pub(super) fn histogram(
        &mut self,
        family: &'static str,
        labels: &[(&'static str, &'static str)],
        counted: Counted,
    ) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.put(family, labels, Shown::Histogram(counted));
    }

    /// Puts down all counters and histograms of a process.
    #[allow(clippy::cast_precision_loss)]
    pub fn counters(&mut self, counters: &Counters) {
        self.zeros();
        for (name, value) in counters.snapshot() {
            let mut is_known = is_left_out(&name);
            for family in FAMILIES {
                for (labels, unit) in family.from.iter().filter_map(|from| from.takes(&name)) {
                    is_known = true;
                    self.put(family.name, labels, Shown::Number(value as f64 * unit));
                }
            }
            if !is_known {
                self.number(OTHER, &[("counter", &name)], value as f64);
            }
        }
        counters.show_histograms(self);
    }

    /// What never happened yet is shown as well: only so the first time can be seen.
    fn zeros(&mut self) {
        for family in FAMILIES.iter().filter(|family| family.kind == Kind::Counter) {
            for labels in family.from.iter().filter_map(From::of_one) {
                self.put(family.name, labels, Shown::Number(0.0));
            }
        }
    }

    fn put(&mut self, family: &'static str, labels: Labels, shown: Shown) {
        self.0.entry(family).or_default().insert(labels, shown);
    }

    /// Writes it for whoever asked.
    ///
    /// # Errors
    /// The writer failed.
    pub fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for (name, lines) in &self.0 {
            let Some(family) = family(name) else { continue };
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            let mut of_family = encoder.encode_descriptor(name, family.help, None, kind)?;
            for (labels, shown) in lines {
                let mut line = of_family.encode_family(labels)?;
                match (shown, family.kind) {
                    (Shown::Number(n), Kind::Counter) => {
                        line.encode_counter::<NoLabelSet, f64, f64>(n, None)?;
                    }
                    (Shown::Number(n), Kind::Gauge) => line.encode_gauge(n)?,
                    (Shown::Histogram(Counted { sum, count, buckets }), Kind::Histogram) => {
                        line.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
