//! A cluster whose processes a test starts, stops and wakes one by one, and asks for what they
//! count.

use crate::support::{free_port, last_json, march, signal, until};
use marchland_proto::operator::process_client::ProcessClient;
use marchland_proto::operator::{HealthReply, HealthRequest};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Output, Stdio};

/// One started process.
struct Running {
    child: Child,
    /// Where it really listens for peers and the operator.
    door: String,
    /// Where others are told that it listens.
    link: String,
    /// Where clients come in, as a URL.
    gateway: String,
}

/// The cluster; its processes end with it.
pub struct Processes {
    running: BTreeMap<String, Running>,
    etcd: String,
    temp: tempfile::TempDir,
}

impl Processes {
    /// A store, and nothing else yet.
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut cluster = Self { running: BTreeMap::new(), etcd: String::new(), temp };
        let door = cluster.start("store", &["etcd-standin", "--listen", "127.0.0.1:0"]);
        cluster.etcd = format!("http://{door}");
        cluster
    }

    /// A store that keeps what it knows over its own end, and nothing else yet.
    pub fn lasting() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let etcd = format!("http://127.0.0.1:{}", free_port());
        let mut cluster = Self { running: BTreeMap::new(), etcd, temp };
        cluster.store();
        cluster
    }

    /// A store that stands elsewhere.
    pub fn at(etcd: &str) -> Self {
        let temp = tempfile::tempdir().unwrap();
        Self { running: BTreeMap::new(), etcd: etcd.to_owned(), temp }
    }

    /// Starts the lasting store, with what it knows if its file is there.
    pub fn store(&mut self) {
        let data = self.store_file().display().to_string();
        let listen = self.etcd.trim_start_matches("http://").to_owned();
        self.start("store", &["etcd-standin", "--listen", &listen, "--data-file", &data]);
    }

    /// Where the lasting store keeps what it knows; what it needs beside that begins with the same
    /// name.
    pub fn store_file(&self) -> PathBuf {
        self.run_dir().join("store.data")
    }

    /// The store's address.
    pub fn etcd(&self) -> &str {
        &self.etcd
    }

    /// One manager, one baseapp with so many wolves, and so many cellapps, ready.
    pub fn of(cells: u16, wolves: u32) -> Self {
        let mut cluster = Self::new();
        cluster.manager(cells, 1);
        cluster.server("base-1", &["--wolves", &wolves.to_string()]);
        (1..=cells).for_each(|n| cluster.server(&format!("cell-{n}"), &[]));
        cluster.until_ready();
        cluster.until_populated(wolves);
        cluster
    }

    fn run_dir(&self) -> PathBuf {
        self.temp.path().to_owned()
    }

    /// The folder with the journals.
    pub fn journals(&self) -> PathBuf {
        self.run_dir().join("journals")
    }

    fn start(&mut self, name: &str, args: &[&str]) -> String {
        let ready = self.run_dir().join(format!("{name}.json"));
        let _ = std::fs::remove_file(&ready);
        let log = std::fs::File::create(self.run_dir().join(format!("{name}.log"))).unwrap();
        let mut child = march()
            .args(args)
            .args(["--ready-file", ready.to_str().unwrap(), "--until-stdin-ends"])
            .env("MARCH_LOG", "info")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let said: Value = until(&format!("{name} to be ready"), || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{name} ended: {ended:?}: {}", self.log_of(name));
            serde_json::from_slice(&std::fs::read(&ready).ok()?).ok()
        });
        let link = said["link"].as_str().unwrap().to_owned();
        let (door, gateway) =
            (link.clone(), format!("http://{}", said["gateway"].as_str().unwrap()));
        self.running.insert(name.to_owned(), Running { child, door, link: link.clone(), gateway });
        link
    }

    pub fn manager(&mut self, cells: u16, bases: u16) {
        let (cells, bases) = (cells.to_string(), bases.to_string());
        self.server("manager-1", &["--cells", &cells, "--bases", &bases]);
    }

    /// Starts a process by its name.
    pub fn server(&mut self, name: &str, more: &[&str]) {
        let kind = name.split('-').next().unwrap();
        let verb = if kind == "manager" { "manager".to_owned() } else { format!("{kind}app") };
        let (etcd, dir) = (self.etcd.clone(), self.journals().display().to_string());
        let mut args = vec![verb.as_str(), "--name", name, "--etcd", &etcd, "--dir", &dir];
        args.extend_from_slice(more);
        self.start(name, &args);
    }

    /// Starts another process of a name that one has already, with a folder of its own, and waits
    /// until it holds the name.
    pub fn successor_elsewhere(&mut self, name: &str, more: &[&str]) {
        let dir = self.run_dir().join(format!("elsewhere-{name}")).display().to_string();
        let kind = name.split('-').next().unwrap();
        let (verb, etcd) = (format!("{kind}app"), self.etcd.clone());
        let own = [verb.as_str(), "--name", name, "--etcd", &etcd, "--dir", &dir];
        self.start(&format!("{name}-elsewhere"), &[&own, more].concat());
    }

    /// Runs a process that is to end by itself, and gives what it said.
    pub fn refused(&self, name: &str, more: &[&str]) -> Output {
        let kind = name.split('-').next().unwrap();
        march()
            .args([&format!("{kind}app"), "--name", name, "--etcd", &self.etcd, "--dir"])
            .arg(self.journals())
            .args(more)
            .output()
            .unwrap()
    }

    /// Kills everybody at once.
    pub fn kill_all(&mut self) {
        let names: Vec<String> = self.running.keys().cloned().collect();
        names.iter().for_each(|name| self.signal(name, Signal::SIGKILL));
        for name in names {
            assert_eq!(self.ended(&name).code(), None, "{name} was killed");
        }
    }

    /// Starts a process that its peers reach through a proxy.
    pub fn server_behind(&mut self, name: &str, listen: &str, proxy: &str) {
        self.server(name, &["--listen", listen, "--advertise", proxy]);
        let running = self.running.get_mut(name).unwrap();
        assert_eq!(running.link, proxy, "what it advertises");
        running.door = listen.to_owned();
    }

    /// Where a process listens for peers and the operator.
    pub fn door(&self, name: &str) -> String {
        self.running[name].door.clone()
    }

    /// Where clients come in.
    pub fn gateway(&self, name: &str) -> String {
        self.running[name].gateway.clone()
    }

    /// A verb against this cluster.
    pub fn ask(&self, args: &[&str]) -> Output {
        let manager = format!("http://{}", self.running["manager-1"].link);
        march().args(args).args(["--cluster", &manager]).output().unwrap()
    }

    pub fn status(&self) -> Value {
        last_json(&self.ask(&["status", "--json"]))
    }

    pub fn until_ready(&self) {
        let ready = self.ask(&["status", "--wait", "60s", "--json"]);
        assert_eq!(ready.status.code(), Some(0), "{}", last_json(&ready));
    }

    /// Waits until so many entities are owned.
    pub fn until_populated(&self, entities: u32) {
        until("the world to be populated", || {
            let status = self.status();
            let reals = status["members"].as_array()?.iter().filter_map(|m| m["reals"].as_u64());
            (reals.sum::<u64>() >= u64::from(entities)).then_some(())
        });
    }

    /// What a process says of itself; none if it does not answer.
    pub fn health(&self, name: &str) -> Option<HealthReply> {
        let door = format!("http://{}", self.running[name].door);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = ProcessClient::connect(door).await.ok()?;
            Some(client.health(HealthRequest {}).await.ok()?.into_inner())
        })
    }

    /// What a process counted until now.
    pub fn counters(&self, name: &str) -> BTreeMap<String, u64> {
        let health = self.health(name).unwrap_or_else(|| panic!("{name}: {}", self.log_of(name)));
        health.counters.into_iter().collect()
    }

    /// One of its counters; 0 while it has not begun to count.
    pub fn count(&self, name: &str, counter: &str) -> u64 {
        let health = self.health(name);
        health.and_then(|h| h.counters.get(counter).copied()).unwrap_or(0)
    }

    pub fn signal(&self, name: &str, what: Signal) {
        signal(self.running[name].child.id(), what);
    }

    /// Waits for the end of a process; how it ended.
    pub fn ended(&mut self, name: &str) -> ExitStatus {
        let mut running = self.running.remove(name).unwrap();
        until(&format!("{name} to end"), || running.child.try_wait().unwrap())
    }

    /// Asks one process to end, and waits for it.
    pub fn end_one(&mut self, name: &str) {
        self.signal(name, Signal::SIGTERM);
        let status = self.ended(name);
        assert_eq!(status.code(), Some(0), "{name}: {}", self.log_of(name));
    }

    /// Asks everybody to end, servers first, and waits for it.
    pub fn end(&mut self) {
        let names: Vec<String> = self.running.keys().cloned().collect();
        let (servers, rest): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|n| n.starts_with("cell") || n.starts_with("base"));
        for group in [servers, rest] {
            group.iter().for_each(|name| self.signal(name, Signal::SIGTERM));
            for name in group {
                let status = self.ended(&name);
                assert_eq!(status.code(), Some(0), "{name}: {}", self.log_of(&name));
            }
        }
    }

    /// Audits the journals of processes that have ended. A short run need not have shown everything,
    /// but nothing is wrong in it.
    pub fn must_not_fail_the_audit(&self) {
        let audit = march().args(["audit", self.journals().to_str().unwrap(), "--json"]).output();
        let verdict = last_json(&audit.unwrap());
        assert_ne!(verdict["verdict"], "fail", "{verdict:#}");
    }

    /// What a process logged.
    pub fn log_of(&self, name: &str) -> String {
        read(&self.run_dir().join(format!("{name}.log")))
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

impl Drop for Processes {
    fn drop(&mut self) {
        for running in self.running.values_mut() {
            // A stopped process takes this signal too.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}
