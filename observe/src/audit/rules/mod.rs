//! The table of invariants: a name, the rule in words, and what checks it. Each has a file.

mod aoi_balance;
mod bounded_speculation;
mod census;
mod command_once;
mod confirmed_by_keeper;
mod confirmed_is_durable;
mod debit_before_credit;
mod epochs_grow;
mod fence;
mod fifo;
mod ghost_equals;
mod ghost_grows;
mod ghost_not_ahead;
mod handed_over_in_time;
mod image_is_lineage;
mod log_as_told;
mod log_is_whole;
mod message_once;
mod one_base_serves;
mod one_chain;
mod same_answer;
mod single_owner;
mod subject;
mod terminal;
mod tick_not_doubled;
mod ticks_partition;
mod timer_once;
mod unique_ids;
mod value_conserved;
mod value_only_by_message;
mod view_never_back;

pub use subject::{Subject, Subjects};

use super::options::AuditOptions;
use super::pass::Watch;
use subject as about;

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
    /// What must have happened for it to have anything to check.
    pub about: Subject,
    pub make: fn(&AuditOptions) -> Box<dyn Watch>,
}

macro_rules! table {
    ($($module:ident :: $rule:ident, $name:literal, $about:expr, $text:literal;)*) => {
        /// The table.
        pub const TABLE: &[Row] = &[
            $(Row {
                invariant: Invariant { name: $name, rule: $text },
                about: $about,
                make: |options| Box::new($module::$rule::new(options)),
            },)*
        ];
    };
}

table! {
    single_owner::SingleOwner, "single-owner", about::EVERY_RUN,
        "Each epoch of an entity is activated once, by the life that its base granted it to and \
         after that; nobody acts on an entity outside the interval in which it is real there.";
    epochs_grow::EpochsGrow, "epochs-grow", about::EVERY_RUN,
        "The epochs of an entity strictly grow in the order of its base's log, over restarts and \
         changes of the base, and at every process that owns it.";
    fence::Fence, "fence", about::EVERY_RUN,
        "After a base wrote a new owner it accepts nothing of a lower epoch or of another life; \
         no host and no client shows a lower epoch after a higher one; who was told that its epoch \
         ended stops.";
    bounded_speculation::BoundedSpeculation, "bounded-speculation", about::EVERY_RUN,
        "An owner makes no step further than the window beyond the newest of its ticks that a base \
         can have made durable as far as the owner knows.";
    confirmed_is_durable::ConfirmedIsDurable, "confirmed-is-durable", about::EVERY_RUN,
        "Every outcome that reaches a client, every message that leaves, every answer and every \
         grant rests on a record that the log had reported durable before, and that is never lost.";
    one_base_serves::OneBaseServes, "one-base-serves", about::EVERY_RUN,
        "A slot is kept by one base at a time, under terms that strictly grow: whoever takes it \
         over does so after the base before froze it for just that base. At the end one log serves \
         it, and no slot is in no log.";
    confirmed_by_keeper::ConfirmedByKeeper, "confirmed-by-keeper", about::EVERY_RUN,
        "Whatever a base writes about an entity it writes while it keeps its slot and has not \
         frozen it; whatever it confirms, once that it keeps the slot is durable and before it gave \
         it away; nobody owns an entity by the grant of a base that never kept its slot.";
    log_is_whole::LogIsWhole, "log-is-whole", about::EVERY_RUN,
        "A base's log reads back without damage: records are numbered without gaps, each carries \
         the hash of the one before, and all are there that the base ever said were durable.";
    log_as_told::LogAsTold, "log-as-told", about::EVERY_RUN,
        "Every record of a lineage that a base told of stands in its log under the same number \
         with the same content, and no other record of a lineage is in there.";
    image_is_lineage::ImageIsLineage, "image-is-lineage", about::EVERY_RUN,
        "What a base's log holds at its end is what the lineages end with: the same epoch, owner, \
         step and digest of each entity, nobody lost and nobody else.";
    one_chain::OneChain, "one-chain", about::EVERY_RUN,
        "The steps that count form one chain: numbers follow each other, each digest before is \
         the digest after the step before, and base and owner have the same digest after each.";
    command_once::CommandOnce, "command-once", about::COMMANDS,
        "A command is part of the final lineage at most once, and exactly once if it is confirmed.";
    same_answer::SameAnswer, "same-answer", about::COMMANDS,
        "All answers to a command are the same, and what a client was told, its base had decided.";
    message_once::MessageOnce, "message-once", about::MESSAGES_TAKEN,
        "A message between entities is part of its receiver's final lineage at most once, and \
         exactly once if its receiver's base says that it was applied.";
    fifo::Fifo, "fifo", about::EVERY_RUN,
        "Bundles between two lives are numbered without gaps, and none is taken in that was not \
         sent; the commands of a session and the messages of one source to one receiver take \
         effect in the order of their numbers.";
    view_never_back::ViewNeverBack, "view-never-back", about::CLIENTS,
        "What a client sees of an entity never goes back in (epoch, tick), and what was confirmed \
         to it never goes back in steps.";
    ghost_not_ahead::GhostNotAhead, "ghost-not-ahead", about::GHOSTS,
        "A ghost shows nothing that its owner had not flushed before.";
    ghost_grows::GhostGrows, "ghost-grows", about::GHOSTS,
        "At a host the (epoch, sequence) of a ghost never goes back.";
    ghost_equals::GhostEquals, "ghost-equals", about::GHOSTS,
        "A ghost has the digest that its owner had at the same (epoch, sequence).";
    census::Census, "census", about::EVERY_RUN,
        "Once nothing is in motion, every entity that was created and not destroyed has one record \
         and exactly one real, at the owner of its epoch; a destroyed one has none and never comes \
         back.";
    unique_ids::UniqueIds, "unique-ids", about::EVERY_RUN,
        "No entity id is given twice.";
    handed_over_in_time::HandedOverInTime, "handed-over-in-time", about::STRAYS,
        "An entity that strayed past the border of its owner's cells is handed over, or back \
         inside, within a fixed number of ticks in which it runs.";
    value_conserved::ValueConserved, "value-conserved", about::EVERY_RUN,
        "At every point of the order, what entities hold and what messages carry is what was \
         minted and not burned.";
    debit_before_credit::DebitBeforeCredit, "debit-before-credit", about::MESSAGES_TAKEN,
        "Nobody takes a message before the step that sent it is durable.";
    value_only_by_message::ValueOnlyByMessage, "value-only-by-message", about::VALUE,
        "Each step's account of the conserved number balances, begins where the last one ended, \
         and names only what messages brought or took.";
    timer_once::TimerOnce, "timer-once", about::TIMERS,
        "No timer fires early, and each occurrence is part of the final lineage at most once.";
    ticks_partition::TicksPartition, "ticks-partition", about::EVERY_RUN,
        "Every tick number of a process was run once or stands in exactly one record of dropped \
         time.";
    tick_not_doubled::TickNotDoubled, "tick-not-doubled", about::HANDOFFS,
        "The first tick of an entity under a new owner comes after its last one under the owner \
         before.";
    aoi_balance::AoiBalance, "aoi-balance", about::CLIENTS,
        "For each session and entity, enter and leave alternate, an enter first.";
    terminal::Terminal, "terminal", about::REQUESTS,
        "A client gets at most one answer to a command and none to one that it did not send; \
         whatever a base takes in, it answers.";
}
