//! Loses what is said to somebody, for drills: all packets of this network namespace to an address
//! go to a card that nobody has. Nothing comes back and nobody is told, as with a broken cable; the
//! other direction is untouched. It needs the right to administer the network.
//!
//! A drill starts it as a container that shares the network of the one that is to be cut off, and
//! holds its standard input: `lose ADDRESS` and `heal ADDRESS`, a line each, are answered with a
//! line each. When there is no more input everything is healed, whatever ended the drill.

mod netlink;

use crate::exit::{Failure, NOT_FOUND, REFUSED, USAGE};
use crate::verbs::print_line;
use netlink::{Change, change};
use std::collections::BTreeSet;
use std::io::{BufRead, ErrorKind};
use std::net::Ipv4Addr;

/// The routes of this network namespace.
const ROUTES: &str = "/proc/net/route";
/// The answer when something was done.
pub(crate) const DONE: &str = "done";
/// The order to lose what is said to an address.
pub(crate) const LOSE: &str = "lose";
/// The order to let it come through again.
pub(crate) const HEAL: &str = "heal";

pub(crate) fn run() -> Result<u8, Failure> {
    let mut lost = BTreeSet::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match obey(&line, &mut lost) {
            Ok(()) => print_line(DONE),
            Err(failure) => print_line(&failure.to_string().replace('\n', ";")),
        }
    }
    // One that cannot be healed keeps no other from it.
    let healed: Vec<_> = lost.into_iter().map(|peer| alter(Change::Forget, peer)).collect();
    healed.into_iter().collect::<Result<(), Failure>>().map(|()| 0)
}

fn obey(line: &str, lost: &mut BTreeSet<Ipv4Addr>) -> Result<(), Failure> {
    let (order, peer) = line.trim().split_once(' ').unwrap_or_default();
    let peer: Ipv4Addr =
        peer.parse().map_err(|_| Failure::usage(format!("`{line}` names no IPv4 address")))?;
    match order {
        LOSE => {
            // Noted first: what cannot be told is undone as well.
            lost.insert(peer);
            alter(Change::Void, peer)
        }
        HEAL => {
            alter(Change::Forget, peer)?;
            lost.remove(&peer);
            Ok(())
        }
        _ => Err(Failure::new(USAGE, format!("`{line}` is no order: write `{LOSE}` or `{HEAL}`"))),
    }
}

fn alter(wanted: Change, peer: Ipv4Addr) -> Result<(), Failure> {
    let routes = std::fs::read_to_string(ROUTES)
        .map_err(|e| Failure::internal(format!("cannot read {ROUTES}: {e}")))?;
    let interface = towards(&routes, peer).ok_or_else(|| {
        let text = format!("{peer} is no neighbour: no interface is on its network");
        Failure::new(NOT_FOUND, text).hint("only what is said to neighbours can be lost")
    })?;
    change(wanted, interface, peer).map_err(|e| refused(peer, &e))
}

fn refused(peer: Ipv4Addr, error: &std::io::Error) -> Failure {
    let text = format!("cannot change where packets to {peer} go: {error}");
    match error.kind() {
        ErrorKind::PermissionDenied => Failure::new(REFUSED, text)
            .hint("it needs CAP_NET_ADMIN, as `docker run --user 0 --cap-add NET_ADMIN` gives"),
        _ => Failure::internal(text),
    }
}

/// The interface on whose network an address is, without a gateway: of several the narrowest.
fn towards(routes: &str, peer: Ipv4Addr) -> Option<&str> {
    // Addresses are written as the machine's words, which hold them in the network's order.
    let word = |text: &str| {
        u32::from_str_radix(text, 16).ok().map(|w| u32::from_be_bytes(w.to_ne_bytes()))
    };
    let fitting = routes.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let &[interface, network, gateway, _, _, _, _, mask, ..] = columns.as_slice() else {
            return None;
        };
        let (network, gateway, mask) = (word(network)?, word(gateway)?, word(mask)?);
        let fits = gateway == 0 && mask != 0 && u32::from(peer) & mask == network;
        fits.then_some((mask, interface))
    });
    fitting.max_by_key(|(mask, _)| *mask).map(|(_, interface)| interface)
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const OF_A_CONTAINER: &str = "\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010012AC	0003	0	0	0	00000000	0	0	0
eth0	000012AC	00000000	0001	0	0	0	0000FFFF	0	0	0
eth1	000312AC	00000000	0001	0	0	0	00FFFFFF	0	0	0
";

    #[test]
    fn what_is_no_order_is_refused_with_a_word_and_changes_nothing() {
        let mut lost = BTreeSet::new();
        for line in ["", "lose", "lose somebody", "drop 10.0.0.1", "lose ::1"] {
            assert!(obey(line, &mut lost).is_err_and(|failure| failure.code == USAGE), "{line}");
        }
        assert!(lost.is_empty());
    }

    #[test]
    fn an_address_is_reached_by_the_narrowest_network_that_it_is_on() {
        let towards = |last: [u8; 2]| towards(OF_A_CONTAINER, [172, 18, last[0], last[1]].into());
        assert_eq!((towards([0, 5]), towards([3, 5])), (Some("eth0"), Some("eth1")));
        assert_eq!(super::towards(OF_A_CONTAINER, [10, 0, 0, 1].into()), None, "by a gateway only");
    }
}
