//! What a drill says at its end.

use super::bound::{Figures, Judged};
use super::table::Drill;
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
    pub(super) fn new(drill: &Drill, done: Vec<String>, figures: &Figures, left: &Left) -> Self {
        let observed: Vec<Judged> = drill.bounds.iter().map(|b| b.judge(figures)).collect();
        Self {
            drill: drill.name,
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
    use crate::drill::bound::{Bound, Figure, Limit};
    use crate::drill::table::DRILLS;
    use marchland_observe::{AuditOptions, Journals, judge};

    fn code(drill: &Drill, figures: &Figures, audit: Outcome) -> u8 {
        let (mut verdict, summary) = judge(&Journals::default(), &AuditOptions::default());
        verdict.verdict = audit;
        let left = Left { dir: "here".into(), bots: Default::default(), verdict, summary };
        Report::new(drill, Vec::new(), figures, &left).code()
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

    #[test]
    fn a_drill_ends_with_0_only_if_every_figure_is_within_its_bound_and_the_audit_passes() {
        for drill in DRILLS {
            let good: Figures = drill.bounds.iter().map(at_its_bound).collect();
            assert_eq!(code(drill, &good, Outcome::Pass), 0, "{}", drill.name);
            assert_eq!(code(drill, &good, Outcome::Incomplete), CHECK_FAILED, "{}", drill.name);
            assert_eq!(code(drill, &good, Outcome::Fail), CHECK_FAILED, "{}", drill.name);
            for bound in drill.bounds {
                let bad: Figures = good.clone().into_iter().chain([beyond(bound)]).collect();
                assert_eq!(
                    code(drill, &bad, Outcome::Pass),
                    CHECK_FAILED,
                    "{} {bound}",
                    drill.name
                );
                let mut unseen = good.clone();
                unseen.remove(&bound.figure);
                assert_eq!(code(drill, &unseen, Outcome::Pass), CHECK_FAILED, "{bound} not seen");
            }
        }
    }
}
