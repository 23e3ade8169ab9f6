//! The store hangs: it holds its connections and says nothing.

use crate::processes::Processes;
use crate::support::until;
use nix::sys::signal::Signal;

const EVERYBODY: [&str; 4] = ["cell-1", "cell-2", "base-1", "manager-1"];

/// An age that no store that answers lets a watch have.
const OLD_MS: u64 = 2_000;

/// How old what each process knows of the store is.
fn ages(cluster: &Processes) -> [u64; 4] {
    let age = |name: &str| cluster.counters(name).get("watch_age_ms").copied();
    EVERYBODY.map(|name| age(name).unwrap_or_else(|| panic!("{name} does not say it")))
}

#[test]
fn every_process_says_how_old_its_view_of_the_store_is() {
    let mut cluster = Processes::of(2, 20);
    until("everybody to know the store as it is", || {
        ages(&cluster).iter().all(|age| *age < OLD_MS).then_some(())
    });
    cluster.signal("store", Signal::SIGSTOP);
    until("every view to grow old", || {
        ages(&cluster).iter().all(|age| *age > OLD_MS).then_some(())
    });
    cluster.signal("store", Signal::SIGCONT);
    until("every view to be of now", || {
        ages(&cluster).iter().all(|age| *age < OLD_MS).then_some(())
    });
    cluster.until_ready();
    cluster.end();
    cluster.must_not_fail_the_audit();
}

#[test]
fn whoever_is_asked_to_end_ends_although_the_store_hangs() {
    let mut cluster = Processes::of(2, 20);
    cluster.signal("store", Signal::SIGSTOP);
    EVERYBODY.iter().for_each(|name| cluster.signal(name, Signal::SIGTERM));
    for name in EVERYBODY {
        let status = cluster.ended(name);
        assert_eq!(status.code(), Some(0), "{name}: {}", cluster.log_of(name));
    }
    cluster.must_not_fail_the_audit();
}
