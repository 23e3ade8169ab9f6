//! Asks one process whether it is ready.

use super::{print_json, print_line};
use crate::cli::HealthArgs;
use crate::exit::{CHECK_FAILED, Failure, TIMEOUT, UNREACHABLE};
use marchland_proto::operator::HealthRequest;
use marchland_proto::operator::process_client::ProcessClient;
use serde::Serialize;
use tokio::time::timeout;

#[derive(Debug, Serialize)]
struct HealthJson {
    name: String,
    incarnation: u64,
    ready: bool,
    reasons: Vec<String>,
    tick: u64,
}

pub(crate) async fn run(args: HealthArgs) -> Result<u8, Failure> {
    let addr = args.addr.clone();
    let ask = async {
        let mut client = ProcessClient::connect(format!("http://{addr}")).await.map_err(|e| {
            Failure::new(UNREACHABLE, format!("nobody answers at {addr}: {e}"))
                .hint("name the process with --addr or MARCH_HEALTH, as host:port")
        })?;
        let reply = client.health(HealthRequest {}).await;
        reply.map_err(|s| Failure::of_status(&s, &format!("{addr} does not say how it is")))
    };
    let reply = timeout(args.deadline, ask).await.map_err(|_| {
        Failure::new(TIMEOUT, format!("{} did not answer within {:?}", args.addr, args.deadline))
    })??;
    let h = reply.into_inner();
    let (ready, reasons) = (h.ready, h.reasons.clone());
    let health = HealthJson {
        name: h.name,
        incarnation: h.incarnation,
        ready,
        reasons: h.reasons,
        tick: h.tick,
    };
    if args.output.is_json() {
        print_json(&health);
    } else {
        let word = if ready { "ready" } else { "not ready" };
        print_line(&format!("{}: {word}, tick {}", health.name, health.tick));
        reasons.iter().for_each(|reason| print_line(&format!("  {reason}")));
    }
    Ok(if ready { 0 } else { CHECK_FAILED })
}
