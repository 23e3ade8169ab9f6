//! What was learned by asking, shared by those who ask and the one who judges.

use marchland_common::order::{Incarnation, Node};
use marchland_manager_core::verdict::{Asked, Look, Report, Sight};
use marchland_proto::operator::{EvidenceReply, PeerEvidence};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The newest attempts of a row that are kept.
const REFUSED_MAX: usize = 8;

#[derive(Debug, Default)]
struct Known {
    asked: Asked,
    report: Option<Report>,
}

/// By life.
#[derive(Clone, Debug, Default)]
pub(super) struct Board(Arc<Mutex<BTreeMap<Node, Known>>>);

impl Board {
    fn with(&self, node: Node, change: impl FnOnce(&mut Known)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(known.entry(node).or_default());
    }

    /// It answered: asked at one moment, heard at another. In between it made its report, so that
    /// is dated back, and what it heard is dated on.
    pub(super) fn heard(&self, node: Node, sent_ms: u64, now_ms: u64, reply: &EvidenceReply) {
        let sights = reply.peers.iter().filter_map(|peer| sight(peer, now_ms)).collect();
        self.with(node, |known| {
            known.asked = Asked { heard_ms: Some(now_ms), refused_ms: Vec::new() };
            known.report = Some(Report { at_ms: sent_ms, sights });
        });
    }

    /// Nobody was there. Returns how often in a row.
    pub(super) fn refused(&self, node: Node, now_ms: u64) -> usize {
        let mut times = 0;
        self.with(node, |known| {
            let row = &mut known.asked.refused_ms;
            row.push(now_ms);
            if row.len() > REFUSED_MAX {
                row.remove(0);
            }
            times = row.len();
        });
        times
    }

    /// It did not answer, which says nothing about where it is.
    pub(super) fn silent(&self, node: Node) {
        self.with(node, |known| known.asked.refused_ms.clear());
    }

    /// Nobody asks about that life any more.
    pub(super) fn forget(&self, node: Node) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&node);
    }

    /// Puts everything before a judge.
    pub(super) fn show(&self, look: &mut Look) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look.known.extend(known.keys());
        look.asked.extend(known.iter().map(|(node, known)| (*node, known.asked.clone())));
        let reports = known.iter().filter_map(|(node, known)| Some((*node, known.report.clone()?)));
        look.reports.extend(reports);
    }
}

fn sight(peer: &PeerEvidence, now_ms: u64) -> Option<(Node, Sight)> {
    let incarnation = Incarnation(peer.incarnation);
    let node = Node { name: peer.name.parse().ok()?, incarnation };
    let heard_ms = now_ms.saturating_sub(peer.silent_ms);
    let stands = peer.sending || peer.receiving;
    Some((node, Sight { heard_ms, stands, absent: peer.absent }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::order::NodeKind;

    #[test]
    fn an_answer_is_dated_so_that_a_slow_one_never_makes_anybody_look_more_silent() {
        let (board, base) = (Board::default(), Node::new(NodeKind::Base, 1, 7));
        let peer = |name: &str| PeerEvidence {
            name: name.to_owned(),
            incarnation: 3,
            silent_ms: 400,
            ..PeerEvidence::default()
        };
        let peers = vec![peer("cell-1"), peer("nonsense")];
        board.refused(base, 990);
        board.heard(base, 1_000, 1_200, &EvidenceReply { peers, ..EvidenceReply::default() });
        let mut look = Look::default();
        board.show(&mut look);
        let report = &look.reports[&base];
        assert_eq!(report.sights.len(), 1, "what is no name is left out");
        let sight = report.sights[&Node::new(NodeKind::Cell, 1, 3)];
        assert_eq!((report.at_ms, sight.heard_ms), (1_000, 800));
        assert_eq!(look.asked[&base], Asked { heard_ms: Some(1_200), refused_ms: Vec::new() });
        assert_eq!((board.refused(base, 1_300), board.refused(base, 1_330)), (1, 2));
        board.silent(base);
        assert_eq!(board.refused(base, 1_400), 1, "a row that silence breaks begins anew");
    }
}
