//! Pictures as a browser draws them.

use super::hub::Hub;
use crate::frame::World;
use crate::source::{Trouble, Worlds};
use marchland_proto::observer::{Dot, World as Picture};
use std::collections::BTreeSet;

/// One frame for each of the spaces, and for each in which somebody is: also where nobody is any
/// more.
pub(super) fn worlds_of(picture: &Picture, spaces: &BTreeSet<u32>) -> Vec<World> {
    let dots = picture.reals.iter().chain(&picture.ghosts);
    let spaces: BTreeSet<u32> = dots.map(|dot| dot.space).chain(spaces.iter().copied()).collect();
    spaces.into_iter().map(|space| world_of(picture, space)).collect()
}

fn world_of(picture: &Picture, space: u32) -> World {
    let name = |names: &[String], at: u32| names.get(at as usize).cloned().unwrap_or_default();
    let here = |dot: &&Dot| dot.space == space;
    let kind = |dot: &Dot| name(&picture.kinds, dot.kind);
    let real = |dot: &Dot| (dot.entity.to_string(), kind(dot), dot.x, dot.y, dot.epoch);
    let ghost = |dot: &Dot| {
        let (id, owner) = (dot.entity.to_string(), name(&picture.owners, dot.owner));
        (id, kind(dot), dot.x, dot.y, dot.epoch, owner, dot.state_tick)
    };
    World {
        t: "world",
        process: picture.name.clone(),
        incarnation: picture.incarnation.to_string(),
        tick: picture.tick,
        age_ms: u64::from(picture.age_us / 1_000),
        space,
        reals: picture.reals.iter().filter(here).map(real).collect(),
        ghosts: picture.ghosts.iter().filter(here).map(ghost).collect(),
    }
}

/// The world as it stood at a tick of the last minute.
pub(super) fn worlds_at(hub: &Hub, tick: u64) -> Result<Worlds, Trouble> {
    let pictures = hub.pictures_at(tick);
    if pictures.is_empty() {
        let text = match hub.first_picture() {
            Some(first) => format!("no picture of tick {tick} is kept: they begin at {first}"),
            None => "no picture is there yet: they are taken while somebody looks".to_owned(),
        };
        return Err(Trouble::not_found(text).hint("a browser that listens has them taken"));
    }
    let worlds = |picture: &Picture| worlds_of(picture, &BTreeSet::new());
    let worlds = pictures.iter().flat_map(|(_, picture)| worlds(picture)).collect();
    Ok(Worlds { tick, worlds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_space_has_a_frame_also_one_that_everybody_left() {
        let dot = |entity, space| Dot { entity, space, ..Dot::default() };
        let picture = Picture {
            kinds: vec!["wolf".to_owned()],
            owners: vec!["cell-2".to_owned()],
            reals: vec![dot(1, 1), dot(2, 1)],
            ghosts: vec![dot(3, 2)],
            ..Picture::default()
        };
        let worlds = worlds_of(&picture, &BTreeSet::from([1, 7]));
        let counts: Vec<_> =
            worlds.iter().map(|w| (w.space, w.reals.len(), w.ghosts.len())).collect();
        assert_eq!(counts, [(1, 2, 0), (2, 0, 1), (7, 0, 0)]);
        assert_eq!(worlds[1].ghosts[0].5, "cell-2");
    }
}
