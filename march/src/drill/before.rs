//! What processes had counted before a drill: a cluster that is found running may have seen much.

use crate::verbs::status::{MemberJson, StatusJson};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A life.
type Life = (String, u64);

/// The counters of all lives that there were.
#[derive(Clone, Debug, Default)]
pub(super) struct Before(Rc<BTreeMap<Life, BTreeMap<String, u64>>>);

impl Before {
    pub(super) fn of(status: &StatusJson) -> Self {
        let counters = |m: &MemberJson| (life(m), m.counters.clone());
        Self(Rc::new(status.members.iter().map(counters).collect()))
    }

    /// What a counter of all processes together has counted since: whichever of them has it.
    pub(super) fn since(&self, status: &StatusJson, counter: &str) -> u64 {
        let since = |m: &MemberJson| {
            let before = self.0.get(&life(m)).and_then(|counters| counters.get(counter));
            Some(m.counters.get(counter)?.saturating_sub(before.copied().unwrap_or(0)))
        };
        status.members.iter().filter_map(since).sum()
    }
}

fn life(member: &MemberJson) -> Life {
    (member.name.clone(), member.incarnation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(of: &[(&str, u64, u64)]) -> StatusJson {
        let member = |&(name, incarnation, count): &(&str, u64, u64)| MemberJson {
            name: name.to_owned(),
            kind: "manager".to_owned(),
            incarnation,
            state: "serving".to_owned(),
            reals: 0,
            ghosts: 0,
            entities: 0,
            sessions: 0,
            slots: 0,
            drained: false,
            link: String::new(),
            gateway: String::new(),
            counters: BTreeMap::from([("verdicts_dead".to_owned(), count)]),
        };
        let members = of.iter().map(member).collect();
        let (spaces, reasons, leader) = Default::default();
        StatusJson { ready: true, tick: 1, members, spaces, reasons, leader, lost: Vec::new() }
    }

    #[test]
    fn only_what_was_counted_since_is_told_and_all_that_a_later_life_counted() {
        let before = Before::of(&status(&[("manager-1", 1, 3), ("manager-2", 2, 4)]));
        let now = status(&[("manager-1", 1, 5), ("manager-2", 9, 1)]);
        assert_eq!(before.since(&now, "verdicts_dead"), 2 + 1);
        assert_eq!(before.since(&now, "verdicts_silent"), 0);
        assert_eq!(Before::default().since(&now, "verdicts_dead"), 6);
    }
}
