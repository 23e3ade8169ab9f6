//! The table of invariants: a name, the rule in words, and what checks it. Each has a file.

mod aoi_balance;
mod bounded_speculation;
mod census;
mod command_once;
mod confirmed_is_durable;
mod debit_before_credit;
mod epochs_grow;
mod fence;
mod fifo;
mod ghost_equals;
mod ghost_grows;
mod ghost_not_ahead;
mod handed_over_in_time;
mod message_once;
mod one_chain;
mod same_answer;
mod single_owner;
mod terminal;
mod tick_not_doubled;
mod ticks_partition;
mod timer_once;
mod unique_ids;
mod value_conserved;
mod value_only_by_message;
mod view_never_back;

use super::options::AuditOptions;
use super::pass::Watch;

/// One invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// Its name in verdicts.
    pub name: &'static str,
    /// The rule, in words.
    pub rule: &'static str,
}

/// All invariants, in the order in which they are told.
pub fn invariants() -> impl Iterator<Item = Invariant> {
    TABLE.iter().map(|row| row.invariant)
}

/// A row of the table.
pub struct Row {
    pub invariant: Invariant,
    pub make: fn(&AuditOptions) -> Box<dyn Watch>,
}

macro_rules! table {
    ($($module:ident :: $rule:ident, $name:literal, $text:literal;)*) => {
        /// The table.
        pub const TABLE: &[Row] = &[
            $(Row {
                invariant: Invariant { name: $name, rule: $text },
                make: |options| Box::new($module::$rule::new(options)),
            },)*
        ];
    };
}

table! {
    single_owner::SingleOwner, "single-owner",
        "Each epoch of an entity is activated once, by the life that its base granted it to and \
         after that; nobody acts on an entity outside the interval in which it is real there.";
    epochs_grow::EpochsGrow, "epochs-grow",
        "The epochs of an entity strictly grow in the order of its base's log, over restarts and \
         changes of the base, and at every process that owns it.";
    fence::Fence, "fence",
        "After a base wrote a new owner it accepts nothing of a lower epoch or of another life; \
         no host and no client shows a lower epoch after a higher one; who was told that its epoch \
         ended stops.";
    bounded_speculation::BoundedSpeculation, "bounded-speculation",
        "An owner makes no step further than the window beyond the newest of its ticks that a base \
         can have made durable as far as the owner knows.";
    confirmed_is_durable::ConfirmedIsDurable, "confirmed-is-durable",
        "Every outcome that reaches a client, every message that leaves, every answer and every \
         grant rests on a record that the log had reported durable before, and that is never lost.";
    one_chain::OneChain, "one-chain",
        "The steps that count form one chain: numbers follow each other, each digest before is \
         the digest after the step before, and base and owner have the same digest after each.";
    command_once::CommandOnce, "command-once",
        "A command is part of the final lineage at most once, and exactly once if it is confirmed.";
    same_answer::SameAnswer, "same-answer",
        "All answers to a command are the same, and what a client was told, its base had decided.";
    message_once::MessageOnce, "message-once",
        "A message between entities is part of its receiver's final lineage at most once, and \
         exactly once if its receiver's base says that it was applied.";
    fifo::Fifo, "fifo",
        "Bundles between two lives are numbered without gaps, and none is taken in that was not \
         sent; the commands of a session and the messages of one source to one receiver take \
         effect in the order of their numbers.";
    view_never_back::ViewNeverBack, "view-never-back",
        "What a client sees of an entity never goes back in (epoch, tick), and what was confirmed \
         to it never goes back in steps.";
    ghost_not_ahead::GhostNotAhead, "ghost-not-ahead",
        "A ghost shows nothing that its owner had not flushed before.";
    ghost_grows::GhostGrows, "ghost-grows",
        "At a host the (epoch, sequence) of a ghost never goes back.";
    ghost_equals::GhostEquals, "ghost-equals",
        "A ghost has the digest that its owner had at the same (epoch, sequence).";
    census::Census, "census",
        "Once nothing is in motion, every entity that was created and not destroyed has one record \
         and exactly one real, at the owner of its epoch; a destroyed one has none and never comes \
         back.";
    unique_ids::UniqueIds, "unique-ids",
        "No entity id is given twice.";
    handed_over_in_time::HandedOverInTime, "handed-over-in-time",
        "An entity that strayed past the border of its owner's cells is handed over, or back \
         inside, within a fixed number of ticks in which it runs.";
    value_conserved::ValueConserved, "value-conserved",
        "At every point of the order, what entities hold and what messages carry is what was \
         minted and not burned.";
    debit_before_credit::DebitBeforeCredit, "debit-before-credit",
        "Nobody takes a message before the step that sent it is durable.";
    value_only_by_message::ValueOnlyByMessage, "value-only-by-message",
        "Each step's account of the conserved number balances, begins where the last one ended, \
         and names only what messages brought or took.";
    timer_once::TimerOnce, "timer-once",
        "No timer fires early, and each occurrence is part of the final lineage at most once.";
    ticks_partition::TicksPartition, "ticks-partition",
        "Every tick number of a process was run once or stands in exactly one record of dropped \
         time.";
    tick_not_doubled::TickNotDoubled, "tick-not-doubled",
        "The first tick of an entity under a new owner comes after its last one under the owner \
         before.";
    aoi_balance::AoiBalance, "aoi-balance",
        "For each session and entity, enter and leave alternate, an enter first.";
    terminal::Terminal, "terminal",
        "A client gets at most one answer to a command and none to one that it did not send; \
         whatever a base takes in, it answers.";
}
