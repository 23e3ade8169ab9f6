//! How ghosts begin, become real, are left alone, and end.

use super::*;

#[test]
fn an_older_life_never_comes_back_after_its_end() {
    let mut host = Host::new();
    host.hear(1, &create(1, 3, 7, 0, 10));
    host.hear(1, &remove(1, 3, false));
    assert!(host.looks.is_empty() && host.mirrors.is_empty());
    host.hear(2, &create(1, 2, 9, 0, 10));
    assert!(host.looks.is_empty());
    host.hear(1, &create(1, 3, 8, 0, 10));
    assert_eq!(host.state(1), Some((3, 8, 10)), "the same life may walk back into reach");
    host.hear(1, &remove(1, 3, true));
    host.hear(1, &create(1, 3, 9, 0, 10));
    host.hear(2, &create(1, 2, 9, 0, 10));
    assert!(host.looks.is_empty(), "what was destroyed stays away");
    host.hear(2, &create(1, 4, 1, 0, 10));
    assert_eq!(host.state(1), Some((4, 1, 10)), "unless a base restored it");
    assert_eq!(host.ends(), [GhostEnd::Removed, GhostEnd::Destroyed]);
}

#[test]
fn the_end_of_an_unknown_entity_is_remembered_too() {
    let mut host = Host::new();
    host.hear(1, &remove(1, 3, true));
    host.hear(2, &create(1, 2, 9, 0, 10));
    assert!(host.looks.is_empty());
}

#[test]
fn an_owner_that_falls_silent_is_marked_then_dropped_then_found_again() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &create(2, 1, 7, 0, 20));
    host.wait(39, &[2]);
    assert!(!host.looks.get(id(1)).unwrap().is_stale());
    host.wait(1, &[2]);
    assert!(host.looks.get(id(1)).unwrap().is_stale());
    assert!(!host.looks.get(id(2)).unwrap().is_stale());
    assert_eq!(host.mirrors.stale(), 1);
    host.wait(1, &[1, 2]);
    assert!(!host.looks.get(id(1)).unwrap().is_stale(), "it speaks again");
    assert_eq!(host.mirrors.stale(), 0);
    host.wait(399, &[2]);
    assert!(host.looks.get(id(1)).is_some());
    host.wait(1, &[2]);
    assert_eq!((host.state(1), host.ends()), (None, vec![GhostEnd::Abandoned]));
    assert_eq!(host.asked(), []);
    host.wait(1, &[1, 2]);
    assert_eq!(host.asked(), [(cell(1), id(1), epoch(1))], "though it says nothing of it");
    host.hear(1, &east(&[0]));
    host.hear(1, &create(1, 1, 8, 0, 11));
    host.hear(1, &east(&[0]));
    assert_eq!(host.state(1), Some((1, 9, 12)));
}

#[test]
fn a_ghost_that_nobody_adopts_is_marked_at_40_ticks_and_dropped_at_400() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(1, &create(2, 1, 7, 1, 20));
    host.hear(1, &disown(1, 1, 0));
    host.hear(1, &disown(2, 1, 1));
    host.wait(40, &[1]);
    assert!(host.looks.get(id(1)).unwrap().is_stale());
    assert_eq!(host.mirrors.stale(), 2);
    host.hear(2, &adopt(2, 2, 7, 0, 20));
    assert!(!host.looks.get(id(2)).unwrap().is_stale());
    assert_eq!(host.mirrors.stale(), 1);
    host.wait(359, &[1, 2]);
    assert!(host.looks.get(id(1)).is_some());
    host.wait(1, &[1, 2]);
    assert_eq!((host.state(1), host.state(2)), (None, Some((2, 7, 20))));
}

#[test]
fn the_ghosts_of_a_dead_owner_wait_for_the_next_one() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &adopt(2, 1, 7, 0, 10));
    host.with(|mirrors, cx| [1, 2].iter().for_each(|n| mirrors.forget_owner(cell(*n), cx)));
    assert_eq!(host.mirrors.len(), 1, "what was never shown is dropped at once");
    host.hear(3, &adopt(1, 2, 7, 0, 10));
    host.wait(30, &[3]);
    assert_eq!(host.mirrors.owner_of(id(1)), Some(cell(3)));
    assert!(host.mirrors.deadlines.is_empty());
}

#[test]
fn a_ghost_that_becomes_real_ends_without_being_unseen() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.mirrors.take_over(id(1), &mut host.out);
    assert_eq!(host.ends(), [GhostEnd::BecameReal]);
    assert!(host.mirrors.is_empty() && host.looks.get(id(1)).is_some());
    host.put_real(1, 2, 7);
    host.hear(1, &east(&[0]));
    host.hear(1, &create(1, 1, 9, 1, 99));
    assert_eq!(host.refused(), [Refused::GhostStale, Refused::GhostStale]);
    assert_eq!(host.state(1), Some((2, 7, 5)), "a real is never touched");
    host.hear(1, &disown(1, 1, 0));
    assert_eq!(host.mirrors.owners.len(), 0, "nothing is left of the owner's numbers");
}

#[test]
fn a_frozen_real_is_a_ghost_that_the_next_owner_adopts_in_place() {
    let mut host = Host::new();
    host.put_real(1, 1, 7);
    host.with(|mirrors, cx| mirrors.from_real(id(1), epoch(1), cx));
    assert!(host.mirrors.shows(id(1)) && !host.looks.get(id(1)).unwrap().is_real());
    host.wait(500, &[]);
    assert!(host.mirrors.shows(id(1)), "a frozen real is kept however long the base takes");
    host.hear(2, &adopt(1, 2, 7, 0, 5));
    host.hear(2, &east(&[0]));
    assert_eq!((host.state(1), host.asked()), (Some((2, 8, 6)), vec![]));
    host.with(|mirrors, cx| mirrors.released(id(1), cx));
    assert_eq!(host.mirrors.owner_of(id(1)), Some(cell(2)));
    assert!(!host.mirrors.take_back(id(1), &mut host.looks), "it is the next owner's");
}

#[test]
fn a_handoff_that_is_called_off_makes_the_ghost_real_again() {
    let mut host = Host::new();
    host.put_real(1, 1, 7);
    host.with(|mirrors, cx| mirrors.from_real(id(1), epoch(1), cx));
    assert!(host.mirrors.take_back(id(1), &mut host.looks));
    assert!(host.looks.get(id(1)).unwrap().is_real() && host.mirrors.is_empty());
    assert_eq!(host.ends(), []);
}

#[test]
fn a_later_owner_that_speaks_while_the_real_stands_here_is_asked_when_it_is_gone() {
    let mut host = Host::new();
    host.put_real(1, 1, 7);
    let reset = GhostCreate { since: epoch(3), ..whole(1, 3, 2, 0, 60) };
    host.hear(2, &CellToCell::GhostCreate(reset.clone()));
    host.hear(2, &east(&[0]));
    assert_eq!((host.state(1), host.asked()), (Some((1, 7, 5)), vec![]));
    assert_eq!(host.mirrors.epoch_of(id(1)), Some(epoch(3)));
    host.with(|mirrors, cx| {
        mirrors.from_real(id(1), epoch(1), cx);
        mirrors.released(id(1), cx);
    });
    assert_eq!(host.asked(), [(cell(2), id(1), epoch(3))]);
    host.hear(2, &CellToCell::GhostCreate(reset));
    assert_eq!(host.state(1), Some((3, 2, 60)));
}
