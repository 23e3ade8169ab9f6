//! The words behind the question mark, each read once; one that nobody reads is an error.

use crate::source::Trouble;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The parameters of a question.
#[derive(Debug)]
pub(super) struct Params {
    left: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Params {
    pub(super) fn new(words: BTreeMap<String, String>) -> Self {
        Self { left: words, known: Vec::new() }
    }

    /// The value of a parameter, if it is given; an empty one is as good as none.
    pub(super) fn take<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, Trouble> {
        self.known.push(name);
        let Some(text) = self.left.remove(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let shown: String = text.chars().take(60).collect();
        let bad = |e: T::Err| Trouble::bad(format!("`{name}` cannot be `{shown}`: {e}"));
        text.parse().map(Some).map_err(bad)
    }

    /// The same, where it has to be given.
    pub(super) fn need<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
    ) -> Result<T, Trouble> {
        self.take(name)?.ok_or_else(|| Trouble::bad(format!("`{name}` is missing")))
    }

    /// Nothing else was given.
    pub(super) fn end(self) -> Result<(), Trouble> {
        let Some(other) = self.left.keys().next() else { return Ok(()) };
        let other: String = other.chars().take(60).collect();
        let known = self.known.join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        Err(Trouble::bad(format!("nobody knows the parameter `{other}`"))
            .hint(format!("known here: {known}")))
    }
}
