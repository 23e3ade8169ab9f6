//! Finding the cluster: an address, or the folder of a demo.

use crate::exit::{Failure, NOT_FOUND, UNREACHABLE};
use marchland_proto::operator::HealthRequest;
use marchland_proto::operator::operator_client::OperatorClient;
use marchland_proto::operator::process_client::ProcessClient;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

/// What a demo writes when it is ready, and again whenever a process was started again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClusterFile {
    /// The first manager's address.
    pub(crate) manager: String,
    /// All managers' addresses. Whichever is asked, it answers.
    #[serde(default)]
    pub(crate) managers: Vec<String>,
    /// The gateways' addresses.
    pub(crate) gateways: Vec<String>,
    /// The address of its console.
    #[serde(default)]
    pub(crate) console: String,
    /// The store's address.
    pub(crate) etcd: String,
    /// Process ids by name.
    pub(crate) pids: BTreeMap<String, u32>,
    /// The folder with all journals.
    pub(crate) journals: PathBuf,
}

/// The name of that file in the demo's folder.
pub(crate) const CLUSTER_FILE: &str = "cluster.json";

/// Reads the file of a demo.
pub(crate) fn cluster_file(dir: &Path) -> Result<ClusterFile, Failure> {
    let path = dir.join(CLUSTER_FILE);
    let text = std::fs::read_to_string(&path).map_err(|e| {
        Failure::new(NOT_FOUND, format!("cannot read {}: {e}", path.display()))
            .hint("give the folder of a demo that runs, or the address of a manager")
    })?;
    serde_json::from_str(&text)
        .map_err(|e| Failure::new(NOT_FOUND, format!("{} is not whole: {e}", path.display())))
}

/// How long a manager may take to accept a connection.
const DIAL_MAX: Duration = Duration::from_secs(2);
/// How long one of several may take to say that it is there, before the next one is asked.
const ANSWER_MAX: Duration = Duration::from_millis(700);

/// Connects to a manager of `cluster`: addresses with commas between them, or the folder of a demo.
/// The first one that answers is as good as any other.
pub(crate) async fn manager(cluster: &str) -> Result<OperatorClient<Channel>, Failure> {
    let addresses = addresses(cluster)?;
    let (last, others) = addresses.split_last().ok_or_else(|| {
        Failure::usage("no address of a manager").hint("give one with --cluster or MARCH_CLUSTER")
    })?;
    for address in others {
        if let Ok(channel) = dial(address).await
            && answers(channel.clone()).await
        {
            return Ok(client(channel));
        }
    }
    dial(last).await.map(client)
}

fn addresses(cluster: &str) -> Result<Vec<String>, Failure> {
    if Path::new(cluster).is_dir() {
        let file = cluster_file(Path::new(cluster))?;
        return Ok(if file.managers.is_empty() { vec![file.manager] } else { file.managers });
    }
    let whole = |address: &str| match address.contains("://") {
        true => address.to_owned(),
        false => format!("http://{address}"),
    };
    Ok(cluster.split(',').map(str::trim).filter(|a| !a.is_empty()).map(whole).collect())
}

async fn dial(address: &str) -> Result<Channel, Failure> {
    let endpoint = Endpoint::from_shared(address.to_owned())
        .map_err(|e| Failure::usage(format!("{address} is not an address: {e}")))?;
    endpoint.connect_timeout(DIAL_MAX).connect().await.map_err(|e| {
        Failure::new(UNREACHABLE, format!("no manager answers at {address}: {e}"))
            .hint("start one with `march demo`, or say where it is with --cluster or MARCH_CLUSTER")
    })
}

/// A stopped process accepts connections as well: only its answer says that it runs.
async fn answers(channel: Channel) -> bool {
    let ask = async { ProcessClient::new(channel).health(HealthRequest {}).await };
    matches!(timeout(ANSWER_MAX, ask).await, Ok(Ok(_)))
}

fn client(channel: Channel) -> OperatorClient<Channel> {
    OperatorClient::new(channel).max_decoding_message_size(64 << 20)
}
