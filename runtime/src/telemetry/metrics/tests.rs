//! What the text says, and that the catalogue is in order.

use super::*;
use crate::telemetry::Histogram;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;
use std::collections::BTreeSet;

#[derive(Debug)]
struct Of(Counters);

impl Collector for Of {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut sheet = Sheet::default();
        sheet.counters(&self.0);
        sheet.encode(encoder)
    }
}

fn text(counters: &Counters) -> String {
    let (mut registry, mut text) = (Registry::default(), String::new());
    registry.register_collector(Box::new(Of(counters.clone())));
    prometheus_text::encode(&mut text, &registry).expect("a string takes everything");
    text
}

#[test]
fn a_counter_is_shown_under_the_name_and_the_labels_of_the_catalogue_and_in_its_unit() {
    let counters = Counters::default();
    counters.counter("ticks_run").add(41);
    counters.counter("refused_stale_epoch").add(2);
    counters.counter("bundles_in_cell-2").add(3);
    counters.counter("clock_dropped_us").add(1_500_000);
    counters.counter("tick_us_p50").set(9);
    counters.counter("something_new").add(5);
    let text = text(&counters);
    for line in [
        "# TYPE march_ticks counter",
        "march_ticks_total 41.0",
        "march_bundle_dropped_total{reason=\"stale_epoch\"} 2.0",
        "march_bundles_total{dir=\"in\",peer=\"cell-2\"} 3.0",
        "march_clock_dropped_seconds_total{policy=\"drop\"} 1.5",
        "march_other{counter=\"something_new\"} 5.0",
    ] {
        assert!(
            text.lines().any(|l| l == line || l.replace("_total counter", " counter") == line),
            "{line} is not in\n{text}"
        );
    }
    assert!(!text.contains("tick_us_p50"), "{text}");
}

#[test]
fn a_histogram_is_shown_with_its_labels_and_adds_its_buckets_up() {
    let counters = Counters::default();
    let new = || Histogram::new(&[1_000, 2_000], 1e-6);
    let one = counters.histogram("march_tick_duration_seconds", &[("phase", "flush")], new);
    [500, 1_500, 9_000].into_iter().for_each(|us| one.record(us));
    let text = text(&counters);
    for line in [
        "march_tick_duration_seconds_bucket{phase=\"flush\",le=\"0.001\"} 1",
        "march_tick_duration_seconds_bucket{phase=\"flush\",le=\"0.002\"} 2",
        "march_tick_duration_seconds_bucket{phase=\"flush\",le=\"+Inf\"} 3",
        "march_tick_duration_seconds_count{phase=\"flush\"} 3",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[test]
fn names_are_unique_follow_the_rules_and_say_what_they_are_about() {
    let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert_eq!(names.len(), FAMILIES.len());
    for family in FAMILIES {
        let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(family.name.starts_with("march_") && family.name.chars().all(is_word));
        assert!(!family.name.ends_with("_total") && !family.help.ends_with('.'), "{}", family.name);
        assert!(family.kind != Kind::Histogram || family.from.is_empty(), "{}", family.name);
    }
}
