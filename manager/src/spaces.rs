//! The spaces that are wanted: those of the world, and what an operator added or took away. They
//! are in the store, so they outlive every manager.

use marchland_common::order::SpaceId;
use marchland_common::world::{Pos, Rect};
use marchland_manager_core::SpaceSpec;
use marchland_proto::operator::{CreateSpaceRequest, SpaceReply};
use marchland_runtime::coord::{
    CoordClient, Guard, Key, LeaderError, Leadership, Txn, WantedValue,
};
use marchland_runtime::process::Seen;
use std::collections::BTreeMap;
use tonic::Status;

/// The largest absolute coordinate of a space, in millimetres: 1,000 km.
const COORDINATE_MAX: i32 = 1_000_000_000;
/// Most cells of one space.
const CELLS_MAX: u32 = 256;

/// The wanted spaces as a planner sees them.
pub(crate) fn wanted(seen: &Seen) -> BTreeMap<SpaceId, SpaceSpec> {
    let spec = |(id, value): (&SpaceId, &WantedValue)| {
        (*id, SpaceSpec { id: *id, bounds: value.bounds, cells: value.cells })
    };
    seen.wanted.iter().map(spec).collect()
}

/// The value of a wanted space's key.
pub(crate) fn value_of(spec: &SpaceSpec) -> Vec<u8> {
    let value = WantedValue { bounds: spec.bounds, cells: spec.cells };
    serde_json::to_vec(&value).expect("numbers always encode")
}

/// Writes down that a space is wanted. It is laid out by the next plan.
pub(crate) async fn create(
    coord: &CoordClient,
    leadership: &Leadership,
    request: &CreateSpaceRequest,
    seen: &Seen,
) -> Result<SpaceReply, Status> {
    let spec = spec_of(request)?;
    let keys = coord.keys();
    let (wanted, laid_out) = (keys.key(Key::Wanted(spec.id)), keys.key(Key::Space(spec.id)));
    let txn = Txn::new()
        .when(Guard::Absent(wanted.clone()))
        .when(Guard::Absent(laid_out))
        .put(wanted, value_of(&spec));
    let outcome = leadership.guarded_txn(txn).await.map_err(|e| not_written(&e))?;
    if outcome.succeeded {
        return Ok(SpaceReply { done: true, reason: String::new(), version: 1 });
    }
    let version = seen.spaces.get(&spec.id).map_or(0, |value| value.layout.version);
    Ok(SpaceReply { done: false, reason: "it exists".to_owned(), version })
}

/// Takes a space out of the world, at once.
pub(crate) async fn remove(
    coord: &CoordClient,
    leadership: &Leadership,
    id: SpaceId,
    seen: &Seen,
) -> Result<SpaceReply, Status> {
    let known = seen.spaces.get(&id);
    if known.is_none() && !seen.wanted.contains_key(&id) {
        return Err(Status::not_found(format!("there is no space {id}")));
    }
    let keys = coord.keys();
    let txn = Txn::new().delete(keys.key(Key::Wanted(id))).delete(keys.key(Key::Space(id)));
    leadership.guarded_txn(txn).await.map_err(|e| not_written(&e))?;
    let version = known.map_or(0, |v| v.layout.version);
    Ok(SpaceReply { done: true, reason: String::new(), version })
}

fn not_written(error: &LeaderError) -> Status {
    Status::unavailable(format!("{error}; nothing may have changed: look, and try again"))
}

fn spec_of(request: &CreateSpaceRequest) -> Result<SpaceSpec, Status> {
    let bad = |text: &str| Status::invalid_argument(text.to_owned());
    let [min_x, min_y, max_x, max_y] = request.bounds[..] else {
        return Err(bad("bounds are four numbers: min x, min y, max x, max y in millimetres"));
    };
    // Not by the absolute value: the smallest number has none.
    let inside = request.bounds.iter().all(|c| (-COORDINATE_MAX..=COORDINATE_MAX).contains(c));
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
