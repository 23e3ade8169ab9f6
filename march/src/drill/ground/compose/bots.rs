//! The bots that play in a cluster in containers: those that are there, or the profile's.

use super::docker::{LONG_MAX, docker, logs, run, stop};
use super::project::{Container, Project};
use crate::exit::{Failure, NOT_FOUND};
use marchland_client::bots::BotsReport;
use tokio::process::Command;

/// The service.
const BOTS: &str = "bots";
/// A service whose labels and image tell how the cluster was made.
const MODEL: &str = "manager-1";
/// Where compose was called.
const FOLDER: &str = "com.docker.compose.project.working_dir";
/// Which files it was told.
const FILES: &str = "com.docker.compose.project.config_files";
/// How many play if the container does not say.
const DEFAULT_COUNT: u64 = 100;

pub(super) struct Bots {
    count: u64,
    /// They are there afterwards as well if they were before.
    played_before: bool,
}

impl Bots {
    /// Starts them unless they play.
    pub(super) async fn play(project: &mut Project) -> Result<Self, Failure> {
        let played_before = project.get(BOTS).is_some_and(Container::is_running);
        if !played_before {
            eprintln!("  starts its bots");
            match project.get(BOTS) {
                Some(bots) => docker(&["start", &bots.id]).await.map(|_| ())?,
                None => make(project).await?,
            }
            project.look_again().await?;
        }
        let count = project.get(BOTS).and_then(|c| c.env("MARCH_BOTS")?.parse().ok());
        Ok(Self { count: count.unwrap_or(DEFAULT_COUNT), played_before })
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Lets them hear their last answers and end.
    pub(super) async fn end(&self, project: &Project) -> Result<BotsReport, Failure> {
        let id = project.id(BOTS)?;
        stop([id]).await?;
        let said = logs(&["--tail", "200", id]).await?;
        let report = said.out.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        report.ok_or_else(|| {
            let last = said.err.lines().last().unwrap_or("nothing");
            Failure::new(NOT_FOUND, format!("the bots left no report; their last word: {last}"))
                .hint("`docker compose logs bots` says more")
        })
    }

    /// As it was before, while the cluster goes on.
    pub(super) async fn leave(&self, project: &Project) -> Result<(), Failure> {
        match self.played_before {
            true => Ok(()),
            false => stop([project.id(BOTS)?]).await,
        }
    }

    /// As it was before, once the cluster is there again.
    pub(super) async fn come_back(&self, project: &Project) -> Result<(), Failure> {
        if self.played_before {
            docker(&["start", project.id(BOTS)?]).await?;
        }
        Ok(())
    }
}

/// Only compose knows how to make a container that was never there.
async fn make(project: &Project) -> Result<(), Failure> {
    let model = project.get(MODEL).ok_or_else(|| Failure::internal("a cluster has a manager"))?;
    let mut command = Command::new("docker");
    if docker(&["compose", "version"]).await.is_ok() {
        command.arg("compose");
    } else {
        command = Command::new("docker-compose");
    }
    command.args(["-p", &project.name, "--project-directory", model.label(FOLDER)]);
    for file in model.label(FILES).split(',') {
        // The older compose writes names as it was told them, from its folder.
        let file = std::path::Path::new(model.label(FOLDER)).join(file);
        command.arg("-f").arg(file);
    }
    command.args(["--profile", BOTS, "up", "-d", "--no-deps", "--no-recreate", "--no-build", BOTS]);
    command.env("MARCH_IMAGE", model.image());
    run(command, LONG_MAX).await.map(|_| ())
}
