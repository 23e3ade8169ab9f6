//! Bad input gets a clear error and the right exit code, and disturbs nobody.

use crate::support::{Demo, march, run, stderr};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_command_line_that_makes_no_sense_is_usage() {
    for args in [
        &["demo", "--no-such-flag"][..],
        &["demo", "--for", "ten"],
        &["demo", "--tick", "0ms"],
        &["demo", "--cells", "0"],
        &["handoff"],
        &["handoff", "12", "--to", "cell-1", "--deadline", "3"],
        &["cellapp", "--name", "wolf-1"],
        &["cellapp", "--name", "base-1"],
        &["baseapp", "--advertise-gateway", "http://play.example.org"],
        &["baseapp", "--advertise-gateway", "0.0.0.0:7701"],
        &["frobnicate"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn nobody_to_talk_to_is_said_with_what_to_do() {
    let silent = "http://127.0.0.1:9";
    let status = run(&["status", "--cluster", silent]);
    assert_eq!(status.status.code(), Some(6), "{}", stderr(&status));
    assert!(stderr(&status).contains("hint:"));
    let health = run(&["healthcheck", "--addr", "127.0.0.1:9"]);
    assert_eq!(health.status.code(), Some(6), "{}", stderr(&health));
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().to_str().unwrap();
    let cell = run(&["cellapp", "--etcd", silent, "--dir", dir]);
    assert_eq!(cell.status.code(), Some(6), "{}", stderr(&cell));
    assert!(stderr(&cell).contains("etcd"), "{}", stderr(&cell));
    let audit = run(&["audit", "/no/such/folder"]);
    assert_eq!(audit.status.code(), Some(3), "{}", stderr(&audit));
    let empty = run(&["audit", dir]);
    assert_eq!(empty.status.code(), Some(3), "{}", stderr(&empty));
}

#[test]
fn a_taken_port_is_named() {
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let temp = tempfile::tempdir().unwrap();
    let output = run(&["cellapp", "--listen", &taken, "--dir", temp.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&taken), "{}", stderr(&output));
}

#[test]
fn an_address_to_dial_from_that_is_not_of_this_machine_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().to_str().unwrap();
    let output = run(&["cellapp", "--dial-from", "192.0.2.1", "--dir", dir]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("192.0.2.1"), "{}", stderr(&output));
}

#[test]
fn a_process_whose_words_go_to_a_full_disk_says_with_its_exit_code_what_it_found() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut asks = march();
    let asks = asks.args(["healthcheck", "--addr", "127.0.0.1:9"]).env("MARCH_LOG", "trace");
    assert_eq!(asks.stderr(full).status().unwrap().code(), Some(6));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("a-file");
    std::fs::write(&file, b"x").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
    let below = file.join("below");
    let output = run(&["demo", "--for", "1s", "--dir", below.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a-file"), "{}", stderr(&output));
}

#[test]
fn a_second_process_of_the_same_name_names_the_holder_and_harms_nobody() {
    let demo = Demo::start(&["--bots", "0", "--wolves", "10", "--cells", "2", "--bases", "1"]);
    let etcd = demo.file()["etcd"].as_str().unwrap().to_owned();
    // The demo's cluster is named after the demo's own process.
    let name = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|e| std::fs::read_to_string(e.ok()?.path().join("cmdline")).ok())
        .find(|line| line.contains(demo.dir()) && line.contains("--cluster-name"))
        .and_then(|line| {
            let mut words = line.split('\0').skip_while(|w| *w != "--cluster-name");
            words.nth(1).map(str::to_owned)
        })
        .unwrap();
    let temp = tempfile::tempdir().unwrap();
    let second = run(&[
        "cellapp",
        "--name",
        "cell-1",
        "--etcd",
        &etcd,
        "--cluster-name",
        &name,
        "--dir",
        temp.path().to_str().unwrap(),
    ]);
    assert_eq!(second.status.code(), Some(4), "{}", stderr(&second));
    assert!(stderr(&second).contains("cell-1@"), "{}", stderr(&second));
    let status = demo.ask(&["status"]);
    assert_eq!(status.status.code(), Some(0), "the first goes on: {}", stderr(&status));
}
