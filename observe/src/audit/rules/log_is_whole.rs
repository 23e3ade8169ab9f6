//! A log is one row without a hole, as far as anybody was told.

use crate::audit::{AuditOptions, Cx, Findings, Here, Watch};
use crate::facts::Kind;

pub struct LogIsWhole;

impl LogIsWhole {
    pub const fn new(_: &AuditOptions) -> Self {
        Self
    }
}

impl Watch for LogIsWhole {
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn on(&mut self, _: &Here<'_>, _: &Cx<'_>, _: &mut Findings) {}

    fn finish(&mut self, cx: &Cx<'_>, out: &mut Findings) {
        for (base, log) in cx.written {
            out.check(log.faults.is_empty(), None, &[], || {
                format!("the log of {base} is broken: {}", log.faults.join("; "))
            });
            if !cx.sees_log(*base) {
                continue;
            }
            let Some((durable, at)) = cx.state.logs.get(base).and_then(|told| told.durable())
            else {
                continue;
            };
            let last = log.account.last;
            out.check(durable <= last, None, &[Some(at)], || {
                format!("{base} said that record {durable} was durable; its log ends with {last}")
            });
        }
    }
}
