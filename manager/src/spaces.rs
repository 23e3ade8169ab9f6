//! The spaces that are wanted: those of the world, and what the operator added or took away.

use marchland_common::order::SpaceId;
use marchland_common::world::{Pos, Rect};
use marchland_manager_core::SpaceSpec;
use marchland_proto::operator::{CreateSpaceRequest, SpaceReply};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use tonic::Status;

/// The largest absolute coordinate of a space, in millimetres: 1,000 km.
const COORDINATE_MAX: i32 = 1_000_000_000;
/// Most cells of one space.
const CELLS_MAX: u32 = 256;

/// Shared by the operator's door, which changes it, and the planner, which reads it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(Arc<watch::Sender<BTreeMap<SpaceId, SpaceSpec>>>);

impl Wanted {
    pub(crate) fn new(specs: Vec<SpaceSpec>) -> Self {
        let specs = specs.into_iter().map(|s| (s.id, s)).collect();
        Self(Arc::new(watch::Sender::new(specs)))
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<BTreeMap<SpaceId, SpaceSpec>> {
        self.0.subscribe()
    }

    /// Takes over what the store holds and was not asked for here: an earlier leader's spaces.
    pub(crate) fn adopt(&self, seen: &Seen) {
        self.0.send_if_modified(|specs| {
            let mut changed = false;
            for (id, value) in &seen.spaces {
                specs.entry(*id).or_insert_with(|| {
                    changed = true;
                    SpaceSpec { id: *id, bounds: value.layout.bounds, cells: value.cells }
                });
            }
            changed
        });
    }

    pub(crate) fn create(
        &self,
        request: &CreateSpaceRequest,
        seen: &Seen,
    ) -> Result<SpaceReply, Status> {
        let spec = spec_of(request)?;
        if let Some(value) = seen.spaces.get(&spec.id) {
            let reason = "it exists".to_owned();
            let (done, version) = (false, value.layout.version);
            return Ok(SpaceReply { done, reason, version });
        }
        self.0.send_modify(|specs| {
            specs.insert(spec.id, spec);
        });
        Ok(SpaceReply { done: true, reason: String::new(), version: 1 })
    }

    pub(crate) fn remove(&self, id: u32, seen: &Seen) -> Result<SpaceReply, Status> {
        let id = SpaceId(id);
        let known = seen.spaces.get(&id);
        let wanted = self.0.borrow().contains_key(&id);
        if known.is_none() && !wanted {
            return Err(Status::not_found(format!("there is no space {id}")));
        }
        self.0.send_modify(|specs| {
            specs.remove(&id);
        });
        let version = known.map_or(0, |v| v.layout.version);
        Ok(SpaceReply { done: true, reason: String::new(), version })
    }
}

fn spec_of(request: &CreateSpaceRequest) -> Result<SpaceSpec, Status> {
    let bad = |text: &str| Status::invalid_argument(text.to_owned());
    let [min_x, min_y, max_x, max_y] = request.bounds[..] else {
        return Err(bad("bounds are four numbers: min x, min y, max x, max y in millimetres"));
    };
    let inside = request.bounds.iter().all(|c| c.abs() <= COORDINATE_MAX);
    if !inside || min_x >= max_x || min_y >= max_y {
        return Err(bad("a space has an inside and lies within 1,000 km of the origin"));
    }
    if request.id == 0 || request.cells > CELLS_MAX {
        return Err(bad("a space has a number from 1 and at most 256 cells"));
    }
    Ok(SpaceSpec {
        id: SpaceId(request.id),
        bounds: Rect::new(Pos::new(min_x, min_y), Pos::new(max_x, max_y)),
        cells: request.cells,
    })
}
