//! Finding the cluster: an address, or the folder of a demo.

use crate::exit::{Failure, NOT_FOUND, UNREACHABLE};
use marchland_proto::operator::operator_client::OperatorClient;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

/// What a demo writes when it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClusterFile {
    /// The manager's address.
    pub(crate) manager: String,
    /// The gateways' addresses.
    pub(crate) gateways: Vec<String>,
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

/// How long the manager may take to accept a connection.
const DIAL_MAX: Duration = Duration::from_secs(2);

/// Connects to the manager of `cluster`.
pub(crate) async fn manager(cluster: &str) -> Result<OperatorClient<Channel>, Failure> {
    let address = if Path::new(cluster).is_dir() {
        cluster_file(Path::new(cluster))?.manager
    } else {
        cluster.to_owned()
    };
    let address = if address.contains("://") { address } else { format!("http://{address}") };
    let endpoint = Endpoint::from_shared(address.clone())
        .map_err(|e| Failure::usage(format!("{address} is not an address: {e}")))?;
    let channel = endpoint.connect_timeout(DIAL_MAX).connect().await.map_err(|e| {
        Failure::new(UNREACHABLE, format!("no manager answers at {address}: {e}"))
            .hint("start one with `march demo`, or say where it is with --cluster or MARCH_CLUSTER")
    })?;
    Ok(OperatorClient::new(channel).max_decoding_message_size(64 << 20))
}
