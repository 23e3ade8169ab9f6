//! The planner through its public door.
#![allow(clippy::unwrap_used)]

use marchland_common::cluster::{Member, MemberState, SlotOwner};
use marchland_common::order::{Incarnation, Node, NodeKind, SpaceId, Term};
use marchland_common::world::{Layout, METRE, Pos, Rect};
use marchland_manager_core::{CellLoad, Facts, Plan, SpaceSpec, Write, plan, split};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SPACE: SpaceId = SpaceId(1);

fn cell(number: u16, life: u64) -> Node {
    Node::new(NodeKind::Cell, number, life)
}

fn serving(node: Node) -> Member {
    Member { node, state: MemberState::Serving }
}

fn facts(cells: &[Node], bases: u16) -> Facts {
    let bases = (1..=bases).map(|n| Node::new(NodeKind::Base, n, 100 + u64::from(n)));
    let bounds = Rect::new(Pos::metres(-120, -120), Pos::metres(120, 120));
    Facts {
        members: cells.iter().copied().chain(bases).map(serving).collect(),
        specs: BTreeMap::from([(SPACE, SpaceSpec { id: SPACE, bounds, cells: 0 })]),
        cells_awaited: 3,
        bases_awaited: 2,
        ..Facts::default()
    }
}

fn carry_out(facts: &mut Facts, plan: &Plan) {
    for write in &plan.writes {
        match write {
            Write::Slot(slot, base) => {
                facts.slots.push(SlotOwner { slot: *slot, base: *base, term: Term(1) });
            }
            Write::Layout(layout) => {
                facts.layouts.insert(layout.space, layout.clone());
            }
            Write::TakeOver { slot, .. } => panic!("nobody is lost: slot {slot}"),
            Write::RemoveSpace(space) => {
                facts.layouts.remove(space);
            }
        }
    }
}

fn layouts(plan: &Plan) -> Vec<&Layout> {
    plan.writes
        .iter()
        .filter_map(|w| match w {
            Write::Layout(layout) => Some(layout),
            _ => None,
        })
        .collect()
}

#[test]
fn three_cellapps_share_a_space_and_two_baseapps_share_the_slots() {
    let mut facts = facts(&[cell(1, 11), cell(2, 12), cell(3, 13)], 2);
    let first = plan(&facts);
    let owners: Vec<_> = layouts(&first)[0].cells().iter().map(|c| c.owner.unwrap()).collect();
    assert_eq!(owners, [cell(1, 11), cell(2, 12), cell(3, 13)]);
    carry_out(&mut facts, &first);
    assert_eq!(facts.slots.len(), 256);
    let of_first = facts.slots.iter().filter(|s| s.base.number == 1).count();
    assert_eq!(of_first, 128);
    assert_eq!(plan(&facts), Plan::default(), "a plan that is carried out leaves nothing to do");
}

#[test]
fn too_few_processes_are_waited_for_and_named_until_the_wait_is_over() {
    let mut facts = facts(&[cell(1, 11)], 1);
    let waiting = plan(&facts);
    assert!(waiting.writes.is_empty());
    assert_eq!(waiting.waiting, ["1 of 2 baseapps", "1 of 3 cellapps for space 1"]);
    facts.waited_enough = true;
    let all = plan(&facts);
    assert_eq!(all.writes.len(), 257);
}

#[test]
fn a_cell_of_a_dead_life_goes_to_its_successor_or_else_to_the_least_busy() {
    let mut facts = facts(&[cell(1, 11), cell(2, 12), cell(3, 13)], 2);
    let first = plan(&facts);
    carry_out(&mut facts, &first);
    facts.members.retain(|m| m.node != cell(2, 12));
    assert!(plan(&facts).writes.is_empty(), "absence is no verdict");
    facts.dead.insert(Incarnation(12));
    facts.loads.insert(cell(1, 11), CellLoad { reals: 9 });
    let healed = plan(&facts);
    assert_eq!(layouts(&healed)[0].cells()[1].owner, Some(cell(3, 13)));
    facts.members.push(serving(cell(2, 40)));
    let healed = plan(&facts);
    assert_eq!(layouts(&healed)[0].cells()[1].owner, Some(cell(2, 40)));
    assert_eq!(layouts(&healed)[0].version, 2);
}

#[test]
fn a_draining_cellapp_gets_no_cell_and_an_unwanted_space_is_removed() {
    let mut facts = facts(&[cell(1, 11), cell(2, 12), cell(3, 13)], 2);
    facts.members[0].state = MemberState::Draining;
    facts.waited_enough = true;
    let first = plan(&facts);
    assert!(layouts(&first)[0].cells().iter().all(|c| c.owner != Some(cell(1, 11))));
    carry_out(&mut facts, &first);
    facts.specs.clear();
    assert_eq!(plan(&facts).writes, [Write::RemoveSpace(SPACE)]);
}

#[test]
fn a_cellapp_that_comes_back_gets_a_cell_of_whoever_has_several_in_one_space() {
    let mut facts = facts(&[cell(1, 11), cell(2, 12), cell(3, 13)], 2);
    let town = SpaceSpec { id: SpaceId(2), cells: 1, ..facts.specs[&SPACE] };
    facts.specs.insert(town.id, town);
    let first = plan(&facts);
    carry_out(&mut facts, &first);
    facts.dead.insert(Incarnation(12));
    facts.members.retain(|m| m.node != cell(2, 12));
    let healed = plan(&facts);
    carry_out(&mut facts, &healed);
    assert_eq!(facts.layouts[&SPACE].cells()[1].owner, Some(cell(3, 13)));
    assert_eq!(plan(&facts), Plan::default());
    facts.members.push(serving(cell(2, 40)));
    let balanced = plan(&facts);
    carry_out(&mut facts, &balanced);
    let owners: Vec<_> = facts.layouts[&SPACE].cells().iter().map(|c| c.owner.unwrap()).collect();
    assert_eq!(owners, [cell(1, 11), cell(3, 13), cell(2, 40)]);
    assert_eq!(facts.layouts[&SPACE].version, 3);
    assert_eq!(facts.layouts[&town.id].version, 1, "nothing changed there");
    assert_eq!(plan(&facts), Plan::default());
}

