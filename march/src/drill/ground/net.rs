//! The network of a cluster under drill: before each cellapp and baseapp stands a proxy, and each
//! dials from an address of its own, so that a proxy knows whose bytes it has.
//!
//! ```text
//!  cell-1 dials from 127.0.0.11 ---> proxy of cell-2 ---> cell-2 dials from 127.0.0.12
//!         ^------------------------- proxy of cell-1 <---'
//! ```
//!
//! What one says to another goes up through the other's proxy on the connections that it dialed, and
//! down through its own on those that the other dialed.

use crate::demo::{Door, Doors};
use crate::exit::{Failure, NOT_FOUND};
use marchland_chaos::{Direction, Port, Proxy, Way};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The first address that one dials from; the next one has the next.
const FIRST: u8 = 11;

struct Host {
    /// Where it listens itself: nobody else is given that port before it does.
    held: Port,
    dials_from: IpAddr,
    proxy: Proxy,
}

/// The proxies; they end with it.
pub(in crate::drill) struct Net(BTreeMap<String, Host>);

impl Net {
    /// Proxies before the processes of these names, which are not started yet.
    pub(super) fn before(names: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let hosts = names.into_iter().zip(FIRST..).map(|(name, last)| Ok((name, Host::new(last)?)));
        let hosts: std::io::Result<_> = hosts.collect();
        hosts.map(Self).map_err(|e| Failure::internal(format!("there is no port to be had: {e}")))
    }

    /// Where its processes listen, are reached, and dial from.
    pub(super) fn doors(&self) -> Doors {
        self.0.iter().map(|(name, host)| (name.clone(), host.door())).collect()
    }

    /// What happens from now on to everything that one says to another.
    pub(in crate::drill) fn way(&self, from: &str, to: &str, way: Way) -> Result<(), Failure> {
        let (sender, receiver) = (self.host(from)?, self.host(to)?);
        receiver.proxy.set_from(sender.dials_from, Direction::Up, way);
        sender.proxy.set_from(receiver.dials_from, Direction::Down, way);
        Ok(())
    }

    /// What happens from now on to everything that any of them says to one.
    pub(in crate::drill) fn way_to(&self, to: &str, way: Way) -> Result<(), Failure> {
        let mut others = self.0.keys().filter(|name| *name != to);
        others.try_for_each(|from| self.way(from, to, way))
    }

    /// Everything passes again.
    pub(in crate::drill) async fn heal(&self) {
        for host in self.0.values() {
            host.proxy.heal().await;
        }
    }

    fn host(&self, name: &str) -> Result<&Host, Failure> {
        let text = || format!("there is no proxy before {name}");
        self.0.get(name).ok_or_else(|| Failure::new(NOT_FOUND, text()))
    }
}

impl Host {
    fn new(last: u8) -> std::io::Result<Self> {
        let held = Port::take(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let proxy = Proxy::to(held.addr())?;
        let dials_from = IpAddr::from(Ipv4Addr::new(127, 0, 0, last));
        Ok(Self { held, dials_from, proxy })
    }

    fn door(&self) -> Door {
        Door { listen: self.held.addr(), advertise: self.proxy.addr(), dial_from: self.dials_from }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket, TcpStream};
    use tokio::time::timeout;

    /// Longer than any machine takes; what is not there by then is lost.
    const PATIENCE: Duration = Duration::from_secs(60);
    /// What is to be lost is awaited for so long.
    const LOST_AFTER: Duration = Duration::from_millis(30);

    /// The two ends of a connection that one dials to another.
    async fn connect(from: &Door, to: &Door, listener: &TcpListener) -> [TcpStream; 2] {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from.dial_from, 0)).unwrap();
        let (dialed, accepted) = tokio::join!(socket.connect(to.advertise), listener.accept());
        [dialed.unwrap(), accepted.unwrap().0]
    }

    async fn arrives(from: &mut TcpStream, to: &mut TcpStream, within: Duration) -> bool {
        from.write_all(b"x").await.unwrap();
        matches!(timeout(within, to.read_exact(&mut [0])).await, Ok(Ok(_)))
    }

    #[tokio::test]
    async fn a_way_is_that_of_what_one_says_to_the_other_whoever_of_them_dialed() {
        let net = Net::before(["a", "b", "c"].map(str::to_owned)).unwrap();
        let doors = net.doors();
        let [a, b, c] = ["a", "b", "c"].map(|name| doors[name]);
        let at_a = TcpListener::bind(a.listen).await.unwrap();
        let at_b = TcpListener::bind(b.listen).await.unwrap();
        let [mut a_of_ab, mut b_of_ab] = connect(&a, &b, &at_b).await;
        let [mut b_of_ba, mut a_of_ba] = connect(&b, &a, &at_a).await;
        let [mut c_of_cb, mut b_of_cb] = connect(&c, &b, &at_b).await;
        net.way("a", "b", Way::Discard).unwrap();
        assert!(!arrives(&mut a_of_ab, &mut b_of_ab, LOST_AFTER).await);
        assert!(!arrives(&mut a_of_ba, &mut b_of_ba, LOST_AFTER).await);
        assert!(arrives(&mut b_of_ab, &mut a_of_ab, PATIENCE).await, "the other way");
        assert!(arrives(&mut b_of_ba, &mut a_of_ba, PATIENCE).await, "the other way");
        assert!(arrives(&mut c_of_cb, &mut b_of_cb, PATIENCE).await, "somebody else");
        net.heal().await;
        let [mut a_of_ab, mut b_of_ab] = connect(&a, &b, &at_b).await;
        assert!(arrives(&mut a_of_ab, &mut b_of_ab, PATIENCE).await, "healed");
        net.way_to("b", Way::Discard).unwrap();
        assert!(!arrives(&mut a_of_ab, &mut b_of_ab, LOST_AFTER).await);
        assert!(!arrives(&mut c_of_cb, &mut b_of_cb, LOST_AFTER).await);
        assert!(arrives(&mut b_of_cb, &mut c_of_cb, PATIENCE).await, "what it says itself");
        assert!(net.way("a", "nobody", Way::Pass).is_err());
    }
}
