//! Coordination through etcd: who is there, who leads, who owns what. Real etcd and the stand-in
//! are reached the same way; nothing here knows which of the two answers.
//!
//! What this room promises:
//! - Every call has a deadline. Nothing waits silently for a server that is stopped or cut off.
//! - A watch is only a hint: state is a full list at a revision plus later events, and is listed
//!   again after every doubt and now and then without one.
//! - A lost lease is not a death: a member registers again under the same incarnation, unless a
//!   tombstone says that it was given up.
//! - Whoever writes as the leader does so in a transaction guarded by its leader key.
//!
//! Nothing here is on the path of a tick; a process goes on while etcd is away.

mod backoff;
mod checks;
mod claim;
mod client;
mod error;
mod keys;
mod leader;
mod lease;
mod member;
mod register;
mod supervise;
mod tombstone;
mod txn;
mod values;
mod view;
mod watcher;

pub use backoff::{Backoff, retry};
pub use checks::SelfCheck;
pub use claim::{ClaimError, Probe, claim_name};
pub use client::{CoordClient, CoordOptions, KeyValue, LeaseId, Listing, Revision};
pub use error::{CallError, CoordError};
pub use keys::{BadClusterName, Key, Keys};
pub use leader::{
    CampaignOutcome, HeldBy, LeaderError, LeaderInfo, Leadership, NotLeader, campaign, try_campaign,
};
pub use lease::LeaseProof;
pub use member::{LOG_FOLDER, Member, MemberInfo, MemberState};
pub use register::{RegisterError, RegisterOptions, Registration, register};
pub use supervise::{LossReason, RegState};
pub use tombstone::{
    Tombstone, TombstoneError, TombstoneMode, TombstoneOutcome, Verdict, tombstone,
};
pub use txn::{Guard, Op, Txn, TxnOutcome};
pub use values::{
    ClockValue, LogValue, LossesValue, MetaValue, SlotValue, SpaceValue, WantedValue,
};
pub use view::{Diff, Entries, View, diff};
pub use watcher::{Change, RelistReason, WatchStats, Watcher, WatcherGone, WatcherOptions};
