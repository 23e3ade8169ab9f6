//! What happens, while it happens: the journals of a folder as they are written.

use super::{folder, tell};
use crate::cli::WatchArgs;
use crate::exit::{Failure, NOT_FOUND};
use crate::verbs::{print_json, print_line};
use marchland_common::order::Tick;
use marchland_observe::{Columns, Follow, Line, Live, OrderFilter};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// A process that is so many ticks behind the newest one is not waited for.
const SILENT_TICKS: u64 = 20;
/// What is shown without an entity: who owns what, and what stands in the way.
const TELLING: &[&str] = &[
    "created",
    "destroyed",
    "frozen",
    "unfrozen",
    "owner_changed",
    "activated",
    "deactivated",
    "first_step",
    "handoff_refused",
    "fenced_sent",
    "window_closed",
    "window_opened",
    "command_held",
    "command_dropped",
    "message_held",
    "message_dropped",
    "signal_forwarded",
    "signal_held",
    "signal_skipped",
    "ticks_dropped",
    "slot_taken",
    "slot_frozen",
    "slot_given",
    "recovered",
    "link_ended",
];

pub(crate) async fn run(args: &WatchArgs) -> Result<u8, Failure> {
    let dir = folder(&args.at)?;
    let mut follow = Follow::new(&dir);
    let more = |follow: &mut Follow| {
        follow.more().map_err(|e| Failure::new(NOT_FOUND, e.to_string()).hint("give --dir"))
    };
    let filter = OrderFilter { entity: args.entity, from: args.from, ..OrderFilter::default() };
    let mut live = match args.from {
        Some(_) => Live::new(filter),
        None => Live::from_now(filter),
    };
    let mut screen = Screen::new(args);
    let began = Instant::now();
    let mut is_first = true;
    loop {
        let mut records = more(&mut follow)?;
        let is_behind = !records.is_empty() && is_first;
        records.drain(..).for_each(|(node, record)| live.push(node, record));
        follow.faults().iter().for_each(|fault| tell(&format!("note: {fault}")));
        if is_behind {
            // More may be there already: nothing is shown before all of it was read.
            continue;
        }
        if is_first && live.newest() == Tick(0) {
            let text = format!("there is no journal in {} that can be read", dir.display());
            return Err(Failure::new(NOT_FOUND, text).hint("give the folder with --dir"));
        }
        if is_first {
            if args.from.is_none() {
                live.begin();
            }
            is_first = false;
        }
        screen.show(&live.lines(SILENT_TICKS));
        let is_late = args.watch_for.is_some_and(|limit| began.elapsed() >= limit);
        if live.is_over() || is_late || screen.is_full() {
            return Ok(0);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = tokio::signal::ctrl_c() => return Ok(0),
        }
    }
}

/// What was shown.
struct Screen<'a> {
    args: &'a WatchArgs,
    columns: Columns,
    shown: usize,
    last_tick: Option<u64>,
    colour: bool,
}

impl<'a> Screen<'a> {
    fn new(args: &'a WatchArgs) -> Self {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { args, columns: Columns::default(), shown: 0, last_tick: None, colour }
    }

    fn is_full(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.shown >= limit)
    }

    fn show(&mut self, lines: &[Line]) {
        let tells = |line: &&Line| {
            self.args.entity.is_some() || self.args.all || TELLING.contains(&line.kind.as_str())
        };
        let room = self.args.limit.map_or(usize::MAX, |limit| limit.saturating_sub(self.shown));
        let lines: Vec<Line> = lines.iter().filter(tells).take(room).cloned().collect();
        self.shown += lines.len();
        if self.args.output.is_json() {
            return lines.iter().for_each(print_json);
        }
        if self.columns.add(&lines) {
            print_line(&self.painted("1", &self.columns.head()));
        }
        for line in &lines {
            print_line(&self.row(line));
        }
    }

    /// One tick stands once before all that happened in it.
    fn row(&mut self, line: &Line) -> String {
        let mut row = self.columns.row(line);
        if self.last_tick.replace(line.tick) == Some(line.tick) {
            let digits = row.len() - row.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            row.replace_range(..digits, &" ".repeat(digits));
        }
        match line.kind.as_str() {
            "activated" | "first_step" => self.painted("32", &row),
            "owner_changed" | "frozen" | "deactivated" => self.painted("36", &row),
            "window_closed" | "ticks_dropped" | "fenced_sent" | "handoff_refused" | "unfrozen"
            | "link_ended" => self.painted("31", &row),
            kind if kind.ends_with("_held") || kind.ends_with("_dropped") => {
                self.painted("33", &row)
            }
            _ => row,
        }
    }

    /// Colour only where a person looks.
    fn painted(&self, code: &str, text: &str) -> String {
        match self.colour {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}
