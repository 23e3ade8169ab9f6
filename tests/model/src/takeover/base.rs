//! What a baseapp does with the slot.

use super::state::{Base, Msg, Pair, Phase, Take, TermNumber};
use super::{Mutant, Takeover};

impl Takeover {
    /// Its next life gets hold of its log.
    pub(super) fn start(&self, s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        own.life += 1;
        own.phase = match self.mutant {
            Mutant::ReturnsUnasked if own.row.is_some() => Phase::Serving,
            _ => Phase::Started,
        };
    }

    /// It says in the store that it writes the log.
    pub(super) fn own(s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        s.store.wrote[usize::from(base)] = own.life;
        own.phase = match own.phase {
            Phase::Started => Phase::Owned,
            _ => Phase::Serving,
        };
    }

    /// It asks the store whose the slot is, or hears it.
    pub(super) fn ask(&self, s: &mut Pair, base: u8) {
        let (store, own) = (s.store, &mut s.bases[usize::from(base)]);
        if store.holder == base {
            Self::take_up(own, store.term);
            let early = own.phase == Phase::Started;
            own.phase = if early { Phase::Asked } else { Phase::Serving };
            return;
        }
        own.import.take_if(|(term, _)| *term < store.term);
        if self.mutant != Mutant::KeepsWhatIsGone {
            (own.row, own.effects) = (None, 0);
        }
        own.phase = Phase::Idle;
    }

    /// The key names it: it goes on with what it has, or begins with what came.
    fn take_up(own: &mut Base, term: TermNumber) {
        let import = own.import.take();
        match (own.row, import) {
            (None, Some((_, effects))) => own.effects = effects,
            (None, None) => own.effects = 0,
            (Some(_), _) => {}
        }
        own.row = Some(term);
    }

    /// An order to take the slot over arrives at a base that does not have it.
    pub(super) fn on_order(&self, s: &mut Pair, to: u8, (term, life): (TermNumber, u8)) {
        let is_free = !s.is_locked(1 - to);
        let own = &mut s.bases[usize::from(to)];
        let is_idle = own.phase == Phase::Idle && own.take.is_none();
        if self.mutant == Mutant::AdoptsOtherTerm && is_idle && own.import.is_some() {
            s.net.insert(Msg::Commit { to, term, life });
            return;
        }
        let locked = self.mutant != Mutant::AdoptsWithoutLock;
        // What a base knows of the key never goes back.
        let is_late = own.import.is_some_and(|(known, _)| known > term)
            && self.mutant != Mutant::LateOrderReplaces;
        if is_idle && !is_late && (is_free || !locked) {
            own.take = Some(Take { term, life, locked, read: None, held: false });
        }
    }

    /// It reads the other log: what that base would go on with if it came back and found the slot's
    /// key under that term.
    pub(super) fn read(&self, s: &mut Pair, base: u8) {
        let log = s.bases[usize::from(1 - base)];
        let own = &mut s.bases[usize::from(base)];
        let Some(take) = &mut own.take else { return };
        let found = match (log.row, log.import) {
            (Some(row), _) => (row <= take.term).then_some(log.effects),
            (None, Some((term, effects))) => (term < take.term).then_some(effects),
            (None, None) => None,
        };
        match found {
            Some(_) => take.read = found,
            None => own.take = None,
        }
        if self.mutant == Mutant::LetsGoOnceRead
            && let Some(take) = &mut own.take
        {
            take.locked = false;
        }
    }

    /// What it read is in its log: the leader may write the key.
    pub(super) fn hold(s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        let Some(take) = &mut own.take else { return };
        if let Some(effects) = take.read {
            own.import = Some((take.term, effects));
            take.held = true;
            s.net.insert(Msg::Commit { to: base, term: take.term, life: take.life });
        }
    }

    /// The key is another one than was ordered: whoever it names, this takeover is over.
    pub(super) fn end(&self, s: &mut Pair, base: u8) {
        let (store, own) = (s.store, &mut s.bases[usize::from(base)]);
        own.take = None;
        if store.holder != base && self.mutant != Mutant::AdoptsOtherTerm {
            own.import.take_if(|(term, _)| *term < store.term);
        }
    }

    /// It dies, with every lock that it has.
    pub(super) fn crash(s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        (own.phase, own.take) = (Phase::Down, None);
    }
}
