//! Which invariants of the audit are about order: who may act when, and what comes after what.

/// Their names, as the audit has them.
pub const ORDER_RULES: &[&str] = &[
    "single-owner",
    "epochs-grow",
    "fence",
    "bounded-speculation",
    "confirmed-is-durable",
    "one-base-serves",
    "confirmed-by-keeper",
    "one-chain",
    "command-once",
    "same-answer",
    "message-once",
    "debit-before-credit",
    "fifo",
    "view-never-back",
    "ghost-not-ahead",
    "ghost-grows",
    "ghost-equals",
    "handed-over-in-time",
    "timer-once",
    "tick-not-doubled",
    "ticks-partition",
    "terminal",
];

#[cfg(test)]
mod tests {
    use super::ORDER_RULES;

    #[test]
    fn every_rule_of_order_is_an_invariant_of_the_audit() {
        let known: Vec<&str> = crate::invariants().map(|invariant| invariant.name).collect();
        for rule in ORDER_RULES {
            assert!(known.contains(rule), "{rule}");
        }
    }
}
