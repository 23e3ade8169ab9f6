//! Words that no honest owner says.

use super::*;
use proptest::prelude::*;

#[test]
fn a_block_that_does_not_decode_is_applied_not_at_all_and_everything_is_asked_for() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(1, &create(2, 1, 7, 1, 20));
    host.hear(2, &create(3, 1, 7, 0, 30));
    let CellToCell::GhostDeltas(block) = east(&[0, 1]) else { unreachable!() };
    host.hear(1, &CellToCell::GhostDeltas(block.slice(..block.len() - 1)));
    assert_eq!((host.state(1), host.state(2)), (Some((1, 7, 10)), Some((1, 7, 20))));
    assert_eq!(host.asked().len(), 2, "only of the owner that sent it");
    assert_eq!(host.refused()[0], Refused::Malformed);
}

#[test]
fn a_delta_that_does_not_fit_its_ghost_changes_nothing_and_asks() {
    let wrong: [Vec<Prop<'_>>; 3] = [
        vec![Prop::bytes(HEALTH, b"text")],
        vec![Prop::bytes(DIARY, b"ghosts have none")],
        vec![Prop::int(23, 1)],
    ];
    for props in &wrong {
        let mut host = Host::new();
        host.hear(1, &create(1, 1, 7, 0, 10));
        host.hear(1, &deltas(&[0], props));
        assert_eq!(host.state(1), Some((1, 7, 10)));
        assert_eq!(host.refused(), [Refused::Malformed, Refused::GhostGap]);
    }
}

#[test]
fn a_whole_ghost_that_cannot_be_one_is_refused() {
    let good = whole(1, 1, 7, 0, 10);
    let mut bad = vec![good.clone(); 9];
    bad[0].kind.0 = 77;
    bad[1].props.pop();
    bad[2].props[0].1 = Value::Bytes(vec![]);
    bad[3].place.pos.x = i32::MIN;
    bad[4].index = u32::MAX;
    bad[5].seq = Seq(u64::MAX);
    bad[6].since = epoch(9);
    bad[7].entity = EntityId(5);
    bad[8].digest ^= 1;
    for create in bad {
        let mut host = Host::new();
        host.hear(1, &CellToCell::GhostCreate(create));
        assert!(host.looks.is_empty() && host.mirrors.is_empty());
        let reason = host.refused();
        assert!(matches!(reason[..], [Refused::Malformed | Refused::DigestMismatch]));
    }
    let mut host = Host::new();
    let digest = 0;
    for (seq, index) in [(Seq(u64::MAX), 0), (Seq(1), INDEX_END)] {
        let (entity, epoch) = (id(1), epoch(1));
        host.hear(1, &CellToCell::GhostAdopt { entity, epoch, seq, digest, index });
        assert_eq!(host.refused(), [Refused::Malformed]);
    }
}

proptest! {
    /// Whatever cells say, in whatever order: nothing panics, a snapshot goes on alike, and an
    /// empty table is reached again when all are gone.
    #[test]
    fn no_word_of_any_owner_breaks_the_table(
        words in proptest::collection::vec(
            (1..4_u16, 0..6_u8, 1..4_u64, 1..4_u64, 1..6_u64, 0..3_u32, 0..9_i32), 1..80),
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut host = Host::new();
        for (from, what, n, e, seq, index, x) in words {
            let message = match what {
                0 => create(n, e, seq, index, x),
                1 => adopt(n, e, seq, index, x),
                2 => remove(n, e, x == 0),
                3 => disown(n, e, index),
                4 => east(&[index]),
                _ => CellToCell::GhostDeltas(bytes.clone().into()),
            };
            host.hear(from, &message);
            let copy: Mirrors =
                postcard::from_bytes(&postcard::to_stdvec(&host.mirrors).unwrap()).unwrap();
            prop_assert_eq!(&copy, &host.mirrors);
            let shown = host.mirrors.ghosts.values().filter(|ghost| ghost.is_shown).count();
            prop_assert_eq!(shown, host.looks.len());
        }
        for n in 1..4 {
            host.with(|mirrors, cx| mirrors.forget_owner(cell(n), cx));
        }
        host.wait(400, &[]);
        prop_assert!(host.looks.is_empty() && host.mirrors.is_empty());
        prop_assert!(host.mirrors.owners.is_empty() && host.mirrors.deadlines.is_empty());
    }
}
