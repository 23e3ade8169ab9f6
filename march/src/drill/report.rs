//! What a drill says at its end.

use super::bound::{Bound, Figures, Judged};
use crate::demo::Left;
use crate::exit::CHECK_FAILED;
use crate::verbs::{print_line, print_table};
use marchland_observe::{Outcome, Violation};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    drill: &'static str,
    /// What was done, in order.
    done: Vec<String>,
    observed: Vec<Judged>,
    /// Whether everything observed is within its bound.
    holds: bool,
    audit: Outcome,
    violations: Vec<Violation>,
    incomplete: Vec<String>,
    dir: String,
}

impl Report {
    pub(super) fn new(
        drill: &'static str,
        bounds: &[Bound],
        done: Vec<String>,
        figures: &Figures,
        left: &Left,
    ) -> Self {
        let observed: Vec<Judged> = bounds.iter().map(|b| b.judge(figures)).collect();
        Self {
            drill,
            done,
            holds: observed.iter().all(|judged| judged.holds),
            observed,
            audit: left.verdict.verdict,
            violations: left.verdict.violations.clone(),
            incomplete: left.verdict.incomplete.clone(),
            dir: left.dir.display().to_string(),
        }
    }

    /// The exit code: 0 only if the bounds hold and the audit passes.
    pub(super) fn code(&self) -> u8 {
        if self.is_good() { 0 } else { CHECK_FAILED }
    }

    fn is_good(&self) -> bool {
        self.holds && self.audit == Outcome::Pass
    }

    /// For people.
    pub(super) fn show(&self) {
        self.done.iter().for_each(|done| print_line(done));
        let row = |judged: &Judged| {
            let figure = judged.figure.map_or("not seen".to_owned(), |figure| figure.to_string());
            let word = if judged.holds { "holds" } else { "DOES NOT HOLD" };
            vec![judged.what.to_owned(), figure, judged.bound.clone(), word.to_owned()]
        };
        let rows: Vec<Vec<String>> = self.observed.iter().map(row).collect();
        print_table(&["OBSERVED", "FIGURE", "BOUND", ""], &rows);
        print_line(&format!("audit: {}", self.audit));
        self.incomplete.iter().for_each(|why| print_line(&format!("incomplete: {why}")));
        for violation in &self.violations {
            print_line(&format!("{}: {}", violation.invariant, violation.text));
        }
        let word = if self.is_good() { "passed" } else { "FAILED" };
        print_line(&format!("drill {}: {word}; everything is in {}", self.drill, self.dir));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Against;
    use crate::drill::bound::{Figure, Limit};
    use crate::drill::table::{DRILLS, TTL_MS};
    use marchland_observe::{AuditOptions, Journals, judge};
    use std::time::Duration;

    fn code(bounds: &[Bound], figures: &Figures, audit: Outcome) -> u8 {
        let (mut verdict, summary) = judge(&Journals::default(), &AuditOptions::default());
        verdict.verdict = audit;
        let left = Left { dir: "here".into(), bots: Default::default(), verdict, summary };
        Report::new("a drill", bounds, Vec::new(), figures, &left).code()
    }

    fn at_its_bound(bound: &Bound) -> (Figure, u64) {
        let (Limit::AtMost(figure) | Limit::AtLeast(figure)) = bound.limit;
        (bound.figure, figure)
    }

    fn beyond(bound: &Bound) -> (Figure, u64) {
        match bound.limit {
            Limit::AtMost(most) => (bound.figure, most + 1),
            Limit::AtLeast(least) => (bound.figure, least - 1),
        }
    }

    fn is_0_only_if_all_is_well(name: &str, bounds: &[Bound]) {
        let good: Figures = bounds.iter().map(at_its_bound).collect();
        assert_eq!(code(bounds, &good, Outcome::Pass), 0, "{name}");
        assert_eq!(code(bounds, &good, Outcome::Incomplete), CHECK_FAILED, "{name}");
        assert_eq!(code(bounds, &good, Outcome::Fail), CHECK_FAILED, "{name}");
        for bound in bounds {
            let bad: Figures = good.clone().into_iter().chain([beyond(bound)]).collect();
            assert_eq!(code(bounds, &bad, Outcome::Pass), CHECK_FAILED, "{name} {bound}");
            let mut unseen = good.clone();
            unseen.remove(&bound.figure);
            assert_eq!(code(bounds, &unseen, Outcome::Pass), CHECK_FAILED, "{bound} not seen");
        }
    }

    #[test]
    fn a_drill_ends_with_0_only_if_every_figure_is_within_its_bound_and_the_audit_passes() {
        for (drill, against) in
            DRILLS.iter().flat_map(|d| [(d, Against::Demo), (d, Against::Compose)])
        {
            let bounds = drill.bounds(against, Duration::from_millis(TTL_MS));
            is_0_only_if_all_is_well(drill.name, &bounds);
        }
    }
}
