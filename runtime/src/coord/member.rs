//! What a process says of itself in its registration.
//!
//! A process's incarnation is the revision of the transaction that first registered it: unique for
//! the life of the store, and larger than all before. The first value cannot contain it yet, so a
//! value *without* an incarnation means "the revision at which I was written"; every later value,
//! under whatever lease, names it.

use super::client::{KeyValue, LeaseId, Revision};
use super::error::CoordError;
use bytes::Bytes;
use marchland_common::order::{Incarnation, Node, NodeName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// Registered, not able to work yet.
    Starting,
    /// Works and takes more.
    Ready,
    /// Works, takes nothing more, gives away what it has.
    Draining,
    /// About to end.
    Leaving,
}

/// What a baseapp calls the folder of its log in [`MemberInfo::extra`]: an absolute path, as it sees it
/// itself. Who shares the volume takes its slots over from there.
pub const LOG_FOLDER: &str = "log";

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberInfo {
    /// Its name.
    #[serde(with = "as_text")]
    pub name: NodeName,
    /// Its incarnation; absent in the value that registers it first. Set by the registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// Where its peers reach it.
    pub link_addr: String,
    /// Where an operator reaches it; empty if nowhere.
    #[serde(default)]
    pub operator_addr: String,
    /// Its process id on its host.
    pub pid: u32,
    /// Its host.
    pub host: String,
    /// The version of the program.
    pub version: String,
    /// The protocol of the link plane that it speaks. A build that does not say it speaks the first.
    #[serde(default = "first_proto")]
    pub proto: u32,
    /// How far it is.
    pub state: MemberState,
    /// What only some kinds say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, String>,
}

pub(super) const fn first_proto() -> u32 {
    1
}

impl MemberInfo {
    /// The value of the member key. `incarnation` `None`: the one that registers it.
    pub(super) fn to_value(&self, incarnation: Option<Incarnation>) -> Bytes {
        let info = Self { incarnation, ..self.clone() };
        serde_json::to_vec(&info).expect("strings and numbers always encode").into()
    }
}

/// A registered process, as read from its key. Whether two of them are the same life is a question
/// of `incarnation` alone: a name that is taken over keeps its key, with its create revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it says of itself.
    pub info: MemberInfo,
    /// Which of its lives this is.
    pub incarnation: Incarnation,
    /// Revision of the key's last change.
    pub mod_revision: Revision,
    /// The lease that the key dies with.
    pub lease: LeaseId,
}

impl Member {
    /// Reads a member key's value; `key` is for the error.
    pub fn parse(key: &str, kv: &KeyValue) -> Result<Self, CoordError> {
        let info: MemberInfo = kv.json(key)?;
        let written_at = Incarnation(kv.mod_revision.max(0).unsigned_abs());
        let incarnation = info.incarnation.unwrap_or(written_at);
        Ok(Self { info, incarnation, mod_revision: kv.mod_revision, lease: kv.lease })
    }

    /// The life of the process.
    #[must_use]
    pub fn node(&self) -> Node {
        Node { name: self.info.name, incarnation: self.incarnation }
    }
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let info = &self.info;
        write!(f, "{} at {} (pid {} on {})", self.node(), info.link_addr, info.pid, info.host)
    }
}

/// Names as people write them: `cell-1`.
pub(super) mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::fmt::Display;
    use std::str::FromStr;

    pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn info() -> MemberInfo {
        MemberInfo {
            name: "cell-1".parse().unwrap(),
            incarnation: None,
            link_addr: "127.0.0.1:7000".into(),
            operator_addr: String::new(),
            pid: 42,
            host: "h".into(),
            version: "0.1.0".into(),
            proto: 3,
            state: MemberState::Starting,
            extra: BTreeMap::new(),
        }
    }

    fn kv(value: Bytes, mod_revision: Revision) -> KeyValue {
        KeyValue { value, create_revision: 3, mod_revision, lease: 9 }
    }

    #[test]
    fn the_first_value_means_its_own_revision_and_later_ones_name_the_incarnation() {
        let first = Member::parse("k", &kv(info().to_value(None), 17)).unwrap();
        assert_eq!(first.node().to_string(), "cell-1@17");
        let value = info().to_value(Some(first.incarnation));
        assert_eq!(Member::parse("k", &kv(value, 99)).unwrap().incarnation, Incarnation(17));
    }

    #[test]
    fn who_does_not_say_what_it_speaks_speaks_the_first_protocol() {
        let mut json: serde_json::Value = serde_json::to_value(info()).unwrap();
        json.as_object_mut().unwrap().remove("proto");
        let member = Member::parse("k", &kv(Bytes::from(json.to_string()), 1)).unwrap();
        assert_eq!(member.info.proto, 1);
    }

    #[test]
    fn a_value_of_a_newer_version_is_read_and_garbage_is_an_error_with_the_key() {
        let mut json: serde_json::Value = serde_json::to_value(info()).unwrap();
        json["from_the_future"] = 1.into();
        let value = Bytes::from(json.to_string());
        assert_eq!(Member::parse("k", &kv(value, 1)).unwrap().info, info());
        let error = Member::parse("k/x", &kv(Bytes::from_static(b"{]"), 1)).unwrap_err();
        assert!(error.to_string().contains("k/x"));
    }
}
