//! A cluster that runs in containers, as docker-compose.yml describes it. It is found running and
//! left running. For the verdict, which needs journals that ended, its processes are stopped and
//! started again; etcd runs on.

mod bots;
mod docker;
mod project;
mod records;
mod voids;

use crate::demo::Left;
use crate::drill::table::{COMPOSE_TTL, Drill};
use crate::durations;
use crate::exit::{Failure, NOT_FOUND, TIMEOUT, UNREACHABLE};
use crate::verbs::audit::audit_dir;
use crate::verbs::status;
use bots::Bots;
use docker::{LONG_MAX, docker, docker_within};
use nix::sys::signal::Signal;
use project::{Container, Project};
use records::Records;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use voids::Voids;

/// The store of a cluster in containers.
pub(super) const STORE: &str = "etcd";
/// How the names of processes begin, in the order in which kinds end: those who would judge the
/// others' end first.
const KINDS: [&str; 3] = ["manager-", "cell-", "base-"];
/// Those whose network is cut.
const SERVERS: [&str; 2] = [KINDS[1], KINDS[2]];
/// The operator's port of a process.
const OPERATOR: u16 = 7600;
/// How long a cluster that runs may take to be ready.
const READY_MAX: Duration = Duration::from_secs(30);
/// The code of whoever did not end in time and was killed.
const KILLED: i32 = 137;
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(200);
/// For how long the census' tick is let pass by every process.
const CENSUS_PASSES: Duration = Duration::from_millis(300);

pub(in crate::drill) struct Compose {
    project: Project,
    address: String,
    ttl: Duration,
    bots: Bots,
    records: Records,
    /// What cuts its network, if the drill is about that.
    voids: Voids,
    /// Who was killed or ended and not started again yet.
    down: BTreeSet<String>,
    /// Who is stopped.
    paused: BTreeSet<String>,
}

impl Compose {
    /// Finds the cluster, waits until it is ready, and sees to it that bots play.
    pub(super) async fn find(drill: &Drill, project: Option<&str>) -> Result<Self, Failure> {
        let mut project = Project::find(project).await?;
        all_run(&project)?;
        let address = address(&project)?;
        eprintln!("{}: finds the containers of {}, and {}", drill.name, project.name, drill.does);
        until_ready(&address).await?;
        let bots = Bots::play(&mut project).await?;
        let ttl = project.of_kind(KINDS[0]).find_map(|(_, c)| c.env("MARCH_TTL"));
        let ttl = ttl.map_or(Ok(COMPOSE_TTL), durations::parse).map_err(Failure::usage)?;
        let records = Records::new(drill.name);
        let voids = match drill.script.is_of_the_network() {
            true => Voids::beside(&project, &SERVERS).await?,
            false => Voids::default(),
        };
        let (down, paused) = (BTreeSet::new(), BTreeSet::new());
        Ok(Self { project, address, ttl, bots, records, voids, down, paused })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) const fn bots(&self) -> u64 {
        self.bots.count()
    }

    pub(super) const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// A killed container stays down by Docker's rule, until it is started again here. A stopped
    /// one is paused: nothing in it runs.
    pub(super) async fn signal(&mut self, name: &str, signal: Signal) -> Result<(), Failure> {
        let id = self.project.id(name)?.to_owned();
        match signal {
            Signal::SIGKILL => {
                docker(&["kill", "-s", "KILL", &id]).await?;
                self.records.killed(name);
                self.down.insert(name.to_owned());
            }
            Signal::SIGSTOP => {
                docker(&["pause", &id]).await?;
                self.paused.insert(name.to_owned());
            }
            Signal::SIGCONT => {
                docker(&["unpause", &id]).await?;
                self.paused.remove(name);
            }
            other => {
                docker(&["kill", "-s", other.as_str(), &id]).await?;
            }
        }
        Ok(())
    }

    /// Asks a container to end and waits for it.
    pub(super) async fn stop(&mut self, name: &str) -> Result<Option<i32>, Failure> {
        let id = self.project.id(name)?.to_owned();
        docker::stop([id.as_str()]).await?;
        self.down.insert(name.to_owned());
        let code = docker(&["inspect", "--format", "{{.State.ExitCode}}", &id]).await?;
        Ok(code.trim().parse().ok().filter(|code| *code != KILLED))
    }

    /// From now on nothing that one says comes to another.
    pub(super) async fn lose(&mut self, from: &str, to: &str) -> Result<(), Failure> {
        self.voids.lose(&self.project, from, to).await
    }

    /// Its network is well again.
    pub(super) async fn heal(&mut self) -> Result<(), Failure> {
        self.voids.heal().await
    }

