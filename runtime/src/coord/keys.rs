//! The names of all keys of one cluster, built and taken apart in one place.
//!
//! Under `/marchland/<cluster>/`: `meta`, `leader`, `clock`, `member/<kind>/<name>`,
//! `dead/<incarnation>`, `slot/<k>`, `log/<name>`, `space/<id>`, `wanted/<id>`, `losses`.
//!
//! Invariant: `parse` accepts exactly what the builders make; `slot/007` is nobody's key.

use marchland_common::order::{Incarnation, NodeKind, NodeName, SlotId, SpaceId};

/// A text that cannot be the name of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cluster name: use 1 to 64 of a-z, 0-9, `-`, `_` and `.`")]
pub struct BadClusterName(pub String);

/// What a key of this cluster is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Cluster id and protocol range.
    Meta,
    /// Who leads.
    Leader,
    /// Origin and step of the cluster's time.
    Clock,
    /// A live process.
    Member(NodeName),
    /// A life that was given up.
    Dead(Incarnation),
    /// A base slot's owner.
    Slot(SlotId),
    /// The log of a baseapp: where it is, and whose it is.
    Log(NodeName),
    /// A space with its layout.
    Space(SpaceId),
    /// A space that is wanted, laid out or not yet.
    Wanted(SpaceId),
    /// How many losses of logs were accepted.
    Losses,
}

/// The keys of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    root: String,
}

impl Keys {
    /// The keys of the cluster of this name.
    pub fn new(cluster: &str) -> Result<Self, BadClusterName> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if cluster.is_empty() || cluster.len() > 64 || !cluster.chars().all(good) {
            return Err(BadClusterName(cluster.to_owned()));
        }
        Ok(Self { root: format!("/marchland/{cluster}/") })
    }

    /// The prefix of every key of the cluster.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// One key.
    #[must_use]
    pub fn key(&self, key: Key) -> String {
        let root = &self.root;
        match key {
            Key::Meta => format!("{root}meta"),
            Key::Leader => format!("{root}leader"),
            Key::Clock => format!("{root}clock"),
            Key::Member(name) => format!("{}{name}", self.members_of(name.kind)),
            Key::Dead(incarnation) => format!("{}{incarnation}", self.dead()),
            Key::Slot(slot) => format!("{}{slot}", self.slots()),
            Key::Log(name) => format!("{root}log/{name}"),
            Key::Space(space) => format!("{}{space}", self.spaces()),
            Key::Wanted(space) => format!("{root}wanted/{space}"),
            Key::Losses => format!("{root}losses"),
        }
    }

    /// The key of a member.
    #[must_use]
    pub fn member(&self, name: NodeName) -> String {
        self.key(Key::Member(name))
    }

    /// The key of a tombstone.
    #[must_use]
    pub fn dead_of(&self, incarnation: Incarnation) -> String {
        self.key(Key::Dead(incarnation))
    }

    /// The key of the leader.
    #[must_use]
    pub fn leader(&self) -> String {
        self.key(Key::Leader)
    }

    /// A key beside this cluster's and no other's, which every write makes the store's revision
    /// grow by.
    #[must_use]
    pub fn ladder(&self) -> String {
        self.root.trim_end_matches('/').to_owned()
    }

    /// The prefix of all members.
    #[must_use]
    pub fn members(&self) -> String {
        format!("{}member/", self.root)
    }

    /// The prefix of all members of a kind.
    #[must_use]
    pub fn members_of(&self, kind: NodeKind) -> String {
        format!("{}member/{}/", self.root, kind.name())
    }

    /// The prefix of all tombstones.
    #[must_use]
    pub fn dead(&self) -> String {
        format!("{}dead/", self.root)
    }

    /// The prefix of all base slots.
    #[must_use]
    pub fn slots(&self) -> String {
        format!("{}slot/", self.root)
    }

    /// The prefix of all spaces.
    #[must_use]
    pub fn spaces(&self) -> String {
        format!("{}space/", self.root)
    }

    /// What a key is about; `None` if it is not one of this cluster's.
    #[must_use]
    pub fn parse(&self, key: &str) -> Option<Key> {
        let rest = key.strip_prefix(&self.root)?;
        let parsed = match rest.split_once('/') {
            None => match rest {
                "meta" => Key::Meta,
                "leader" => Key::Leader,
                "clock" => Key::Clock,
                "losses" => Key::Losses,
                _ => return None,
            },
            Some(("member", rest)) => Key::Member(rest.split_once('/')?.1.parse().ok()?),
            Some(("dead", rest)) => Key::Dead(rest.parse().ok()?),
            Some(("slot", rest)) => Key::Slot(rest.parse().ok()?),
            Some(("log", rest)) => Key::Log(rest.parse().ok()?),
            Some(("space", rest)) => Key::Space(rest.parse().ok()?),
            Some(("wanted", rest)) => Key::Wanted(rest.parse().ok()?),
            Some(_) => return None,
        };
        (self.key(parsed) == key).then_some(parsed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_key_reads_back_as_what_it_was_built_from() {
        let keys = Keys::new("frontier-1").unwrap();
        let all = [
            Key::Meta,
            Key::Leader,
            Key::Clock,
            Key::Member("cell-12".parse().unwrap()),
            Key::Member("manager-1".parse().unwrap()),
            Key::Dead(Incarnation(u64::MAX)),
            Key::Slot(SlotId(255)),
            Key::Log("base-2".parse().unwrap()),
            Key::Space(SpaceId(0)),
            Key::Wanted(SpaceId(7)),
            Key::Losses,
        ];
        for key in all {
            assert_eq!(keys.parse(&keys.key(key)), Some(key));
        }
        assert_eq!(keys.key(all[3]), "/marchland/frontier-1/member/cell/cell-12");
    }

    #[test]
    fn what_no_builder_makes_is_nobodys_key() {
        let keys = Keys::new("c").unwrap();
        for other in [
            "slot/007",
            "slot/256",
            "slot/+7",
            "member/base/cell-1",
            "log/base-01",
            "member/cell-1",
            "member/cell/cell-01",
            "dead/-1",
            "space/",
            "leader/x",
            "",
        ] {
            assert_eq!(keys.parse(&format!("/marchland/c/{other}")), None, "{other}");
        }
        assert_eq!(keys.parse("/marchland/cc/leader"), None);
    }

    #[test]
    fn a_name_that_would_reach_into_another_cluster_is_refused() {
        for bad in ["", "a/b", "A", "ü", "a b", &"x".repeat(65)] {
            assert!(Keys::new(bad).is_err(), "{bad}");
        }
    }
}
