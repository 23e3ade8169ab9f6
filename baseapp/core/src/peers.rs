//! The other processes as a base sees them: when each was heard, what it said in its headers, what
//! of it is durable, and what is on its way to it.
//!
//! The window of a cellapp hangs on [`Peer::durable_tick`]. It is per life and counts ticks, so a
//! life whose entities are idle is measured by its empty bundles as well. It stands still from the
//! moment in which bundles of the life are missing, and from the beginning of this one, until the
//! life has said what it holds, see [`Listing`]. It stops for ever when the life is declared dead.
//! It does not stop when one entity of a healthy life is granted elsewhere, because that life owns
//! others: a stale copy is fenced by name instead, see [`Fence`].

use crate::moves::Closing;
use marchland_common::msg::{Header, Msg};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, SlotId, Term, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

/// Bundles whose durability is told apart; more are told together, as late as the last of them.
const WRITTEN_MAX: usize = 64;

/// A claim that ended while its holder may not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The epoch that ended.
    pub epoch: Epoch,
    /// How often it is still said unasked.
    pub left: u8,
}

impl Fence {
    /// How often a fence is said unasked. The link carries each at most once and loses none
    /// unless it begins anew, so this is for links that begin anew, and it must end: a holder
    /// that has nothing to say about the entity never answers. Whoever speaks under an ended
    /// epoch is told again, every time.
    pub const TIMES: u8 = 8;
}

/// What a cellapp said of itself in its newest bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellWord {
    /// Ticks in which it stepped this base's entities.
    pub steps: u64,
    /// Whether it takes new entities.
    pub accepting: bool,
    /// The schema that it understands.
    pub schema: u32,
}

/// Whether a life has said what it holds.
///
/// A bundle that was lost may have held a step, and a life of this base that has just begun knows
/// nothing of who was given what: a later bundle says nothing of either. So its tick is no more
/// than a number until the life has listed everything that it holds, idle copies too, with the
/// steps that are not acknowledged. The question is asked again in every tick until it is
/// answered, and has a number, so that a list that was begun before a loss answers nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    lost: u64,
    answered: u64,
}

/// What an answer was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The life has said what it holds.
    Now,
    /// It had, or something was lost since that question.
    Before,
    /// That question was never asked.
    Unasked,
}

impl Listing {
    /// Bundles are missing.
    pub fn lose(&mut self) {
        self.lost += 1;
    }

    /// The number of the question that counts.
    #[must_use]
    pub const fn question(self) -> u64 {
        self.lost + 1
    }

    /// Whether it is answered.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.answered == self.question()
    }

    /// The end of a list.
    pub fn answer(&mut self, question: u64) -> Answered {
        if question > self.question() {
            Answered::Unasked
        } else if question < self.question() || self.is_whole() {
            Answered::Before
        } else {
            self.answered = question;
            Answered::Now
        }
    }
}

/// One other life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// The number of the newest bundle to it.
    pub sent: u64,
    /// The number of the newest bundle from it.
    pub got: u64,
    /// In which tick of this process it was heard last.
    pub heard: Option<u64>,
    /// What it said then.
    pub word: CellWord,
    /// Its newest tick.
    pub newest: Option<Tick>,
    /// Whether it was declared dead.
    pub dead: bool,
    /// Whether the link to this base began anew, so that what was said may be lost.
    pub ask: bool,
    /// When it was asked last what it holds, or told again what is open.
    pub asked: Option<u64>,
    /// What a cellapp has said of what it holds.
    pub listing: Listing,
    /// Whether it gets a bundle in this moment even if there is nothing to say.
    #[serde(skip)]
    pub due: bool,
    /// Claims that ended.
    pub fences: BTreeMap<EntityId, Fence>,
    /// Slots whose entities it is asked to let stand still.
    pub closing: BTreeMap<SlotId, Closing>,
    /// The newest record that its bundles led to.
    lsn: Lsn,
    written: VecDeque<(Tick, Lsn)>,
    durable_tick: Option<Tick>,
    /// Messages to it in this moment.
    #[serde(skip)]
    pub out: Vec<Msg>,
}

impl Peer {
    /// Notes a bundle from it before anything in it is looked at.
    pub fn hear(&mut self, ran: u64, src_tick: Tick, header: Header) {
        self.heard = Some(ran);
        self.newest = self.newest.max(Some(src_tick));
        if let Header::CellToBase { steps, accepting, schema } = header {
            self.word = CellWord { steps, accepting, schema };
        }
    }

    /// Notes that a bundle was worked off. `lsn` is the newest record that it led to, if any, and
    /// `counts` whether nothing is missing before it.
    pub fn worked_off(&mut self, tick: Tick, lsn: Option<Lsn>, counts: bool) {
        self.lsn = self.lsn.max(lsn.unwrap_or_default());
        if !counts {
            return;
        }
        let full = self.written.len() >= WRITTEN_MAX;
        match self.written.back_mut() {
            Some(back) if full || back.1 == self.lsn => *back = (back.0.max(tick), self.lsn),
            _ => self.written.push_back((tick, self.lsn)),
        }
    }

    /// Ticks that are taken in from now on are durable only together with this record.
    pub fn rests_on(&mut self, lsn: Lsn) {
        self.lsn = self.lsn.max(lsn);
    }

    /// The newest tick of this life whose whole content is durable.
    pub fn durable_tick(&mut self, durable: Lsn) -> Option<Tick> {
        while let Some((tick, _)) = self.written.front().filter(|(_, lsn)| *lsn <= durable) {
            if !self.dead {
                self.durable_tick = self.durable_tick.max(Some(*tick));
            }
            self.written.pop_front();
        }
        self.durable_tick
    }

    /// What it was told last.
    #[must_use]
    pub const fn told_durable(&self) -> Option<Tick> {
        self.durable_tick
    }

    /// Whether it said that a slot's entities stand still since this term was to end.
    #[must_use]
    pub fn has_closed(&self, slot: SlotId, term: Term) -> bool {
        self.closing.get(&slot).is_some_and(|c| c.done && c.term == term)
    }
}

/// All other lives that were ever heard of. A life is kept after its end, some hundred bytes, like
/// its tombstone: should it speak again, its numbers go on and its window stays shut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Peers(BTreeMap<Node, Peer>);

impl Peers {
    /// A life; known from now on.
    pub fn at(&mut self, node: Node) -> &mut Peer {
        self.0.entry(node).or_default()
    }

    /// A life, if it is known.
    #[must_use]
    pub fn get(&self, node: Node) -> Option<&Peer> {
        self.0.get(&node)
    }

    /// Whether a life was heard within the last `within` ticks.
    #[must_use]
    pub fn is_heard(&self, node: Node, ran: u64, within: u64) -> bool {
        let heard = self.get(node).and_then(|p| p.heard);
        heard.is_some_and(|at| ran.saturating_sub(at) <= within)
    }

    /// Whether a later life of the same process was heard.
    #[must_use]
    pub fn was_later_heard(&self, node: Node) -> bool {
        let later = self.0.range((Bound::Excluded(node), Bound::Unbounded));
        later.take_while(|(n, _)| n.name == node.name).any(|(_, peer)| peer.heard.is_some())
    }

    /// All lives.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        self.0.keys().copied()
    }

    /// All lives, by name and life.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Node, &mut Peer)> {
        self.0.iter_mut().map(|(node, peer)| (*node, peer))
    }
}
