//! Cuts of the network between containers: beside each that may be cut off runs a helper, which
//! shares its network and loses what it says to another, on order. A helper that hears no more
//! heals everything and ends, so nothing outlives the drill.

use super::project::{Container, Project};
use crate::exit::{Failure, NOT_FOUND, TIMEOUT, UNREACHABLE};
use crate::verbs::void::{DONE, HEAL, LOSE};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long a helper may take to begin and to do something.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// How long it may take to end.
const END_MAX: Duration = Duration::from_secs(5);

/// Helpers by the service beside which they run.
#[derive(Default)]
pub(super) struct Voids {
    helpers: BTreeMap<String, Helper>,
    lost: Vec<(String, String)>,
}

struct Helper {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Voids {
    /// Helpers beside all services whose names begin like one of these, ready to be told something.
    pub(super) async fn beside(project: &Project, kinds: &[&str]) -> Result<Self, Failure> {
        let mut voids = Self::default();
        let all = kinds.iter().flat_map(|kind| project.of_kind(kind));
        for (service, container) in all {
            voids.helpers.insert(service.to_owned(), Helper::start(container)?);
        }
        // All begin at once; each then says that it is there, by undoing what nobody did.
        for (service, helper) in &mut voids.helpers {
            helper.tell(HEAL, address(project, service)?).await?;
        }
        Ok(voids)
    }

    /// From now on nothing that one says comes to another.
    pub(super) async fn lose(
        &mut self,
        project: &Project,
        from: &str,
        to: &str,
    ) -> Result<(), Failure> {
        let peer = address(project, to)?;
        let helper = self.helpers.get_mut(from).ok_or_else(|| {
            Failure::new(NOT_FOUND, format!("there is no helper beside {from}, to cut it off"))
        })?;
        helper.tell(LOSE, peer).await?;
        self.lost.push((from.to_owned(), peer.to_owned()));
        Ok(())
    }

    /// Everything comes through again.
    pub(super) async fn heal(&mut self) -> Result<(), Failure> {
        for (from, peer) in std::mem::take(&mut self.lost) {
            if let Some(helper) = self.helpers.get_mut(&from) {
                helper.tell(HEAL, &peer).await?;
            }
        }
        Ok(())
    }

    /// Ends the helpers, which heal everything.
    pub(super) async fn end(self) {
        for (_, Helper { mut child, orders, .. }) in self.helpers {
            drop(orders);
            if timeout(END_MAX, child.wait()).await.is_err() {
                tracing::warn!("a helper did not end in time");
            }
        }
    }
}

impl Helper {
    fn start(beside: &Container) -> Result<Self, Failure> {
        let network = format!("container:{}", beside.id);
        let mut child = Command::new("docker")
            .args(["run", "--rm", "-i", "--network", &network, "--user", "0:0", "--read-only"])
            .args(["--cap-drop", "ALL", "--cap-add", "NET_ADMIN"])
            .args(["--security-opt", "no-new-privileges", beside.image(), "void"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| Failure::new(UNREACHABLE, format!("cannot run `docker`: {e}")))?;
        let ends = (child.stdin.take(), child.stdout.take());
        let (Some(orders), Some(answers)) = ends else {
            return Err(Failure::internal("a helper has no pipes"));
        };
        Ok(Self { child, orders, answers: BufReader::new(answers).lines() })
    }

    async fn tell(&mut self, order: &str, peer: &str) -> Result<(), Failure> {
        let line = format!("{order} {peer}\n");
        let asked = async {
            self.orders.write_all(line.as_bytes()).await?;
            self.answers.next_line().await
        };
        let cannot = |why: String| {
            Failure::new(UNREACHABLE, format!("a helper cannot cut the network: {why}"))
                .hint("its image has to be this version's; `make images` builds it")
        };
        match timeout(ANSWER_MAX, asked).await {
            Ok(Ok(Some(answer))) if answer == DONE => Ok(()),
            Ok(Ok(Some(answer))) => Err(cannot(answer)),
            Ok(Ok(None)) => Err(cannot("it ended".to_owned())),
            Ok(Err(error)) => Err(cannot(error.to_string())),
            Err(_) => Err(Failure::new(TIMEOUT, "a helper that cuts the network says nothing")),
        }
    }
}

fn address<'a>(project: &'a Project, service: &str) -> Result<&'a str, Failure> {
    project.get(service).and_then(Container::address).ok_or_else(|| {
        Failure::new(NOT_FOUND, format!("{service} has no address in the cluster's network"))
    })
}
