//! Disk, store and a peer stand still at once, and the tick threads tick on.
//!
//! The shells of a whole little cluster run here in one process, so that the disk of the base can
//! be held: its log is kept on a disk in memory, etcd and one cellapp are reached through proxies.

use crate::client::{Client, command};
use crate::support::{free_port, last_json, run, until};
use marchland_baseapp::gateway::PlayRules;
use marchland_baseapp::log::MemoryDisk;
use marchland_baseapp::{BaseOptions, run as run_base};
use marchland_baseapp_core::io::BaseOrder;
use marchland_cellapp::{CellOptions, WorkRules, run as run_cell};
use marchland_chaos::{Proxy, Way};
use marchland_common::order::NodeName;
use marchland_frontier_core::{AVATAR, Frontier, WOLF, home_of, kinds, spaces, wolf_dens};
use marchland_manager::{ManagerOptions, run as run_manager};
use marchland_manager_core::SpaceSpec;
use marchland_proto::client::answer;
use marchland_proto::operator::HealthRequest;
use marchland_proto::operator::process_client::ProcessClient;
use marchland_runtime::process::{ProcessOptions, Shutdown};
use marchland_runtime::standin_server::{StandinOptions, serve};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

const STEP: Duration = Duration::from_millis(50);
/// Two seconds of ticks.
const TICKS: u64 = 40;
const WOLVES: usize = 30;

/// Addresses that a test asks and holds up.
struct World {
    etcd: Proxy,
    /// Before the second cellapp.
    peer: Proxy,
    disk: MemoryDisk,
    manager: String,
    gateway: String,
    /// The doors of the base and the two cellapps.
    doors: [String; 3],
    end: Vec<Shutdown>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

fn process(name: &str, etcd: &str, dir: &Path) -> ProcessOptions {
    ProcessOptions {
        name: name.parse::<NodeName>().unwrap(),
        cluster: "stall".to_owned(),
        etcd: vec![etcd.to_owned()],
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        advertise: None,
        dial_from: None,
        dir: dir.to_owned(),
        seed: 7,
        step: STEP,
        ttl: Duration::from_secs(5),
    }
}

fn cell(process: ProcessOptions) -> CellOptions {
    let work = |_: &[u8]| Vec::new();
    CellOptions {
        process,
        world: Arc::new(Frontier::new()),
        work: WorkRules { work, least: Duration::from_millis(50) },
        load_percent: 0,
    }
}

fn base(process: ProcessOptions, disk: MemoryDisk) -> BaseOptions {
    let wolf = |(i, place): (usize, _)| BaseOrder::Create {
        request: i as u64,
        kind: WOLF,
        place,
        argument: Vec::new(),
        props: Vec::new(),
    };
    BaseOptions {
        process,
        gateway: SocketAddr::from(([127, 0, 0, 1], 0)),
        advertise_gateway: None,
        rules: PlayRules {
            kinds: Arc::new(kinds()),
            home: home_of,
            playable: |kind| kind == AVATAR,
            step: STEP,
        },
        populate: wolf_dens(WOLVES, 7).into_iter().enumerate().map(wolf).collect(),
        accept_loss: false,
        disk: Some(disk),
    }
}

fn manager(process: ProcessOptions) -> ManagerOptions {
    let spec = |s: marchland_frontier_core::SpaceSpec| SpaceSpec {
        id: s.id,
        bounds: s.bounds,
        cells: s.cells,
    };
    ManagerOptions {
        console: None,
        process,
        spaces: spaces().into_iter().map(spec).collect(),
        cells_awaited: 2,
        bases_awaited: 1,
        wait_max: Duration::from_secs(60),
        // A peer is to stand still for longer than that would be, and nobody is to be given up.
        silent_after: Duration::from_secs(60),
        take_over_after: None,
    }
}

impl World {
    async fn start(dir: &Path) -> Self {
        let (mut end, mut tasks) = (Vec::new(), Vec::new());
        let store = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let etcd = Proxy::to(store.local_addr().unwrap()).unwrap();
        tasks.push(tokio::spawn(async move {
            serve(store, StandinOptions::default(), std::future::pending()).await.unwrap();
        }));
        let url = format!("http://{}", etcd.addr());
        let behind = format!("127.0.0.1:{}", free_port());
        let peer = Proxy::to(behind.parse().unwrap()).unwrap();
        let disk = MemoryDisk::default();

        let (shutdown, watch) = Shutdown::new();
        end.push(shutdown);
        let (say, said) = oneshot::channel();
        let options = manager(process("manager-1", &url, dir));
        tasks.push(tokio::spawn(async move {
            run_manager(options, watch, |at| say.send(at.operator.to_owned()).unwrap())
                .await
                .unwrap();
        }));
        let manager = format!("http://{}", said.await.unwrap());

        let (shutdown, watch) = Shutdown::new();
        end.push(shutdown);
        let (say, said) = oneshot::channel();
        let options = base(process("base-1", &url, dir), disk.clone());
        tasks.push(tokio::spawn(async move {
            let ready = |link: &str, gateway: &str| {
                say.send((link.to_owned(), gateway.to_owned())).unwrap();
            };
            run_base(options, watch, ready).await.unwrap();
        }));
        let (base_door, gateway) = said.await.unwrap();

        let mut cell_doors = Vec::new();
        for name in ["cell-1", "cell-2"] {
            let mut options = process(name, &url, dir);
            if name == "cell-2" {
                options.listen = behind.parse().unwrap();
                options.advertise = Some(peer.addr().to_string());
            }
            let (shutdown, watch) = Shutdown::new();
            end.push(shutdown);
            let (say, said) = oneshot::channel();
            let options = cell(options);
            tasks.push(tokio::spawn(async move {
                run_cell(options, watch, |at| say.send(at.to_owned()).unwrap()).await.unwrap();
            }));
            cell_doors.push(said.await.unwrap());
        }
        let doors = [base_door, cell_doors.remove(0), behind];
        let gateway = format!("http://{gateway}");
        Self { etcd, peer, disk, manager, gateway, doors, end, tasks }
    }

