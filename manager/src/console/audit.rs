//! The list of what was done from a console: who, when, with what result, and as which command.

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Acts that are remembered. The oldest goes for a new one.
const ACTS_MAX: usize = 500;
/// Lines of output that an act keeps. The oldest go.
const LINES_MAX: usize = 200;
/// Longest line.
const LINE_CHARS: usize = 500;

/// How far an act is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// It is under way.
    Running,
    /// It did what was asked.
    Done,
    /// It did not.
    Failed,
}

/// One act.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Act {
    pub(super) id: u64,
    pub(super) at_tick: u64,
    pub(super) who: String,
    pub(super) what: String,
    pub(super) args: Value,
    pub(super) command: String,
    pub(super) state: State,
    pub(super) result: Value,
    pub(super) output: VecDeque<String>,
}

/// What begins an act.
pub(super) struct Begun {
    pub(super) at_tick: u64,
    pub(super) who: String,
    pub(super) what: &'static str,
    pub(super) args: Value,
    pub(super) command: String,
}

#[derive(Debug, Default)]
struct Inner {
    acts: VecDeque<Act>,
    last: u64,
}

/// The list.
#[derive(Debug, Default)]
pub(super) struct Audit(Mutex<Inner>);

impl Audit {
    /// Writes down that an act begins.
    pub(super) fn begin(&self, begun: Begun) -> Act {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last += 1;
        let Begun { at_tick, who, what, args, command } = begun;
        let act = Act {
            id: inner.last,
            at_tick,
            who,
            what: what.to_owned(),
            args,
            command,
            state: State::Running,
            result: Value::Null,
            output: VecDeque::new(),
        };
        inner.acts.push_back(act.clone());
        if inner.acts.len() > ACTS_MAX {
            inner.acts.pop_front();
        }
        act
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Act)) -> Option<Act> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let act = inner.acts.iter_mut().find(|act| act.id == id)?;
        change(act);
        Some(act.clone())
    }

    /// An act says something.
    pub(super) fn say(&self, id: u64, line: &str) -> Option<Act> {
        self.change(id, |act| {
            act.output.push_back(line.chars().take(LINE_CHARS).collect());
            if act.output.len() > LINES_MAX {
                act.output.pop_front();
            }
        })
    }

    /// An act ended.
    pub(super) fn end(&self, id: u64, state: State, result: Value) -> Option<Act> {
        self.change(id, |act| (act.state, act.result) = (state, result))
    }

    /// How many are under way.
    pub(super) fn running(&self, what: Option<&str>) -> usize {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts =
            |act: &&Act| act.state == State::Running && what.is_none_or(|what| act.what == what);
        inner.acts.iter().filter(counts).count()
    }

    /// Everything, oldest first.
    pub(super) fn list(&self) -> Vec<Value> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.acts.iter().map(|act| json!(act)).collect()
    }
}

/// An act as a browser is told: a frame.
pub(super) fn frame(act: &Act) -> Value {
    let mut frame = json!(act);
    frame["t"] = json!("act");
    frame
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn begun(what: &'static str) -> Begun {
        let (args, command) = (json!({}), "march drain cell-2".to_owned());
        Begun { at_tick: 9, who: "127.0.0.1:1".to_owned(), what, args, command }
    }

    #[test]
    fn the_list_keeps_the_newest_acts_and_the_newest_lines_of_each() {
        let audit = Audit::default();
        for _ in 0..ACTS_MAX + 3 {
            audit.begin(begun("drain"));
        }
        let acts = audit.list();
        assert_eq!((acts.len(), &acts[0]["id"]), (ACTS_MAX, &json!(4)));
        let id = audit.begin(begun("drill")).id;
        for line in 0..LINES_MAX + 5 {
            audit.say(id, &line.to_string());
        }
        let ended = audit.end(id, State::Done, json!({"code": 0})).unwrap();
        assert_eq!((ended.output.len(), ended.output[0].as_str()), (LINES_MAX, "5"));
        assert_eq!(audit.running(Some("drill")), 0);
        assert_eq!(frame(&ended)["t"], "act");
    }
}
