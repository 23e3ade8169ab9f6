#![allow(clippy::unwrap_used)]
use super::*;
use crate::ghosts::INDEX_END;
use crate::ghosts::kit::{DIARY, HEALTH, WOLF, at, cell, epoch, id, kinds};
use crate::interest::{Shown, as_prop, ghosted_props, pose_of};
use marchland_codec_core::{DeltaFields, DeltaWriter, PoseChange, Prop, ghost_digest};
use marchland_common::msg::GhostCreate;
use marchland_common::order::Seq;
use marchland_common::world::Value;
use proptest::prelude::*;

/// One host of ghosts.
struct Host {
    mirrors: Mirrors,
    looks: Looks,
    kinds: Kinds,
    now: Tick,
    out: GhostOut,
}

impl Host {
    fn new() -> Self {
        Self::with_bug(false)
    }

    fn with_bug(goes_back: bool) -> Self {
        Self {
            mirrors: Mirrors::new(Patience { stale: 40, abandoned: 400 }, goes_back),
            looks: Looks::new(30_000),
            kinds: kinds(),
            now: Tick(100),
            out: GhostOut::default(),
        }
    }

    fn with<R>(&mut self, work: impl FnOnce(&mut Mirrors, &mut MirrorCtx<'_>) -> R) -> R {
        let Self { mirrors, looks, kinds, now, out } = self;
        work(mirrors, &mut MirrorCtx { now: *now, kinds, looks, out })
    }

    fn hear(&mut self, from: u16, message: &CellToCell) {
        self.with(|mirrors, cx| {
            mirrors.heard(cell(from), cx);
            assert!(mirrors.apply(cell(from), message, cx));
        });
    }

    fn wait(&mut self, ticks: u64, heard: &[u16]) {
        for _ in 0..ticks {
            self.now = self.now.next();
            self.with(|mirrors, cx| {
                heard.iter().for_each(|n| mirrors.heard(cell(*n), cx));
                mirrors.tick(cx);
            });
        }
    }

    /// Epoch, sequence, east in metres.
    fn state(&self, n: u64) -> Option<(u64, u64, i32)> {
        let look = self.looks.get(id(n))?;
        Some((look.epoch().grant(), look.seq().0, look.pos().x / 1_000))
    }

    fn asked(&mut self) -> Vec<(Node, EntityId, Epoch)> {
        let mail = std::mem::take(&mut self.out.mail).into_iter();
        mail.filter_map(|(to, message)| match message {
            CellToCell::GhostNeedSnapshot { entity, epoch } => Some((to, entity, epoch)),
            _ => None,
        })
        .collect()
    }

    fn refused(&mut self) -> Vec<Refused> {
        self.out.refusals.drain(..).map(|refusal| refusal.reason).collect()
    }

    fn ends(&self) -> Vec<GhostEnd> {
        let ends = self.out.events.iter().filter_map(|event| match event {
            Event::GhostEnded { why, .. } => Some(*why),
            _ => None,
        });
        ends.collect()
    }

    fn put_real(&mut self, n: u64, e: u64, seq: u64) {
        let kind = self.kinds.get(WOLF).unwrap();
        let shown = Shown {
            kind: WOLF,
            space: at(0, 0).space,
            pose: pose_of(&at(5, 5)),
            epoch: epoch(e),
            seq: Seq(seq),
            since: epoch(1),
            props: ghosted_props(kind, &kind.defaults()),
            is_real: true,
        };
        self.looks.show(id(n), shown);
    }
}

fn whole(n: u64, e: u64, seq: u64, index: u32, x: i32) -> GhostCreate {
    let kinds = kinds();
    let kind = kinds.get(WOLF).unwrap();
    let (place, props) = (at(x, 5), ghosted_props(kind, &kind.defaults()));
    GhostCreate {
        entity: id(n),
        epoch: epoch(e),
        seq: Seq(seq),
        index,
        kind: WOLF,
        place,
        digest: ghost_digest(pose_of(&place), props.iter().map(as_prop)),
        props,
        since: epoch(1),
    }
}

fn create(n: u64, e: u64, seq: u64, index: u32, x: i32) -> CellToCell {
    CellToCell::GhostCreate(whole(n, e, seq, index, x))
}

fn adopt(n: u64, e: u64, seq: u64, index: u32, x: i32) -> CellToCell {
    let digest = whole(n, e, seq, index, x).digest;
    CellToCell::GhostAdopt { entity: id(n), epoch: epoch(e), seq: Seq(seq), digest, index }
}

/// One block: each index moves one metre east.
fn east(indexes: &[u32]) -> CellToCell {
    deltas(indexes, &[])
}

fn deltas(indexes: &[u32], props: &[Prop<'_>]) -> CellToCell {
    let mut writer = DeltaWriter::new();
    let pose = PoseChange { moved: Some([20, 0]), heading: None };
    for index in indexes {
        writer.push(*index, &DeltaFields { pose, props }).unwrap();
    }
    CellToCell::GhostDeltas(writer.finish_bytes())
}

fn remove(n: u64, e: u64, destroyed: bool) -> CellToCell {
    CellToCell::GhostRemove { entity: id(n), epoch: epoch(e), destroyed }
}

fn disown(n: u64, e: u64, index: u32) -> CellToCell {
    CellToCell::GhostDisown { entity: id(n), epoch: epoch(e), index }
}

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
fn an_owner_that_falls_silent_is_marked_then_dropped_then_found_again() {
    let mut host = Host::new();
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &create(2, 1, 7, 0, 20));
    host.wait(39, &[2]);
    assert!(!host.looks.get(id(1)).unwrap().is_stale());
    host.wait(1, &[2]);
    assert!(host.looks.get(id(1)).unwrap().is_stale());
    assert!(!host.looks.get(id(2)).unwrap().is_stale());
    host.wait(1, &[1, 2]);
    assert!(!host.looks.get(id(1)).unwrap().is_stale(), "it speaks again");
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
    host.hear(2, &adopt(2, 2, 7, 0, 20));
    assert!(!host.looks.get(id(2)).unwrap().is_stale());
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

#[test]
fn the_deliberate_fault_applies_what_an_earlier_owner_still_says() {
    let mut host = Host::with_bug(true);
    host.hear(1, &create(1, 1, 7, 0, 10));
    host.hear(2, &adopt(1, 2, 7, 4, 10));
    host.hear(1, &east(&[0]));
    assert_eq!(host.state(1), Some((1, 8, 11)));
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
