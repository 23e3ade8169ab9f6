//! What the proxy does to connections, seen from both their ends.
#![allow(clippy::unwrap_used)]

use marchland_chaos::{Direction, Port, Proxy, Way};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};

/// How long a condition may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

struct Setup {
    target: TcpListener,
    proxy: Proxy,
}

impl Setup {
    async fn new() -> Self {
        let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::to(target.local_addr().unwrap()).unwrap();
        Self { target, proxy }
    }

    /// The two ends of a new connection.
    async fn connect(&self) -> (TcpStream, TcpStream) {
        let dial = TcpStream::connect(self.proxy.addr());
        let (dialer, accepted) = tokio::join!(dial, self.target.accept());
        (dialer.unwrap(), accepted.unwrap().0)
    }

    /// The same, dialed from one of the addresses of this machine.
    async fn connect_from(&self, source: Ipv4Addr) -> (TcpStream, TcpStream) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((source, 0))).unwrap();
        let dial = socket.connect(self.proxy.addr());
        let (dialer, accepted) = tokio::join!(dial, self.target.accept());
        (dialer.unwrap(), accepted.unwrap().0)
    }
}

async fn until(mut condition: impl FnMut() -> bool) {
    let reached = async {
        while !condition() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, reached).await.expect("the condition was never reached");
}

async fn hears(end: &mut TcpStream, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    timeout(PATIENCE, end.read_exact(&mut got)).await.expect("nothing came").unwrap();
    assert_eq!(got, expected);
}

/// Waits for the end of a stream; what came before it.
async fn rest(end: &mut TcpStream) -> Vec<u8> {
    let mut got = Vec::new();
    // A reset is an end as well.
    let _ = timeout(PATIENCE, end.read_to_end(&mut got)).await.expect("it goes on");
    got
}