#[test]
fn cells_of_a_life_that_is_leaving_go_to_others_while_there_are_any() {
    let mut facts = facts(&[cell(1, 11), cell(2, 12)], 1);
    facts.waited_enough = true;
    let first = plan(&facts);
    carry_out(&mut facts, &first);
    facts.members[1].state = MemberState::Draining;
    let healed = plan(&facts);
    carry_out(&mut facts, &healed);
    assert!(facts.layouts[&SPACE].cells().iter().all(|c| c.owner == Some(cell(1, 11))));
    facts.members[0].state = MemberState::Draining;
    assert_eq!(plan(&facts), Plan::default(), "the last one keeps them");
}

/// Lives that come, leave and die, in any order.
fn history() -> impl Strategy<Value = Vec<(u16, u8)>> {
    prop::collection::vec((1u16..6, 0u8..3), 1..40)
}

proptest! {
    #[test]
    fn whatever_comes_and_goes_every_plan_is_one_step_and_leaves_nobody_idle_beside_a_busy_one(
        history in history(),
    ) {
        let mut facts = facts(&[cell(1, 1)], 1);
        facts.waited_enough = true;
        let town = SpaceSpec { id: SpaceId(2), cells: 3, ..facts.specs[&SPACE] };
        facts.specs.insert(town.id, town);
        let first = plan(&facts);
        carry_out(&mut facts, &first);
        for (life, (number, what)) in (2..).zip(history) {
            let name = cell(number, 0).name;
            match what {
                0 => {
                    // A later life of a name ends the earlier one.
                    let old = facts.members.iter().filter(|m| m.node.name == name);
                    let old: Vec<_> = old.map(|m| m.node.incarnation).collect();
                    facts.dead.extend(old);
                    facts.members.retain(|m| m.node.name != name);
                    facts.members.push(serving(cell(number, life)));
                }
                1 => {
                    let gone = facts.members.iter().filter(|m| m.node.name == name);
                    let gone: Vec<_> = gone.map(|m| m.node.incarnation).collect();
                    facts.dead.extend(gone);
                }
                _ => {
                    let draining = facts.members.iter_mut().filter(|m| m.node.name == name);
                    draining.for_each(|m| m.state = MemberState::Draining);
                }
            }
            let next = plan(&facts);
            for layout in layouts(&next) {
                prop_assert_eq!(layout.version, facts.layouts[&layout.space].version + 1);
            }
            carry_out(&mut facts, &next);
            prop_assert_eq!(plan(&facts), Plan::default());
            let serves = |m: &&Member| {
                m.state == MemberState::Serving
                    && m.node.name.kind == NodeKind::Cell
                    && !facts.dead.contains(&m.node.incarnation)
            };
            let mut owned: BTreeMap<Node, usize> =
                facts.members.iter().filter(serves).map(|m| (m.node, 0)).collect();
            if owned.is_empty() {
                continue;
            }
            for cell in facts.layouts.values().flat_map(Layout::cells) {
                let owner = cell.owner.unwrap();
                prop_assert!(owned.contains_key(&owner), "{} owns a cell", owner);
                *owned.entry(owner).or_default() += 1;
            }
            let idle = owned.values().any(|n| *n == 0);
            prop_assert!(!idle || owned.values().all(|n| *n <= 1), "{:?}", owned);
        }
    }

    #[test]
    fn a_split_covers_the_space_with_fair_shares(
        (w, h) in (10..500, 10..500),
        count in 1usize..20,
    ) {
        let bounds = Rect::new(Pos::new(-7, 3), Pos::new(w * METRE, h * METRE));
        let owners: Vec<_> = (0..count).map(|n| Some(cell(n as u16 + 1, 1))).collect();
        let layout = Layout { space: SPACE, version: 1, bounds, tree: split(bounds, &owners) };
        let area = |r: &Rect| {
            let (w, h) = r.size();
            i128::from(w) * i128::from(h)
        };
        let cells = layout.cells();
        prop_assert_eq!(cells.len(), count);
        prop_assert_eq!(cells.iter().map(|c| area(&c.rect)).sum::<i128>(), area(&bounds));
        let fair = area(&bounds) / count as i128;
        for (i, c) in cells.iter().enumerate() {
            prop_assert_eq!(c.owner, owners[i]);
            prop_assert!(area(&c.rect) * 10 > fair * 9 && area(&c.rect) * 10 < fair * 11);
        }
    }
}

#[test]
fn after_everything_was_off_each_cell_goes_to_the_later_life_of_its_owner_and_absence_is_no_verdict()
 {
    let mut before = facts(&[cell(1, 10), cell(2, 11), cell(3, 12)], 2);
    let first = plan(&before);
    carry_out(&mut before, &first);
    // The first and the second come back, the third does not.
    let again = facts(&[cell(1, 50), cell(2, 51)], 2);
    let now = Facts { slots: before.slots, layouts: before.layouts, ..again };
    let plan = plan(&now);
    let [layout] = layouts(&plan)[..] else { panic!("{plan:?}") };
    let owners: Vec<Node> = layout.cells().iter().filter_map(|c| c.owner).collect();
    assert_eq!(owners.len(), 3);
    for owner in [cell(1, 50), cell(2, 51), cell(3, 12)] {
        assert!(owners.contains(&owner), "{owners:?}");
    }
}
