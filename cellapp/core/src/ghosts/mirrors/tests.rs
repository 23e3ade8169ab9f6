//! One host of ghosts, and the words that owners say to it.

#![allow(clippy::unwrap_used)]
mod hostile;
mod life;
mod order;

use super::*;
use crate::ghosts::INDEX_END;
use crate::ghosts::kit::{DIARY, HEALTH, WOLF, at, cell, epoch, id, kinds};
use crate::interest::{Shown, as_prop, ghosted_props, pose_of};
use marchland_codec_core::{DeltaFields, DeltaWriter, PoseChange, Prop, ghost_digest};
use marchland_common::msg::GhostCreate;
use marchland_common::order::Seq;
use marchland_common::world::Value;

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