/// Writes until the kernels take no more; how many bytes they took.
async fn fill(end: &TcpStream) -> u64 {
    let (mut sent, mut idle) = (0, Instant::now());
    while idle.elapsed() < Duration::from_millis(50) {
        match end.try_write(&[7; 4096]) {
            Ok(count) => (sent, idle) = (sent + count as u64, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                sleep(Duration::from_millis(1)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    sent
}

#[tokio::test]
async fn bytes_and_ends_pass_both_ways_and_are_counted() {
    let setup = Setup::new().await;
    let (mut dialer, mut target) = setup.connect().await;
    dialer.write_all(b"question").await.unwrap();
    hears(&mut target, b"question").await;
    dialer.shutdown().await.unwrap();
    assert_eq!(rest(&mut target).await, b"");
    assert_eq!(setup.proxy.counts().open, 1, "one direction is still open");
    target.write_all(b"answer").await.unwrap();
    drop(target);
    assert_eq!(rest(&mut dialer).await, b"answer");
    until(|| setup.proxy.counts().open == 0).await;
    let counts = setup.proxy.counts();
    assert_eq!((counts.accepted, counts.up.read, counts.up.passed), (1, 8, 8));
    assert_eq!((counts.down.read, counts.down.passed, counts.down.discarded), (6, 6, 0));
}

#[tokio::test]
async fn a_stalled_direction_holds_its_sender_back_and_loses_nothing() {
    let setup = Setup::new().await;
    let (mut dialer, mut target) = setup.connect().await;
    setup.proxy.set(Direction::Up, Way::Stall);
    let sent = fill(&dialer).await;
    let counts = setup.proxy.counts();
    assert_eq!(counts.up.passed, 0);
    assert!(counts.up.read < sent, "it reads on: {counts:?}");
    // The other direction is not concerned.
    target.write_all(b"down").await.unwrap();
    hears(&mut dialer, b"down").await;
    setup.proxy.heal().await;
    dialer.shutdown().await.unwrap();
    assert_eq!(rest(&mut target).await.len() as u64, sent);
}

#[tokio::test]
async fn what_is_swallowed_is_not_missed_by_its_sender_and_its_connection_carries_no_more() {
    let setup = Setup::new().await;
    let (mut dialer, mut target) = setup.connect().await;
    let (mut idle, mut idle_target) = setup.connect().await;
    dialer.write_all(b"before").await.unwrap();
    hears(&mut target, b"before").await;
    setup.proxy.set(Direction::Up, Way::Discard);
    let lost = vec![1; 32 << 20];
    timeout(PATIENCE, dialer.write_all(&lost)).await.expect("it waits").unwrap();
    until(|| setup.proxy.counts().up.discarded == lost.len() as u64).await;
    target.write_all(b"still here").await.unwrap();
    hears(&mut dialer, b"still here").await;
    setup.proxy.heal().await;
    assert_eq!(rest(&mut target).await, b"", "a hole is followed by nothing but the end");
    assert_eq!(rest(&mut dialer).await, b"");
    idle.write_all(b"whole").await.unwrap();
    hears(&mut idle_target, b"whole").await;
}

#[tokio::test]
async fn an_end_that_is_swallowed_leaves_the_other_side_waiting_until_the_network_heals() {
    let setup = Setup::new().await;
    let (dialer, mut target) = setup.connect().await;
    setup.proxy.set_both(Way::Discard);
    drop(dialer);
    let mut byte = [0];
    let waits = timeout(Duration::from_millis(50), target.read(&mut byte)).await;
    assert!(waits.is_err(), "it heard of the end: {waits:?}");
    assert_eq!(setup.proxy.counts().open, 1);
    setup.proxy.heal().await;
    assert_eq!(rest(&mut target).await, b"");
}

#[tokio::test]
async fn an_order_for_one_source_holds_for_its_connections_alone_whatever_holds_for_all() {
    let setup = Setup::new().await;
    let [cut_off, other] = [Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(127, 0, 0, 3)];
    let (mut dialer, mut target) = setup.connect_from(cut_off).await;
    let (mut well, mut well_target) = setup.connect_from(other).await;
    setup.proxy.set_from(cut_off.into(), Direction::Up, Way::Discard);
    // One that comes later is concerned as well.
    let (mut later, mut later_target) = setup.connect_from(cut_off).await;
    for dialer in [&mut dialer, &mut later] {
        dialer.write_all(b"lost").await.unwrap();
    }
    until(|| setup.proxy.counts().up.discarded == 8).await;
    target.write_all(b"the other way").await.unwrap();
    hears(&mut dialer, b"the other way").await;
    well.write_all(b"whole").await.unwrap();
    hears(&mut well_target, b"whole").await;
    // Its own order comes before the one for all.
    setup.proxy.set_both(Way::Stall);
    setup.proxy.set_from(other.into(), Direction::Up, Way::Pass);
    well.write_all(b"on").await.unwrap();
    hears(&mut well_target, b"on").await;
    setup.proxy.heal().await;
    assert_eq!((rest(&mut target).await, rest(&mut later_target).await), (vec![], vec![]));
    let (mut dialer, mut target) = setup.connect_from(cut_off).await;
    dialer.write_all(b"again").await.unwrap();
    hears(&mut target, b"again").await;
}

#[tokio::test]
async fn a_port_that_is_held_for_a_program_is_refused_until_that_listens_on_it() {
    let port = Port::take(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let refused = TcpStream::connect(port.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let listener = TcpListener::bind(port.addr()).await.unwrap();
    let (dialer, accepted) = tokio::join!(TcpStream::connect(port.addr()), listener.accept());
    assert_eq!(dialer.unwrap().local_addr().unwrap(), accepted.unwrap().1);
}

#[tokio::test]
async fn late_bytes_keep_their_order_when_the_delay_shrinks() {
    let setup = Setup::new().await;
    let (mut dialer, mut target) = setup.connect().await;
    let began = Instant::now();
    for (n, late_ms) in [60, 20, 0].into_iter().enumerate() {
        setup.proxy.set(Direction::Up, Way::Delay(Duration::from_millis(late_ms)));
        dialer.write_all(&[n as u8; 100]).await.unwrap();
        until(|| setup.proxy.counts().up.read == 100 * (n as u64 + 1)).await;
    }
    let all: Vec<u8> = (0..3).flat_map(|n| [n; 100]).collect();
    hears(&mut target, &all).await;
    assert!(began.elapsed() >= Duration::from_millis(60), "nothing was late");
}

#[tokio::test]
async fn a_cut_ends_the_present_connections_and_no_later_one() {
    let setup = Setup::new().await;
    let (mut dialer, mut target) = setup.connect().await;
    setup.proxy.cut();
    assert_eq!((rest(&mut dialer).await, rest(&mut target).await), (vec![], vec![]));
    let (mut dialer, mut target) = setup.connect().await;
    dialer.write_all(b"again").await.unwrap();
    hears(&mut target, b"again").await;
}

#[tokio::test]
async fn each_connection_carries_exactly_the_bytes_after_which_it_is_to_end() {
    let setup = Setup::new().await;
    setup.proxy.cut_each_after(Some(40_000));
    for _ in 0..3 {
        let (mut dialer, mut target) = setup.connect().await;
        // It may end in the middle of this.
        let _ = dialer.write_all(&[3; 100_000]).await;
        assert_eq!(rest(&mut target).await.len(), 40_000);
    }
}

#[tokio::test]
async fn who_dials_is_refused_by_the_system_and_let_in_at_the_same_address_later() {
    let setup = Setup::new().await;
    let (mut dialer, _target) = setup.connect().await;
    let addr = setup.proxy.addr();
    setup.proxy.refuse().await;
    assert_eq!(rest(&mut dialer).await, b"");
    let refused = TcpStream::connect(addr).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    setup.proxy.heal().await;
    assert_eq!(setup.proxy.addr(), addr);
    let (mut dialer, mut target) = setup.connect().await;
    dialer.write_all(b"let in").await.unwrap();
    hears(&mut target, b"let in").await;
}

#[tokio::test]
async fn new_connections_go_where_it_points_now() {
    let setup = Setup::new().await;
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    setup.proxy.retarget(other.local_addr().unwrap());
    let (mut dialer, accepted) = tokio::join!(
        async { TcpStream::connect(setup.proxy.addr()).await.unwrap() },
        other.accept()
    );
    dialer.write_all(b"elsewhere").await.unwrap();
    hears(&mut accepted.unwrap().0, b"elsewhere").await;
}

#[tokio::test]
async fn the_end_of_a_proxy_ends_its_connections_and_its_listening() {
    let setup = Setup::new().await;
    let (mut dialer, mut target) = setup.connect().await;
    let addr = setup.proxy.addr();
    drop(setup.proxy);
    assert_eq!((rest(&mut dialer).await, rest(&mut target).await), (vec![], vec![]));
    until(|| std::net::TcpStream::connect(addr).is_err()).await;
}
