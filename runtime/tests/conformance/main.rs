//! One suite for every server that Marchland coordinates through: the same bodies run against the
//! stand-in and against a real etcd, and both must pass.
//!
//! Without etcd on the `PATH` the real arm fails; `MARCH_SKIP_REAL_ETCD=1` leaves it out.
//! `MARCH_CASE=text` runs the cases whose name contains the text.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod compaction;
mod cut_off;
mod kv;
mod leader;
mod lease;
mod misbehaviour;
mod names;
mod outage;
mod registration;
mod standin_files;
mod txn;
mod watch;
mod watcher;

use support::{Case, Kind, run, serve_as_child};

fn cases() -> Vec<Case> {
    [
        kv::CASES,
        txn::CASES,
        lease::CASES,
        watch::CASES,
        compaction::CASES,
        registration::CASES,
        names::CASES,
        leader::CASES,
        watcher::CASES,
        cut_off::CASES,
        outage::CASES,
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stand_in_passes_every_case() {
    run(Kind::Standin, cases()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_etcd_passes_every_case() {
    if std::env::var_os("MARCH_SKIP_REAL_ETCD").is_some_and(|v| v == "1") {
        println!("left out: MARCH_SKIP_REAL_ETCD=1");
        return;
    }
    let there = std::process::Command::new("etcd").arg("--version").output();
    assert!(
        there.is_ok_and(|o| o.status.success()),
        "no etcd on the PATH: install etcd-server, or set MARCH_SKIP_REAL_ETCD=1"
    );
    run(Kind::Etcd, cases()).await;
}

/// Not a test of its own: the other tests start this program again with it, as their server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "serves the other tests as a child process"]
async fn the_stand_in_serves_as_a_child_process() {
    serve_as_child().await;
}

/// Pairs bodies with their names.
#[macro_export]
macro_rules! cases {
    ($($body:ident),* $(,)?) => {
        pub const CASES: &[$crate::support::Case] =
            &[$((stringify!($body), |arm| Box::pin($body(arm)))),*];
    };
}