    pub(super) async fn look_after(&mut self) -> Result<(), Failure> {
        if self.down.is_empty() {
            return Ok(());
        }
        for name in std::mem::take(&mut self.down) {
            docker(&["start", self.project.id(&name)?]).await?;
        }
        self.find_again().await
    }

    /// Ports that are published by chance are others after a start.
    async fn find_again(&mut self) -> Result<(), Failure> {
        self.project.look_again().await?;
        self.address = address(&self.project)?;
        Ok(())
    }

    /// Stops the processes, takes their journals along, starts them again, and judges.
    pub(super) async fn end(mut self) -> Result<Left, Failure> {
        self.mend().await?;
        let taken = self.take().await;
        // However that went, the cluster goes on.
        let back = self.start_again().await;
        let bots = taken?;
        let (verdict, summary) = audit_dir(self.records.dir())?;
        back?;
        Ok(Left { dir: self.records.dir().to_owned(), bots, verdict, summary })
    }

    /// Lets it go on as it was found, without a verdict.
    pub(super) async fn leave(mut self) -> Result<(), Failure> {
        self.mend().await?;
        self.bots.leave(&self.project).await
    }

    /// Undoes what a script that broke off left behind.
    async fn mend(&mut self) -> Result<(), Failure> {
        std::mem::take(&mut self.voids).end().await;
        for name in std::mem::take(&mut self.paused) {
            docker(&["unpause", self.project.id(&name)?]).await?;
        }
        self.look_after().await
    }

    async fn take(&mut self) -> Result<marchland_client::bots::BotsReport, Failure> {
        let bots = self.bots.end(&self.project).await?;
        let census_at = status::ask(&self.address).await.ok().map(|s| s.tick);
        sleep(CENSUS_PASSES).await;
        for kind in KINDS {
            docker::stop(self.project.of_kind(kind).map(|(_, c)| c.id.as_str())).await?;
        }
        let (_, any) = self.project.of_kind(KINDS[0]).next().ok_or_else(|| {
            Failure::new(NOT_FOUND, format!("{} has no manager any more", self.project.name))
        })?;
        self.records.take(any, census_at).await?;
        Ok(bots)
    }

    async fn start_again(&mut self) -> Result<(), Failure> {
        let ids = |kind| self.project.of_kind(kind).map(|(_, c): (_, &Container)| c.id.as_str());
        let all: Vec<&str> = KINDS.iter().flat_map(|kind| ids(kind)).collect();
        docker_within(&[&["start"], all.as_slice()].concat(), LONG_MAX).await?;
        self.find_again().await?;
        until_ready(&self.address).await?;
        self.bots.come_back(&self.project).await
    }
}

/// Fails if a process of the cluster does not run.
fn all_run(project: &Project) -> Result<(), Failure> {
    let mut missing: Vec<&str> = Vec::new();
    for kind in KINDS.iter().copied().chain([STORE]) {
        let (mut any, mut of_kind) = (false, project.of_kind(kind));
        any |= of_kind
            .by_ref()
            .map(|(service, c)| {
                if !c.is_running() {
                    missing.push(service);
                }
            })
            .count()
            > 0;
        if !any {
            missing.push(kind.trim_end_matches('-'));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let text = format!("of the project {}, not running: {}", project.name, missing.join(", "));
    Err(Failure::new(NOT_FOUND, text)
        .hint("nothing was done; start them with `docker compose up --wait` or `make up`"))
}

/// Where its managers can be asked from here.
fn address(project: &Project) -> Result<String, Failure> {
    let managers = project.of_kind(KINDS[0]).filter_map(|(_, c)| c.published(OPERATOR));
    let managers: Vec<String> = managers.collect();
    if managers.is_empty() {
        let text = format!("no manager of {} publishes its port {OPERATOR}", project.name);
        return Err(Failure::new(UNREACHABLE, text)
            .hint("publish it, as docker-compose.yml does: ports: [\"127.0.0.1:7600:7600\"]"));
    }
    Ok(managers.join(","))
}

async fn until_ready(address: &str) -> Result<(), Failure> {
    let until = Instant::now() + READY_MAX;
    loop {
        let reasons = match status::ask(address).await {
            Ok(status) if status.ready => return Ok(()),
            Ok(status) => status.reasons.join("; "),
            Err(failure) => failure.to_string(),
        };
        if Instant::now() >= until {
            let text = format!("the cluster was not ready within {READY_MAX:?}: {reasons}");
            return Err(Failure::new(TIMEOUT, text)
                .hint(format!("`march status --cluster {address}` and `docker compose logs`")));
        }
        sleep(ASK_EVERY).await;
    }
}
