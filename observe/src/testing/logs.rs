//! The logs of a history's bases, as their journals tell of them.

use crate::journals::BaseLog;
use marchland_common::journal::{Event, Kept, LogAccount, Logged, OwnerWhy, Record};
use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, NodeName, Seq};
use std::collections::BTreeMap;

/// One log for each base; lives follow each other in the order of their journals.
pub fn logs_of(journals: &[(Node, Vec<Record>)]) -> Vec<BaseLog> {
    let mut lives: Vec<&(Node, Vec<Record>)> =
        journals.iter().filter(|(node, _)| node.name.kind == NodeKind::Base).collect();
    lives.sort_by_key(|(node, _)| *node);
    let mut logs: BTreeMap<NodeName, LogBook> = BTreeMap::new();
    for (node, records) in lives {
        let book = logs.entry(node.name).or_default();
        for record in records {
            if let Record::Tick(tick) = record {
                tick.events.iter().for_each(|event| book.take(event));
            }
        }
    }
    logs.into_iter()
        .map(|(base, book)| BaseLog { base, account: book.close(), faults: vec![] })
        .collect()
}

#[derive(Default)]
struct LogBook {
    records: BTreeMap<Lsn, Logged>,
    ends: BTreeMap<EntityId, Lsn>,
    last: Lsn,
}

impl LogBook {
    fn take(&mut self, event: &Event) {
        match *event {
            Event::Recovered { lsn } => {
                self.records.retain(|at, _| *at <= lsn);
                self.ends.retain(|_, at| *at <= lsn);
                self.last = lsn;
            }
            Event::Created { entity, source, lsn, .. } => {
                let owner = Node::new(NodeKind::Cell, 0, 0);
                self.write(lsn, Logged::Born { entity, owner, source });
            }
            Event::OwnerChanged { epoch, to, why: OwnerWhy::Birth, lsn, .. } => {
                assert_eq!(epoch, Epoch::of_grant(1));
                if let Some(Logged::Born { owner, .. }) = self.records.get_mut(&lsn) {
                    *owner = to;
                }
            }
            Event::OwnerChanged { entity, epoch, to: owner, why, last_tick, lsn, .. } => {
                self.write(lsn, Logged::Owner { entity, epoch, owner, why, last_tick });
            }
            Event::Accepted { entity, epoch, seq, owner, digest, lsn, .. } => {
                self.write(lsn, Logged::Step { entity, epoch, seq, owner, digest });
            }
            Event::Destroyed { entity, lsn, .. } => {
                self.ends.insert(entity, lsn);
                self.last = self.last.max(lsn);
            }
            Event::Burned { lsn, .. } => self.last = self.last.max(lsn),
            _ => {}
        }
    }

    fn write(&mut self, lsn: Lsn, said: Logged) {
        self.records.insert(lsn, said);
        self.last = self.last.max(lsn);
    }

    fn close(self) -> LogAccount {
        let mut account = LogAccount {
            records: self.records.into_iter().collect(),
            last: self.last,
            ..LogAccount::default()
        };
        image(&mut account);
        for kept in account.end.iter_mut().filter(|(entity, _)| self.ends.contains_key(entity)) {
            kept.1.ended = true;
        }
        account
    }
}

/// What the records of a log lead to.
pub fn image(account: &mut LogAccount) {
    account.end = account.begin.clone();
    for (_, said) in &account.records {
        match *said {
            Logged::Born { entity, owner, .. } => {
                let epoch = Epoch::of_grant(1);
                let kept = Kept { epoch, owner, seq: Seq(0), digest: 0, ended: false };
                account.end.insert(entity, kept);
            }
            Logged::Owner { entity, epoch, owner, .. } => {
                if let Some(kept) = account.end.get_mut(&entity) {
                    (kept.epoch, kept.owner) = (epoch, owner);
                }
            }
            Logged::Step { entity, seq, digest, .. } => {
                if let Some(kept) = account.end.get_mut(&entity) {
                    (kept.seq, kept.digest) = (seq, digest);
                }
            }
        }
    }
}