    /// What everybody counts, by the order of [`World::doors`].
    async fn counters(&self) -> Vec<BTreeMap<String, u64>> {
        let mut all = Vec::new();
        for door in &self.doors {
            let mut client = ProcessClient::connect(format!("http://{door}")).await.unwrap();
            let mut health = client.health(HealthRequest {}).await.unwrap().into_inner();
            health.counters.insert("reals".to_owned(), health.reals);
            all.push(health.counters.into_iter().collect());
        }
        all
    }

    /// Ends the servers, then the manager, and the store last.
    async fn end(mut self) {
        let manager = self.end.remove(0);
        self.end.iter().for_each(Shutdown::now);
        for task in self.tasks.drain(2..) {
            task.await.unwrap();
        }
        manager.now();
        self.tasks.remove(1).await.unwrap();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn every_tick_is_started_while_disk_store_and_a_peer_stand_still_and_entities_wait_for_them() {
    let temp = tempfile::tempdir().unwrap();
    let io = runtime();
    let world = io.block_on(World::start(temp.path()));
    let ready = run(&["status", "--cluster", &world.manager, "--wait", "60s", "--json"]);
    assert_eq!(ready.status.code(), Some(0), "{}", last_json(&ready));
    let mut client = io.block_on(Client::login(&world.gateway, "ann"));
    let counters = || io.block_on(world.counters());
    until("the world to be populated and to move", || {
        let all = counters();
        let reals: u64 = all.iter().map(|c| c["reals"]).sum();
        let waiting: u64 = all.iter().filter_map(|c| c.get("entities_waiting")).sum();
        (reals > WOLVES as u64 && waiting == 0).then_some(())
    });

    let before = counters();
    world.disk.hold_syncs();
    world.etcd.set_both(Way::Stall);
    world.peer.set_both(Way::Stall);
    // It is taken in, and can be confirmed by nobody.
    io.block_on(client.up.send(command(1, client.entity, "heal", vec![]))).unwrap();
    let ran = |all: &[BTreeMap<String, u64>]| -> u64 {
        let since = |(now, then): (&BTreeMap<String, u64>, &BTreeMap<String, u64>)| {
            now["ticks_run"] - then["ticks_run"]
        };
        all.iter().zip(&before).map(since).min().unwrap()
    };
    let during = until("two seconds of ticks", || {
        let all = counters();
        (ran(&all) >= TICKS).then_some(all)
    });
    for (now, then) in during.iter().zip(&before) {
        assert_eq!(now["ticks_dropped"], then["ticks_dropped"], "{now:#?}");
    }
    for cell in &during[1..] {
        assert!(cell["reals"] > 0 && cell["entities_waiting"] == cell["reals"], "{cell:#?}");
    }
    assert!(during[0]["commands_waiting"] > 0, "{:#?}", during[0]);

    world.disk.release_syncs();
    io.block_on(async { tokio::join!(world.etcd.heal(), world.peer.heal()) });
    let outcome = io.block_on(client.answer());
    assert!(!matches!(outcome, answer::Outcome::Expired(_)), "{outcome:?}");
    until("everybody to move again", || {
        let all = counters();
        all.iter().all(|c| c.get("entities_waiting").is_none_or(|n| *n == 0)).then_some(())
    });
    let after = counters();
    for (now, then) in after.iter().zip(&before) {
        assert_eq!(now["ticks_dropped"], then["ticks_dropped"], "{now:#?}");
    }
    drop(client);
    io.block_on(world.end());
}
