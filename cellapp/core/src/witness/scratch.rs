//! Working memory of a run: what is encoded once and copied to every witness, and the lists that
//! are used again from witness to witness.

use super::candidates::Candidate;
use crate::interest::{Found, HEADING, Look, Looks, POSITION, as_prop};
use indexmap::IndexMap;
use marchland_codec_core::{
    EncodedUpdate, Prop, PushError, UpdateArena, UpdateRef, Version, ViewFields, ViewWriter,
};
use marchland_common::msg::Seen;
use marchland_common::order::KindId;
use marchland_common::world::{Kinds, Lasting, Scope};
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;

/// The bit that says: with the version. Beside the field bits of [`crate::interest`].
pub(super) const VERSION: u32 = 1 << 26;
/// All bits that are properties.
const PROPS: u32 = POSITION - 1;

/// What the clients of others may see of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct KindView {
    /// The bits of the properties that all clients may see.
    pub(super) visible: u32,
    /// Those of them that a base confirms.
    durable: u32,
    /// Properties that are not told beyond a squared distance.
    detail: Vec<(u32, i64)>,
}

impl KindView {
    /// The properties that are not told at a squared distance.
    pub(super) fn too_far(&self, distance_sq: i64) -> u32 {
        let far = self.detail.iter().filter(|(_, limit)| distance_sq > *limit);
        far.fold(0, |bits, (bit, _)| bits | bit)
    }

    /// Whether any of these properties has yet to be confirmed.
    pub(super) const fn is_speculative(&self, fields: u32) -> bool {
        fields & self.durable != 0
    }
}

/// What the runs since the start had to do: exact counts, to compare costs by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewCost {
    /// Witnesses that looked around.
    pub passes: u64,
    /// Witnesses that did not have to.
    pub skipped: u64,
    /// Grid entries that were looked at.
    pub entries: u64,
    /// Updates that were encoded.
    pub encoded: u64,
    /// Updates that were copied into a view.
    pub copied: u64,
}

/// An encoded update, which fields it has, and of which run it is.
#[derive(Clone, Copy, Debug)]
struct Line {
    run: u64,
    fields: u32,
    update: UpdateRef,
}

/// The updates of one run, each encoded once for all witnesses that need the same fields of it.
#[derive(Clone, Debug, Default)]
pub(super) struct UpdateCache {
    arena: UpdateArena,
    /// By slot of the look: what the first witness that needed it asked for. Lines of earlier runs
    /// stay until they are overwritten, so that a run costs nothing for entities that rest.
    lines: Vec<Option<Line>>,
    run: u64,
    /// Other sets of fields: of far witnesses, and of those who missed an update.
    others: IndexMap<(u32, u32), UpdateRef, FxBuildHasher>,
    encoded: u64,
}

impl UpdateCache {
    fn begin(&mut self, slots: usize) {
        self.arena.begin();
        self.run += 1;
        self.others.clear();
        if self.lines.len() < slots {
            self.lines.resize(slots, None);
        }
    }

    /// The update of a look with these fields.
    pub(super) fn update(
        &mut self,
        slot: u32,
        look: &Look,
        fields: u32,
        view: &KindView,
    ) -> Result<UpdateRef, PushError> {
        let run = self.run;
        let line = self.lines[slot as usize].filter(|line| line.run == run);
        if let Some(line) = line.filter(|line| line.fields == fields) {
            return Ok(line.update);
        }
        if let Some(update) = self.others.get(&(slot, fields)) {
            return Ok(*update);
        }
        let update = encode(&mut self.arena, look, fields, view)?;
        self.encoded += 1;
        match line {
            None => self.lines[slot as usize] = Some(Line { run, fields, update }),
            Some(_) => {
                self.others.insert((slot, fields), update);
            }
        }
        Ok(update)
    }

    pub(super) fn get(&self, update: UpdateRef) -> Result<EncodedUpdate<'_>, PushError> {
        self.arena.get(update)
    }
}

fn encode(
    arena: &mut UpdateArena,
    look: &Look,
    fields: u32,
    view: &KindView,
) -> Result<UpdateRef, PushError> {
    let pose = look.pose();
    let given = |bit: u32| fields & bit != 0;
    let props: Vec<Prop<'_>> =
        if given(PROPS) { shown_props(look, fields).collect() } else { Vec::new() };
    arena.encode(
        look.id(),
        &ViewFields {
            version: given(VERSION).then(|| version(look)),
            position: given(POSITION).then(|| [pose.x(), pose.y()]),
            heading: given(HEADING).then(|| pose.heading()),
            speculative: view.is_speculative(fields),
            props: &props,
        },
    )
}

/// The properties of a look that are among the bits.
pub(super) fn shown_props(look: &Look, bits: u32) -> impl Iterator<Item = Prop<'_>> {
    look.props().iter().filter(move |(index, _)| bits >> index & 1 == 1).map(as_prop)
}

pub(super) const fn version(look: &Look) -> Version {
    Version { epoch: look.epoch(), seq: look.seq() }
}

/// The working memory of all witnesses of a process. See the module.
#[derive(Clone, Debug)]
pub struct ViewScratch {
    pub(super) kinds: BTreeMap<KindId, KindView>,
    pub(super) cache: UpdateCache,
    pub(super) writer: ViewWriter,
    pub(super) found: Vec<Found>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) next: Vec<Seen>,
    pub(super) cost: ViewCost,
}

impl ViewScratch {
    /// Working memory for the entities of these kinds.
    #[must_use]
    pub fn new(kinds: &Kinds) -> Self {
        let views = kinds.iter().map(|kind| {
            let mut view = KindView::default();
            for (index, def) in kind.props.iter().enumerate() {
                let bit = 1 << index;
                if def.scope == Scope::AllClients {
                    view.visible |= bit;
                    view.durable |= if def.lasting == Lasting::Durable { bit } else { 0 };
                    let limit = def.detail_distance.map(|mm| i64::from(mm) * i64::from(mm));
                    view.detail.extend(limit.map(|limit| (bit, limit)));
                }
            }
            (kind.id, view)
        });
        Self {
            kinds: views.collect(),
            cache: UpdateCache::default(),
            writer: ViewWriter::new(),
            found: Vec::new(),
            candidates: Vec::new(),
            next: Vec::new(),
            cost: ViewCost::default(),
        }
    }

    /// What the runs since the start had to do.
    #[must_use]
    pub const fn cost(&self) -> ViewCost {
        ViewCost { encoded: self.cache.encoded, ..self.cost }
    }

    pub(super) fn begin(&mut self, looks: &Looks) {
        self.cache.begin(looks.slots());
    }
}
