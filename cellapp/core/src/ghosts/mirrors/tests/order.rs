//! Which state of a ghost is shown, and when another one is asked for.

use super::*;

#[test]
fn a_ghost_follows_its_owner_step_by_step() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(1, &east(&[0]));
    host.hear(1, &deltas(&[0], &[Prop::int(HEALTH, 55)]));
    assert_eq!(host.state(1), Some((1, 9, 12)));
    assert_eq!(host.looks.get(id(1)).unwrap().props()[0], (HEALTH, Value::Int(55)));
    let digest = host.looks.get(id(1)).unwrap().digest();
    let applied = host.out.events.last().unwrap();
    let (entity, owner, seq) = (id(1), cell(1), Seq(9));
    assert_eq!(*applied, Event::GhostApplied { entity, owner, epoch: epoch(1), seq, digest });
    assert_eq!(host.mirrors.owner_of(id(1)), Some(cell(1)));
    assert_eq!(host.refused(), []);
}

#[test]
fn an_adopted_ghost_with_an_equal_digest_goes_on_without_a_whole_state() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &adopt(1, 2, 7, 4, 10));
    host.hear(2, &east(&[4]));
    assert_eq!((host.state(1), host.asked()), (Some((2, 8, 11)), vec![]));
    host.hear(1, &east(&[0]));
    assert_eq!(host.state(1), Some((2, 8, 11)), "the owner before is not listened to");
    assert_eq!(host.refused(), [Refused::GhostStale]);
}

#[test]
fn a_difference_asks_once_and_waits_until_it_is_answered() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &adopt(1, 2, 9, 4, 12));
    host.hear(2, &east(&[4]));
    host.hear(2, &east(&[4]));
    assert_eq!(host.asked(), [(cell(2), id(1), epoch(2))]);
    assert_eq!(host.refused(), [Refused::GhostGap]);
    assert_eq!((host.state(1), host.mirrors.superseded()), (Some((1, 7, 10)), 2));
    host.hear(2, &create(1, 2, 11, 4, 14));
    host.hear(2, &east(&[4]));
    assert_eq!((host.state(1), host.mirrors.waiting()), (Some((2, 12, 15)), 0));
}

#[test]
fn a_ghost_that_is_adopted_before_it_is_known_is_asked_for_and_not_shown_until_then() {
    let mut host = Host::new();
    host.hear(2, &adopt(1, 2, 7, 4, 10));
    assert_eq!(host.asked(), [(cell(2), id(1), epoch(2))]);
    assert!(!host.mirrors.shows(id(1)) && host.looks.is_empty());
    host.hear(1, &create(1, 1, 7, 0, 10));
    assert!(host.looks.is_empty(), "the older owner's state comes too late");
    host.hear(2, &create(1, 2, 7, 4, 10));
    assert!(host.mirrors.shows(id(1)));
}

#[test]
fn nothing_older_is_ever_applied() {
    let mut host = Host::new();
    host.hear(1, &create(1, 2, 7, 0, 10));
    host.refused();
    let old = [
        create(1, 2, 6, 0, 99),
        create(1, 1, 9, 0, 99),
        adopt(1, 1, 7, 3, 10),
        adopt(1, 2, 6, 0, 10),
        remove(1, 1, true),
    ];
    for message in &old[..3] {
        host.hear(1, message);
        assert_eq!(host.refused(), [Refused::GhostStale], "{message:?}");
    }
    host.hear(2, &create(1, 2, 8, 0, 99));
    assert_eq!(host.refused(), [Refused::GhostStale], "an epoch has one owner");
    host.hear(1, &old[4]);
    assert_eq!(host.refused(), [Refused::GhostStale]);
    assert_eq!(host.state(1), Some((2, 7, 10)));
    host.hear(1, &old[3]);
    assert_eq!(host.refused(), [Refused::GhostGap], "an earlier sequence is asked about");
}

#[test]
fn a_restored_state_may_step_back_and_says_since_which_epoch() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 70, 0, 10));
    let reset = GhostCreate { since: epoch(2), ..whole(1, 2, 3, 0, 8) };
    host.hear(2, &CellToCell::GhostCreate(reset));
    assert_eq!(host.state(1), Some((2, 3, 8)));
    assert_eq!(host.looks.get(id(1)).unwrap().since(), epoch(2));
}

#[test]
fn a_number_means_what_its_owner_said_last() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 1, 0, 10));
    host.hear(1, &remove(1, 1, false));
    host.hear(1, &create(2, 1, 1, 0, 20));
    host.hear(2, &create(3, 1, 1, 0, 30));
    host.hear(1, &east(&[0]));
    assert_eq!((host.state(2), host.state(3)), (Some((1, 2, 21)), Some((1, 1, 30))));
    host.hear(1, &create(2, 1, 2, 5, 21));
    host.hear(1, &east(&[0, 5, 9]));
    assert_eq!(host.state(2), Some((1, 3, 22)));
    let unknown: Vec<_> = host.out.refusals.drain(..).collect();
    assert_eq!((unknown.len(), unknown[0].reason), (1, Refused::GhostUnknown));
    assert_eq!(unknown[0].count, 2, "one entry for all of a block");
    host.hear(1, &create(4, 1, 1, 5, 40));
    host.hear(1, &east(&[5]));
    assert_eq!(host.state(2), Some((1, 3, 22)), "its number was given away");
    assert_eq!((host.state(4), host.mirrors.owner_of(id(2))), (Some((1, 2, 41)), None));
}

#[test]
fn the_deliberate_fault_applies_what_an_earlier_owner_still_says() {
    let mut host = Host::with_bug(true);
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &adopt(1, 2, 7, 4, 10));
    host.hear(1, &east(&[0]));
    assert_eq!(host.state(1), Some((1, 8, 11)));
}
