//! The measured workload: a thousand ghosts that all walk at 6 m/s at 20 ticks a second, turn in
//! every tick, and lose or gain a hit point or two in one tick of ten. Seeded, computed once,
//! replayed by every codec.

use crate::protobuf;
use marchland_codec_core::{
    DeltaFields, DeltaReader, DeltaWriter, Pose, PoseChange, Prop, PropValue,
};
use std::ops::Deref;

/// Ghosts in every tick.
pub const GHOSTS: usize = 1_000;

/// Ticks of the walk, then it repeats.
const TICKS: usize = 16;

/// How far a ghost walks in a tick, in millimetres: 6 m/s at 20 Hz.
pub const WALK_MM: i32 = 300;

const HP_SLOT: u8 = 2;

/// What changed on one ghost in one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub index: u32,
    pub pose: PoseChange,
    pub hp: Option<i64>,
}

/// What changed in one tick, by ascending index.
pub type Tick = Vec<Sample>;

/// The whole walk.
pub struct Ticks(Vec<Tick>);

impl Deref for Ticks {
    type Target = [Tick];
    fn deref(&self) -> &[Tick] {
        &self.0
    }
}

impl Ticks {
    /// Ghosts that walk.
    pub fn walking() -> Self {
        Self::moving(WALK_MM)
    }

    /// Ghosts that move `step_mm` in a tick.
    pub fn moving(step_mm: i32) -> Self {
        let mut random = Random(0x6d61_7263_686c_616e);
        let mut walkers: Vec<_> = (0..GHOSTS).map(|_| Walker::new(&mut random)).collect();
        let mut tick = || {
            let samples = (0..).zip(&mut walkers);
            samples.map(|(index, walker)| walker.step(index, step_mm, &mut random)).collect()
        };
        Self((0..TICKS).map(|_| tick()).collect())
    }

    /// Every tick as a packed block.
    pub fn packed(&self) -> Vec<Vec<u8>> {
        let mut writer = DeltaWriter::new();
        self.iter().map(|tick| encode(&mut writer, tick).to_vec()).collect()
    }

    /// Every tick as a protobuf message.
    pub fn protobuf(&self) -> Vec<Vec<u8>> {
        let mut writer = protobuf::Writer::default();
        self.iter().map(|tick| writer.encode(tick).to_vec()).collect()
    }
}

/// Writes one tick as a packed block.
pub fn encode<'w>(writer: &'w mut DeltaWriter, tick: &Tick) -> &'w [u8] {
    writer.begin(marchland_common::order::Tick(1_000_000));
    for sample in tick {
        let hp = sample.hp.map(|hp| [Prop::int(HP_SLOT, hp)]);
        let props = hp.as_ref().map_or(&[][..], |hp| &hp[..]);
        let fields = DeltaFields { pose: sample.pose, props };
        writer.push(sample.index, &fields).expect("the workload fits a block");
    }
    writer.finish()
}

/// Applies one packed block and returns a sum over what it changed.
pub fn apply(block: &[u8], ghosts: &mut Ghosts) -> u64 {
    let mut sum = 0;
    for delta in DeltaReader::new(block).expect("our own block") {
        let delta = delta.expect("our own block");
        let mut hp = None;
        for prop in delta.props {
            if let PropValue::Int(value) = prop.value {
                hp = Some(value);
            }
        }
        sum += ghosts.apply(delta.index, delta.pose, hp);
    }
    sum
}

/// The receiving side's copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Ghosts(Vec<(Pose, i64)>);

impl Default for Ghosts {
    fn default() -> Self {
        Self(vec![(Pose::default(), 100); GHOSTS])
    }
}

impl Ghosts {
    /// Applies one change, the same for every codec.
    #[inline]
    pub fn apply(&mut self, index: u32, pose: PoseChange, hp: Option<i64>) -> u64 {
        let (at, holds) = &mut self.0[index as usize];
        *at = at.apply(pose).expect("the walk stays in the world");
        *holds = hp.unwrap_or(*holds);
        u64::from(at.heading())
    }
}

/// A walker whose direction turns by one of 64 steps in every tick.
struct Walker {
    x: i32,
    y: i32,
    turn: u16,
    hp: i64,
}

impl Walker {
    fn new(random: &mut Random) -> Self {
        let [x, y] = [(); 2].map(|()| random.below(4_000_000) as i32 - 2_000_000);
        Self { x, y, turn: random.below(64) as u16, hp: 100 }
    }

    fn pose(&self) -> Pose {
        Pose::of_world(self.x, self.y, self.turn << 10)
    }

    fn step(&mut self, index: u32, step_mm: i32, random: &mut Random) -> Sample {
        let sent = self.pose();
        self.turn = (self.turn + if random.below(2) == 0 { 1 } else { 63 }) % 64;
        let (dx, dy) = direction(self.turn, step_mm);
        (self.x, self.y) = (self.x + dx, self.y + dy);
        let hp = (random.below(10) == 0).then(|| {
            self.hp = (self.hp + [-2, -1, 1, 2][random.below(4) as usize]).clamp(1, 100);
            self.hp
        });
        Sample { index, pose: self.pose().change_since(sent), hp }
    }
}

/// A step of the given length into one of 64 directions, from the rational circle.
fn direction(turn: u16, step_mm: i32) -> (i32, i32) {
    let k = i32::from(turn % 16);
    let along = step_mm * (256 - k * k) / (256 + k * k);
    let across = step_mm * (32 * k) / (256 + k * k);
    match turn / 16 {
        0 => (along, across),
        1 => (-across, along),
        2 => (-along, -across),
        _ => (across, -along),
    }
}

/// Xorshift: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
