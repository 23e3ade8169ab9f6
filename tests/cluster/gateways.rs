//! Where gateways send clients that belong to another one.

use crate::client::Client;
use crate::support::{Demo, last_json};
use marchland_proto::client::{Login, down, up};

/// The first address that a gateway sends one of many accounts to.
async fn redirect_of(gateway: &str) -> String {
    for number in 0..64 {
        let account = format!("a-{number}");
        let login = Login { account, radius: 1_000, kind: "avatar".to_owned() };
        let mut client = Client::dial(gateway, up::What::Login(login)).await;
        if let Some(down::What::Redirect(there)) = client.next().await {
            return there.address;
        }
    }
    panic!("{gateway} keeps 64 accounts itself");
}

/// A client that plays at the gateway that it called.
async fn player_of(gateway: &str, prefix: &str) -> Client {
    for number in 0..64 {
        let account = format!("{prefix}-{number}");
        let login = Login { account, radius: 0, kind: "avatar".to_owned() };
        let mut client = Client::dial(gateway, up::What::Login(login)).await;
        if let Some(down::What::Welcome(_)) = client.next().await {
            return client;
        }
    }
    panic!("{gateway} keeps none of 64 accounts");
}

/// Where a client is sent once its session went elsewhere; its stream ends with that.
async fn sent_on(client: &mut Client) -> String {
    loop {
        match client.next().await {
            Some(down::What::Redirect(there)) => return there.address,
            Some(down::What::Ended(ended)) => panic!("it is not told where: {}", ended.reason),
            Some(_) => {}
            None => panic!("the stream ended without a word"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_sent_to_advertised_gateways_and_those_inside_to_inside_ones_also_later_on() {
    let told = [("MARCH_ADVERTISE_GATEWAY", "localhost")];
    let demo = Demo::start_in(&told, &["--bots", "4", "--wolves", "10", "--cells", "2"]);
    let status = last_json(&demo.ask(&["status", "--json"]));
    let outside: Vec<String> = status["members"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|member| member["kind"] == "base")
        .map(|member| format!("http://{}", member["gateway"].as_str().unwrap()))
        .collect();
    let inside: Vec<String> =
        outside.iter().map(|address| address.replace("localhost", "127.0.0.1")).collect();
    assert!(outside[0].starts_with("http://localhost:"), "{outside:?}");
    assert_eq!(redirect_of(&outside[0]).await, outside[1]);
    assert_eq!(redirect_of(&inside[0]).await, inside[1]);
    // Whose session moves is told where, by an address that works where it stands.
    let mut stranger = player_of(&outside[0], "stranger").await;
    let mut neighbour = player_of(&inside[0], "neighbour").await;
    let drained = demo.ask(&["drain", "base-1", "--wait", "--json"]);
    assert_eq!(drained.status.code(), Some(0), "{}", last_json(&drained));
    assert_eq!(sent_on(&mut stranger).await, outside[1]);
    assert_eq!(sent_on(&mut neighbour).await, inside[1]);
    // The bots were sent to where they belong, and played there.
    let (_, report) = demo.end();
    assert_ne!(report["audit"], "fail", "{report:#}");
    assert_eq!(report["commands"]["unanswered"].as_u64().unwrap_or(0), 0, "{report:#}");
}
