//! The containers of one compose project, as Docker tells.

use super::docker::docker;
use crate::exit::{Failure, NOT_FOUND};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The label that names a container's project.
const PROJECT: &str = "com.docker.compose.project";
/// The label that names its service.
const SERVICE: &str = "com.docker.compose.service";
/// The label that is true of what `compose run` starts.
const ONEOFF: &str = "com.docker.compose.oneoff";
/// A service that every cluster has.
const ALWAYS: &str = "manager-1";
/// The files that make a folder a project.
const FILES: [&str; 4] =
    ["docker-compose.yml", "docker-compose.yaml", "compose.yaml", "compose.yml"];

/// A container, as Docker describes it.
#[derive(Clone, Debug)]
pub(super) struct Container {
    pub(super) id: String,
    about: Value,
}

/// The containers of a project, by service.
#[derive(Clone, Debug)]
pub(super) struct Project {
    pub(super) name: String,
    containers: BTreeMap<String, Container>,
}

impl Container {
    fn text(&self, pointer: &str) -> &str {
        self.about.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn is_running(&self) -> bool {
        self.about.pointer("/State/Running").and_then(Value::as_bool).unwrap_or_default()
    }

    /// The image that it was made of.
    pub(super) fn image(&self) -> &str {
        self.text("/Config/Image")
    }

    pub(super) fn label(&self, name: &str) -> &str {
        let labels = self.about.pointer("/Config/Labels");
        labels.and_then(|labels| labels.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// A variable of its environment.
    pub(super) fn env(&self, name: &str) -> Option<&str> {
        let all = self.about.pointer("/Config/Env").and_then(Value::as_array)?;
        let mut pairs = all.iter().filter_map(|v| v.as_str()?.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Its address in its network.
    pub(super) fn address(&self) -> Option<&str> {
        let networks = self.about.pointer("/NetworkSettings/Networks")?.as_object()?;
        let mut all = networks.values().filter_map(|network| network.get("IPAddress")?.as_str());
        all.find(|address| !address.is_empty())
    }

    /// Where a port of it can be reached from here.
    pub(super) fn published(&self, port: u16) -> Option<String> {
        let ports = self.about.pointer("/NetworkSettings/Ports")?;
        let first = ports.get(format!("{port}/tcp"))?.as_array()?.first()?;
        let (host, port) = (first.get("HostIp")?.as_str()?, first.get("HostPort")?.as_str()?);
        let host = if host.is_empty() || host == "0.0.0.0" { "127.0.0.1" } else { host };
        Some(format!("http://{host}:{port}"))
    }
}

impl Project {
    /// The one of this name; without it the one of the folder that this is called in.
    pub(super) async fn find(chosen: Option<&str>) -> Result<Self, Failure> {
        let name = match chosen {
            Some(name) => name.to_owned(),
            None => of_folder().ok_or_else(|| {
                Failure::usage("there is no docker-compose.yml here or above")
                    .hint("say which cluster with --project; `docker ps` shows labels of them")
            })?,
        };
        let containers = containers(&name).await?;
        if !containers.contains_key(ALWAYS) {
            return Err(absent(&name).await);
        }
        Ok(Self { name, containers })
    }

    /// Asks anew.
    pub(super) async fn look_again(&mut self) -> Result<(), Failure> {
        self.containers = containers(&self.name).await?;
        Ok(())
    }

    /// The container of a service.
    pub(super) fn get(&self, service: &str) -> Option<&Container> {
        self.containers.get(service)
    }

    /// The id of a service's container.
    pub(super) fn id(&self, service: &str) -> Result<&str, Failure> {
        self.get(service).map(|container| container.id.as_str()).ok_or_else(|| {
            let text = format!("the project {} has no container of {service}", self.name);
            Failure::new(NOT_FOUND, text).hint("`docker compose up --wait` makes what is missing")
        })
    }

    /// All services whose name begins like this.
    pub(super) fn of_kind<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Container)> {
        let all = self.containers.iter().map(|(service, found)| (service.as_str(), found));
        all.filter(move |(service, _)| service.starts_with(prefix))
    }
}

async fn containers(project: &str) -> Result<BTreeMap<String, Container>, Failure> {
    let (of_project, of_services) = (format!("label={PROJECT}={project}"), oneoff(false));
    let words = ["ps", "-aq", "--no-trunc", "--filter", &of_project, "--filter", &of_services];
    let ids = docker(&words).await?;
    let ids: Vec<&str> = ids.split_whitespace().collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let text = docker(&[&["inspect"], ids.as_slice()].concat()).await?;
    let all: Vec<Value> = serde_json::from_str(&text)
        .map_err(|e| Failure::internal(format!("cannot read what Docker inspected: {e}")))?;
    let container = |about: Value| {
        let id = about.get("Id")?.as_str()?.to_owned();
        let container = Container { id, about };
        Some((container.label(SERVICE).to_owned(), container))
    };
    Ok(all.into_iter().filter_map(container).collect())
}

fn oneoff(is_oneoff: bool) -> String {
    format!("label={ONEOFF}={}", if is_oneoff { "True" } else { "False" })
}

/// There is no such cluster; which ones there are instead.
async fn absent(name: &str) -> Failure {
    let of_service = format!("label={SERVICE}={ALWAYS}");
    let format = format!("{{{{.Label \"{PROJECT}\"}}}}");
    let words = ["ps", "--filter", &of_service, "--format", &format];
    let others = docker(&words).await.unwrap_or_default();
    let others: Vec<&str> = others.split_whitespace().collect();
    let text = format!("there are no containers of a cluster in the compose project `{name}`");
    Failure::new(NOT_FOUND, text).hint(match others.as_slice() {
        [] => "start one with `docker compose up --wait` or `make up`".to_owned(),
        some => format!("choose one that runs with --project: {}", some.join(", ")),
    })
}

/// The name that compose gives to the project of the folder that this is called in.
fn of_folder() -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let folder = here.ancestors().find(|dir| FILES.iter().any(|file| dir.join(file).is_file()))?;
    of_env_file(folder).or_else(|| Some(normal(folder.file_name()?.to_str()?)))
}

/// What the folder's own settings say.
fn of_env_file(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(".env")).ok()?;
    let value = text.lines().find_map(|line| line.trim().strip_prefix("COMPOSE_PROJECT_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// As compose makes a project's name of a folder's.
fn normal(folder: &str) -> String {
    let lower = folder.to_lowercase();
    let kept = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    lower.chars().filter(kept).collect::<String>().trim_start_matches(['_', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_project_is_named_after_its_folder_as_compose_does_it() {
        assert_eq!(normal("Marchland"), "marchland");
        assert_eq!(normal("My March.2"), "mymarch2");
        assert_eq!(normal("_x-1"), "x-1");
    }

    #[test]
    fn what_docker_tells_of_a_container_is_found() {
        let about = json!({
            "State": { "Running": true },
            "Config": { "Image": "marchland:local", "Env": ["A=1", "MARCH_TTL=2s=x"],
                        "Labels": { SERVICE: "manager-1" } },
            "NetworkSettings": { "Ports": {
                "7600/tcp": [{ "HostIp": "0.0.0.0", "HostPort": "49153" }], "7700/tcp": null } },
        });
        let container = Container { id: "x".to_owned(), about };
        assert!(container.is_running());
        assert_eq!((container.image(), container.label(SERVICE)), ("marchland:local", "manager-1"));
        assert_eq!((container.env("MARCH_TTL"), container.env("MARCH")), (Some("2s=x"), None));
        assert_eq!(container.published(7600).as_deref(), Some("http://127.0.0.1:49153"));
        assert_eq!(container.published(7700), None);
    }
}
