//! What this process knows of its peers' being there, for whoever judges; and asking others for it.
//!
//! An answer is made from what the link plane keeps anyway and delays no tick.

use super::config::{ANSWER_BYTES_MAX, LinkTimes};
use super::evidence::{DialFailure, PeerEvidence};
use super::plane::LinkPlane;
use super::socket::{self, Resolver};
use crate::tick::monotonic_ns;
use marchland_common::order::Node;
use marchland_proto::operator as wire;
use marchland_proto::operator::witness_client::WitnessClient;
use marchland_proto::operator::witness_server::{Witness, WitnessServer};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

/// Most peers in one answer; a cluster has far fewer.
const PEERS_MAX: usize = 4_096;

/// Answers what a plane knows.
#[derive(Debug)]
pub struct PlaneWitness {
    plane: LinkPlane,
    node: Node,
}

impl LinkPlane {
    /// The service that tells a manager what is known of each peer's being there.
    #[must_use]
    pub fn witness(&self, node: Node) -> WitnessServer<PlaneWitness> {
        WitnessServer::new(PlaneWitness { plane: self.clone(), node })
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }
}

#[tonic::async_trait]
impl Witness for PlaneWitness {
    async fn evidence(
        &self,
        _: Request<wire::EvidenceRequest>,
    ) -> Result<Response<wire::EvidenceReply>, Status> {
        let now_ns = monotonic_ns();
        let told = |peer: &PeerEvidence| wire::PeerEvidence {
            name: peer.peer.name.to_string(),
            incarnation: peer.peer.incarnation.0,
            silent_ms: peer.silent_ns(now_ns) / 1_000_000,
            sending: peer.sending,
            receiving: peer.receiving,
            absent: peer.is_absent(),
        };
        Ok(Response::new(wire::EvidenceReply {
            name: self.node.name.to_string(),
            incarnation: self.node.incarnation.0,
            peers: self.plane.evidence().iter().take(PEERS_MAX).map(told).collect(),
        }))
    }
}

/// Asks one process again and again, and says how it fails in the words of the link plane.
#[derive(Debug)]
pub struct WitnessAsker {
    addr: String,
    from: Option<IpAddr>,
    times: LinkTimes,
    names: Resolver,
    client: Option<WitnessClient<Channel>>,
}

impl WitnessAsker {
    /// Asks the process at `addr`, `host:port`, from that address of this machine if one is given.
    #[must_use]
    pub fn new(addr: String, from: Option<IpAddr>) -> Self {
        let (times, names) = (LinkTimes::STANDARD, Resolver::default());
        Self { addr, from, times, names, client: None }
    }

    /// Asks once, waiting at most `within`. A connection that broke since the last time is made
    /// again, so that the answer is about now.
    ///
    /// # Errors
    /// How it failed. [`DialFailure::Silent`] is no answer in time.
    pub async fn ask(&mut self, within: Duration) -> Result<wire::EvidenceReply, DialFailure> {
        let asked = timeout(within, self.ask_anew()).await;
        let answer = asked.unwrap_or(Err(DialFailure::Silent));
        if answer.is_err() {
            // A connection on which something went wrong may stay silent for ever.
            self.client = None;
        }
        answer
    }

    async fn ask_anew(&mut self) -> Result<wire::EvidenceReply, DialFailure> {
        if let Some(client) = &mut self.client
            && let Ok(answer) = client.evidence(wire::EvidenceRequest {}).await
        {
            return Ok(answer.into_inner());
        }
        let broken = |error: &dyn std::fmt::Display| DialFailure::Broken(error.to_string());
        let within = self.times.connect;
        let stream = socket::dial(&mut self.names, &self.addr, self.from, within).await?;
        let channel = socket::channel_over(stream, &self.times).await.map_err(|e| broken(&e))?;
        let client = self.client.insert(WitnessClient::new(channel));
        let answer = client.evidence(wire::EvidenceRequest {}).await;
        answer.map(Response::into_inner).map_err(|e| broken(&e))
    }
}
