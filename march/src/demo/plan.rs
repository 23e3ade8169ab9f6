//! Which processes a demo has, and how each is started.

use super::child::{Role, Start};
use super::door::Doors;
use crate::cli::DemoArgs;
use std::path::{Path, PathBuf};

/// The name of a demo's cluster in its store.
const CLUSTER: &str = "demo";

pub(super) struct Plan {
    args: DemoArgs,
    dir: PathBuf,
    pub(super) journals: PathBuf,
    doors: Doors,
}

impl Plan {
    pub(super) fn new(args: &DemoArgs, dir: &Path, doors: &Doors) -> Self {
        let journals = dir.join("journals");
        Self { args: args.clone(), dir: dir.to_owned(), journals, doors: doors.clone() }
    }

    fn ready_file(&self, name: &str) -> PathBuf {
        self.dir.join("run").join(format!("{name}.json"))
    }

    fn process(&self, role: Role, verb: &str, name: &str, etcd: &str, more: &[String]) -> Start {
        let text = |s: &str| s.to_owned();
        let ready = self.ready_file(name);
        let mut args = vec![
            text(verb),
            text("--name"),
            text(name),
            text("--cluster-name"),
            self.cluster(),
            text("--etcd"),
            text(etcd),
            text("--dir"),
            self.journals.display().to_string(),
            text("--seed"),
            self.args.seed.to_string(),
            text("--tick"),
            format!("{}us", self.args.tick.as_micros()),
            text("--ttl"),
            format!("{}ms", self.args.ttl.as_millis()),
            text("--ready-file"),
            ready.display().to_string(),
            text("--until-stdin-ends"),
        ];
        args.extend_from_slice(more);
        args.extend(self.doors.get(name).into_iter().flat_map(|door| door.words()));
        Start { role, name: text(name), args, ready: Some(ready) }
    }

    /// A cluster of its own in a store that others may use too.
    fn cluster(&self) -> String {
        format!("{CLUSTER}-{}", std::process::id())
    }

    pub(super) fn etcd_standin(&self) -> Start {
        let name = "etcd-standin".to_owned();
        let ready = self.ready_file(&name);
        let args = ["etcd-standin", "--listen", "127.0.0.1:0", "--until-stdin-ends"];
        let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        let data = self.dir.join("etcd-standin.data");
        args.extend(["--data-file".to_owned(), data.display().to_string()]);
        args.extend(["--ready-file".to_owned(), ready.display().to_string()]);
        Start { role: Role::Store, name, args, ready: Some(ready) }
    }

    pub(super) fn manager(&self, number: u16, etcd: &str) -> Start {
        let mut more = vec![
            "--cells".to_owned(),
            self.args.cells.to_string(),
            "--bases".to_owned(),
            self.args.bases.to_string(),
            "--take-over-after".to_owned(),
            format!("{}ms", self.args.take_over_after.as_millis()),
        ];
        // One console is enough: whichever manager leads, it shows the whole cluster.
        if number == 1 {
            let listen = format!("127.0.0.1:{}", self.args.console.port);
            more.extend(["--console".to_owned(), listen, "--console-may-pause".to_owned()]);
            more.extend(self.args.console.drills.then(|| "--drills".to_owned()));
        }
        self.process(Role::Manager, "manager", &format!("manager-{number}"), etcd, &more)
    }

    pub(super) fn base(&self, number: u16, etcd: &str) -> Start {
        let bases = u32::from(self.args.bases);
        let share = self.args.wolves / bases;
        let rest = u32::from(u32::from(number) <= self.args.wolves % bases);
        let more = ["--wolves".to_owned(), (share + rest).to_string()];
        self.process(Role::Server, "baseapp", &format!("base-{number}"), etcd, &more)
    }

    pub(super) fn cell(&self, number: u16, etcd: &str) -> Start {
        let more = ["--burn".to_owned(), self.args.burn.to_string()];
        self.process(Role::Server, "cellapp", &format!("cell-{number}"), etcd, &more)
    }

    pub(super) fn bots_report(&self) -> PathBuf {
        self.dir.join("bots.json")
    }

    pub(super) fn bots(&self, gateways: &[String]) -> Start {
        let pairs = [
            ("--gateway", gateways.join(",")),
            ("--count", self.args.bots.to_string()),
            ("--seed", self.args.seed.to_string()),
            ("--dir", self.journals.display().to_string()),
            ("--report", self.bots_report().display().to_string()),
        ];
        let mut args = vec!["bots".to_owned(), "--until-stdin-ends".to_owned()];
        args.extend(pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]));
        Start { role: Role::Bots, name: "bots".to_owned(), args, ready: None }
    }
}
