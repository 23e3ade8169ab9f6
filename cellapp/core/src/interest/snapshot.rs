//! What a snapshot keeps of the looks: each look once, by id. Slots and grid entries are made anew,
//! because nothing that a core decides depends on where they are.

use super::{COORDINATE_MAX, Grid, Look, Looks};
use marchland_common::order::SpaceId;
use marchland_common::world::{Kinds, Rect};
use serde::{Deserialize, Serialize};

/// A table of looks as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LooksImage {
    side: i32,
    spaces: Vec<SpaceImage>,
    /// By ascending id.
    pub(super) looks: Vec<Look>,
}

/// A grid without its entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SpaceImage {
    space: SpaceId,
    area: Rect,
    /// The buckets with a change that the witnesses have not looked at, ascending.
    changed: Vec<u32>,
}

impl From<Looks> for LooksImage {
    fn from(looks: Looks) -> Self {
        let spaces = looks.spaces.iter().map(|(space, grid)| SpaceImage {
            space: *space,
            area: grid.area(),
            changed: grid.changed_buckets(),
        });
        let ordered = looks.ids().into_iter();
        let kept = ordered.filter_map(|id| looks.get(id).cloned()).collect();
        Self { side: looks.side, spaces: spaces.collect(), looks: kept }
    }
}

impl TryFrom<LooksImage> for Looks {
    type Error = &'static str;

    fn try_from(image: LooksImage) -> Result<Self, Self::Error> {
        let mut looks = Self::new(image.side);
        for SpaceImage { space, area, .. } in &image.spaces {
            looks.spaces.insert(*space, Grid::new(*area, image.side));
        }
        for look in image.looks {
            check(&look)?;
            if looks.get(look.id).is_some() {
                return Err("an entity has two looks");
            }
            looks.add(look);
        }
        looks.turn_over();
        for SpaceImage { space, changed, .. } in &image.spaces {
            if let Some(grid) = looks.spaces.get_mut(space) {
                grid.mark_changed(changed);
            }
        }
        Ok(looks)
    }
}

fn check(look: &Look) -> Result<(), &'static str> {
    let rising = look.props.windows(2).all(|two| two[0].0 < two[1].0);
    let fits = look.props.iter().all(|(index, _)| usize::from(*index) < Kinds::PROPS_MAX);
    let pos = look.pos();
    let near = pos.x.unsigned_abs().max(pos.y.unsigned_abs()) <= COORDINATE_MAX as u32;
    if rising && fits && near && look.prop_seqs.len() == look.props.len() {
        Ok(())
    } else {
        Err("a broken look")
    }
}
