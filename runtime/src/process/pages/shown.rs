//! What is shown of a process beside its counters: who it is, its links, its lease, and what it
//! hears of the store.

use crate::coord::{LeaseProof, RelistReason, Watcher};
use crate::link::{LinkPlane, PROTO};
use crate::process::Introduction;
use crate::telemetry::metrics::{Sheet, Source};
use crate::tick::monotonic_ns;
use marchland_common::link::ChannelId;
use marchland_common::order::NodeKind;
use tokio::sync::watch;
use tokio::time::Instant;

const fn flag(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
}

#[allow(clippy::cast_precision_loss)]
const fn level(value: u64) -> f64 {
    value as f64
}

impl Source for Introduction {
    fn show(&self, sheet: &mut Sheet) {
        let report = self.health.report();
        let build = [("version", env!("CARGO_PKG_VERSION")), ("protocol", &PROTO.to_string())];
        sheet.number("march_build_info", &build, 1.0);
        sheet.number("march_process_incarnation", &[], level(self.node.incarnation.0));
        sheet.number("march_ready", &[], flag(report.reasons.is_empty()));
        sheet.number("march_drained", &[], flag(report.drained));
        let roles: &[(&str, u64)] = match self.node.name.kind {
            NodeKind::Cell => &[("real", report.reals), ("ghost", report.ghosts)],
            NodeKind::Base => &[("base", report.entities)],
            NodeKind::Manager | NodeKind::Client => &[],
        };
        for (role, count) in roles {
            sheet.number("march_entities", &[("role", role)], level(*count));
        }
        if !roles.is_empty() {
            sheet.number("march_tick", &[], level(report.tick));
        }
        if self.node.name.kind == NodeKind::Base {
            sheet.number("march_sessions", &[], level(report.sessions));
        }
        sheet.counters(&self.counters);
    }
}

impl Source for LinkPlane {
    fn show(&self, sheet: &mut Sheet) {
        let now_ns = monotonic_ns();
        for peer in self.evidence() {
            let name = peer.peer.name.to_string();
            let labels = [("peer", name.as_str())];
            sheet.number("march_link_up", &labels, flag(peer.sending && peer.receiving));
            let silent_s = level(peer.silent_ns(now_ns) / 1_000_000) / 1_000.0;
            sheet.number("march_link_stall_seconds", &labels, silent_s);
        }
        for (peer, channel, counts) in self.counts() {
            let peer = peer.name.to_string();
            let channel = if channel == ChannelId::BULK { "bulk" } else { "ordered" };
            let labels = [("peer", peer.as_str()), ("channel", channel)];
            sheet.number("march_link_sent_bytes", &labels, level(counts.bytes));
        }
    }
}

/// A lease, as its registration knows it.
#[derive(Clone, Debug)]
pub struct LeaseSource(pub watch::Receiver<LeaseProof>);

impl Source for LeaseSource {
    fn show(&self, sheet: &mut Sheet) {
        let (proof, now) = (*self.0.borrow(), Instant::now());
        sheet.number("march_lease_remaining_seconds", &[], proof.remaining(now).as_secs_f64());
        sheet.number("march_lease_proven", &[], flag(proof.unproven_since(now).is_none()));
    }
}

impl Source for Watcher {
    fn show(&self, sheet: &mut Sheet) {
        for (reason, count) in self.stats().relists {
            let reason = match reason {
                RelistReason::Periodic => "periodic",
                RelistReason::Canceled => "canceled",
                RelistReason::Compacted => "compacted",
                RelistReason::StreamLost => "stream_lost",
                RelistReason::Stalled => "stalled",
                RelistReason::Unreachable => "unreachable",
            };
            sheet.number("march_etcd_relists", &[("reason", reason)], level(count));
        }
    }
}
