//! What the stand-in keeps on disk, and what it says when it cannot.

use etcd_client::Client;
use marchland_runtime::standin_server::{StandinError, StandinOptions, serve};
use std::path::Path;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

struct Running {
    client: Client,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), StandinError>>,
}

fn options(path: &Path) -> StandinOptions {
    let data_file = Some(path.to_owned());
    StandinOptions { data_file, log_bytes_max: 2_000, ..StandinOptions::default() }
}

async fn start(path: &Path) -> Running {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { drop(stopped.await) };
    let served = tokio::spawn(serve(listener, options(path), shutdown));
    let client = Client::connect([endpoint], None).await.unwrap();
    Running { client, stop, served }
}

async fn refusal(path: &Path) -> StandinError {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    serve(listener, options(path), std::future::pending()).await.unwrap_err()
}

async fn write(client: &mut Client, count: usize) -> i64 {
    let mut revision = 0;
    for i in 0..count {
        let put = client.put(format!("k{}", i % 7), i.to_string(), None).await.unwrap();
        revision = put.header().unwrap().revision();
    }
    revision
}

#[tokio::test]
async fn a_clean_stop_and_many_snapshots_keep_revisions_leases_and_history() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("standin");
    let (mut revision, mut lease, mut cluster_id) = (1, None, None);
    for round in 0..3 {
        let mut running = start(&path).await;
        let before = running.client.get("k0", None).await.unwrap();
        let header = before.header().unwrap();
        assert_eq!((header.revision(), round == 0), (revision, before.kvs().is_empty()));
        assert_eq!(*cluster_id.get_or_insert(header.cluster_id()), header.cluster_id());
        let first = revision + 1;
        revision = write(&mut running.client, 100).await;
        let old = etcd_client::GetOptions::new().with_revision(first);
        assert_eq!(running.client.get("k0", Some(old)).await.unwrap().kvs()[0].value(), b"0");
        match lease {
            None => lease = Some(running.client.lease_grant(600, None).await.unwrap().id()),
            Some(id) => {
                let left = running.client.lease_time_to_live(id, None).await.unwrap();
                assert!(left.ttl() > 500, "{left:?}");
            }
        }
        running.stop.send(()).unwrap();
        running.served.await.unwrap().unwrap();
    }
    let log = dir.path().join("standin.log");
    assert_eq!(std::fs::metadata(log).unwrap().len(), 0, "a clean stop leaves one snapshot");
}

#[tokio::test]
async fn a_second_server_on_the_same_file_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("standin");
    let mut running = start(&path).await;
    write(&mut running.client, 1).await;
    let refused = refusal(&path).await;
    assert!(matches!(refused, StandinError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains(path.to_str().unwrap()));
    running.stop.send(()).unwrap();
    running.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn damage_is_an_error_that_names_the_file_and_an_unusable_folder_too() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("standin");
    let mut running = start(&path).await;
    write(&mut running.client, 30).await;
    running.stop.send(()).unwrap();
    running.served.await.unwrap().unwrap();
    let good = std::fs::read(&path).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    std::fs::write(&path, bad).unwrap();
    let refused = refusal(&path).await;
    assert!(matches!(refused, StandinError::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains(path.to_str().unwrap()));
    std::fs::write(&path, &good).unwrap();
    let mut running = start(&path).await;
    assert_eq!(running.client.get("k1", None).await.unwrap().kvs().len(), 1);
    let refused = refusal(&dir.path().join("no/such/folder/standin")).await;
    assert!(matches!(refused, StandinError::Open { .. }), "{refused}");
}
