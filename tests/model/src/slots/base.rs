//! What a baseapp does with the slot.

use super::state::{Base, Export, Image, Msg, Pair, Phase};
use super::{Mutant, Slots};

impl Slots {
    /// It stops confirming, and sends everything to the other.
    pub(super) fn export(&self, s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        if self.mutant != Mutant::ExportsUnfrozen {
            own.phase = Phase::Frozen;
        }
        let mut image = own.image;
        match self.mutant {
            Mutant::OutboxStaysBehind => image.outbox = false,
            Mutant::MarksStayBehind => image.mark = false,
            _ => {}
        }
        let export = Export { term: own.term, image };
        s.net.insert(Msg::Export { to: 1 - base, export });
    }

    /// An export arrives. What the slot was under an older term is of no use any more.
    pub(super) fn on_export(&self, s: &mut Pair, to: u8, export: Export) {
        let own = &mut s.bases[usize::from(to)];
        if own.phase != Phase::Idle || export.term <= own.term {
            return;
        }
        let newest = own.import.map_or(0, |import| import.term);
        if export.term < newest && self.mutant != Mutant::LateExportReplaces {
            return;
        }
        match self.mutant {
            Mutant::TransactionBeforeSync => own.unsynced = Some(export),
            Mutant::TargetServesAtOnce => {
                (own.image, own.phase) = (export.image, Phase::Serving);
            }
            _ => own.import = Some(export),
        }
        s.net.insert(Msg::Synced { to: 1 - to, term: export.term });
    }

    /// The target is ready: the source, and nobody else, changes the key.
    pub(super) fn on_synced(&self, s: &mut Pair, to: u8, term: u8) {
        let own = &s.bases[usize::from(to)];
        let waits = own.phase == Phase::Frozen || self.mutant == Mutant::ExportsUnfrozen;
        if waits && own.term == term {
            s.net.insert(Msg::Move { to: 1 - to, term });
        }
    }

    /// It asks the store whose the slot is. Whatever an earlier life, or a move that it calls off,
    /// may still have on its way names a lower term from now on.
    pub(super) fn ask_store(&self, s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        if s.key.holder != base {
            self.give(own);
            return;
        }
        let keeps = match own.phase {
            Phase::Starting => self.mutant == Mutant::RestartKeepsTerm,
            Phase::Frozen => self.mutant == Mutant::AbortKeepsTerm,
            // What it has been given carries a term of its own.
            _ => true,
        };
        if !keeps {
            s.key.term += 1;
        }
        if let Some(import) = own.import.take_if(|import| import.term == s.key.from) {
            own.image = import.image;
        }
        (own.term, own.gave, own.phase) = (s.key.term, false, Phase::Serving);
    }

    fn give(&self, own: &mut Base) {
        if own.phase == Phase::Starting && self.mutant == Mutant::RestartDropsExport {
            own.import = None;
        }
        let goes_on = own.phase == Phase::Frozen && self.mutant == Mutant::ServesAfterGave;
        own.phase = if goes_on { Phase::Serving } else { Phase::Idle };
        if self.mutant != Mutant::GaveNotLogged {
            own.gave = own.term > 0;
        }
    }

    /// It dies and comes up with its log.
    pub(super) fn crash(s: &mut Pair, base: u8) {
        let own = &mut s.bases[usize::from(base)];
        (own.phase, own.unsynced) = (Phase::Starting, None);
        s.died[usize::from(base)] = true;
    }

    /// The content of the slot at a base that serves it.
    pub(super) fn served(s: &mut Pair, base: u8) -> Option<&mut Image> {
        let own = &mut s.bases[usize::from(base)];
        (own.phase == Phase::Serving).then_some(&mut own.image)
    }
}
