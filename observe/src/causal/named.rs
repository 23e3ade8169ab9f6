//! Events by what they are, for people who have no number: `frozen@1200` of an entity.

use super::catalog::{Catalog, Place};
use super::fact::Fact;
use crate::facts::{self, Kind};
use crate::journals::Journals;
use marchland_common::order::{EntityId, Tick};
use std::str::FromStr;

/// A kind of event, and the tick in which it happened if that is said: `frozen`, `frozen@1200`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindAt {
    /// The kind.
    pub kind: Kind,
    /// The tick.
    pub tick: Option<Tick>,
}

/// Why a text is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKind {
    /// There is no kind of this name.
    #[error("there is no kind of event `{0}`{1}")]
    Unknown(String, String),
    /// The tick is no number.
    #[error("`{0}` is no tick")]
    Tick(String),
}

impl FromStr for KindAt {
    type Err = NoKind;

    fn from_str(text: &str) -> Result<Self, NoKind> {
        let (name, tick) = match text.split_once('@') {
            Some((name, tick)) => (name, Some(tick)),
            None => (text, None),
        };
        let tick = tick.map(|tick| tick.parse().map_err(|_| NoKind::Tick(tick.to_owned())));
        let known = Kind::ALL.iter().find(|kind| kind.name() == name);
        let kind = *known.ok_or_else(|| NoKind::Unknown(name.to_owned(), like(name)))?;
        Ok(Self { kind, tick: tick.transpose()? })
    }
}

/// Kinds that may have been meant.
fn like(name: &str) -> String {
    let stem = name.split('_').next().unwrap_or(name);
    let near = Kind::ALL.iter().map(|kind| kind.name());
    let near: Vec<&str> = near.filter(|kind| !stem.is_empty() && kind.contains(stem)).collect();
    match near.is_empty() {
        true => String::new(),
        false => format!("; there are {}", near.join(", ")),
    }
}

/// The first event of a kind that concerns an entity: in the tick that is named, else from a tick on.
#[must_use]
pub fn first_of(
    journals: &Journals,
    catalog: &Catalog,
    entity: EntityId,
    wanted: KindAt,
    from: Tick,
) -> Option<Fact> {
    let (from, to) = wanted.tick.map_or((from, Tick(u64::MAX)), |tick| (tick, tick));
    let mut found: Vec<Fact> = Vec::new();
    for proc in 0..journals.processes().len() as u32 {
        for record in catalog.records(proc, from, to) {
            let Some(moment) = catalog.moment(journals, proc, record) else { continue };
            let fits =
                |event| Kind::of(event) == wanted.kind && facts::about(event).concerns(entity);
            let Some(at) = moment.events.iter().position(fits) else { continue };
            let fact = (moment.received.len() + at) as u32;
            let place = Place { proc, record: record as u32, fact };
            found.extend(catalog.fact_of(place, &moment));
            break;
        }
    }
    found.into_iter().min_by_key(|fact| (fact.tick, fact.moment, fact.id))
}
