//! The volatile part of an entity: what a restart may lose.

use crate::lineage::Lineage;
use marchland_common::order::Lsn;
use serde::{Deserialize, Serialize};

/// What is known of an entity beside its lineage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Its newest record: whatever is said about it rests on that.
    pub lsn: Lsn,
    /// The record of its present ownership.
    pub own_lsn: Lsn,
    /// In which tick that ran here the present grant left; nothing is sent to an owner before.
    pub granted: Option<u64>,
    /// When it left last.
    pub granted_again: u64,
    /// The owner's step counter at the newest accepted step, if the owner reported to this life.
    pub steps: Option<u64>,
    /// When a whole state was asked for last.
    pub asked: Option<u64>,
    /// When its unfinished business is looked after.
    pub retry: Option<u64>,
}

impl Now {
    /// After a restart: an owner that reported is taken to hold it; others are granted anew.
    #[must_use]
    pub fn recovered(lineage: &Lineage) -> Self {
        Self { granted: lineage.reported.then_some(0), ..Self::default() }
    }

    /// Of a slot that came from another base: nothing is sent to its owner before the record with
    /// this number, which takes the slot, is durable.
    #[must_use]
    pub fn taken(lsn: Lsn) -> Self {
        Self { lsn, own_lsn: lsn, ..Self::default() }
    }
}
