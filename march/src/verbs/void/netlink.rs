//! What is said to the kernel about neighbours: one request, one answer. Numbers are in the
//! machine's byte order, as netlink has them.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, recv, sendto,
    socket_with,
};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// `RTM_NEWNEIGH`: enters a neighbour.
const ENTER: u16 = 28;
/// `RTM_DELNEIGH`: forgets one.
const FORGET: u16 = 29;
/// `NLM_F_REQUEST | NLM_F_ACK`: it is to be answered.
const ASKED: u16 = 0x0001 | 0x0004;
/// `NLM_F_REPLACE | NLM_F_CREATE`: whatever was known before.
const ANYHOW: u16 = 0x0100 | 0x0400;
/// `NLMSG_ERROR`: the answer, which says 0 if all went well.
const ANSWER: u16 = 2;
/// `AF_INET`.
const INET: u8 = 2;
/// `NUD_PERMANENT`: nobody is asked whether it is still so.
const PERMANENT: u16 = 0x80;
/// `NDA_DST` and `NDA_LLADDR`: the address of a neighbour, and that of its card.
const ADDRESS: u16 = 1;
const CARD: u16 = 2;
/// A card that nobody has: it is of those that everybody may give himself.
const NOBODY: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
/// How long the head of a request is, and of what it says of a neighbour.
const HEAD_BYTES: usize = 16;

/// What becomes of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Everything for it goes to a card that nobody has.
    Void,
    /// It is asked for anew.
    Forget,
}

/// Changes what this network namespace knows of a neighbour at an interface.
pub(super) fn change(change: Change, interface: &str, peer: Ipv4Addr) -> io::Result<()> {
    let family = AddressFamily::NETLINK;
    // Its first protocol is that of routes and neighbours.
    let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let ask = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let interface = netdevice::name_to_index(&ask, interface)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request(change, interface, peer), SendFlags::empty(), &kernel)?;
    match answer(&socket)? {
        // It is not known anyway.
        Some(error) if change == Change::Forget && error.kind() == io::ErrorKind::NotFound => {
            Ok(())
        }
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn request(change: Change, interface: u32, peer: Ipv4Addr) -> Vec<u8> {
    let (kind, flags) = match change {
        Change::Void => (ENTER, ASKED | ANYHOW),
        Change::Forget => (FORGET, ASKED),
    };
    let mut body = vec![INET, 0, 0, 0];
    body.extend(interface.to_ne_bytes());
    body.extend(PERMANENT.to_ne_bytes());
    body.extend([0, 0]);
    attribute(&mut body, ADDRESS, &peer.octets());
    if change == Change::Void {
        attribute(&mut body, CARD, &NOBODY);
    }
    let bytes = (HEAD_BYTES + body.len()) as u32;
    let mut all = bytes.to_ne_bytes().to_vec();
    all.extend([kind, flags].map(u16::to_ne_bytes).concat());
    // Number and sender: there is one request, and the kernel knows whose.
    all.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    all.extend(body);
    all
}

/// Each is as long as it says, and fills whole words.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let bytes = (4 + value.len()) as u16;
    body.extend([bytes, kind].map(u16::to_ne_bytes).concat());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The kernel's answer: none if it did it.
fn answer(socket: &OwnedFd) -> io::Result<Option<io::Error>> {
    let mut bytes = [0_u8; 1024];
    let (got, _) = recv(socket, &mut bytes[..], RecvFlags::empty())?;
    read(&bytes[..got])
}

fn read(answer: &[u8]) -> io::Result<Option<io::Error>> {
    let nonsense = || io::Error::new(io::ErrorKind::InvalidData, "the kernel said something else");
    let kind = answer.get(4..6).and_then(|b| b.try_into().ok()).map(u16::from_ne_bytes);
    let said = answer.get(HEAD_BYTES..HEAD_BYTES + 4).and_then(|b| b.try_into().ok());
    match (kind, said.map(i32::from_ne_bytes)) {
        (Some(ANSWER), Some(0)) => Ok(None),
        (Some(ANSWER), Some(said)) => Ok(Some(io::Error::from_raw_os_error(-said))),
        _ => Err(nonsense()),
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PEER: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 5);

    #[test]
    fn a_request_is_what_ip_neigh_says() {
        // As seen with strace of `ip neigh replace 172.18.0.5 lladdr 02:00:00:00:00:01 nud
        // permanent dev eth0`, and of `ip neigh del`.
        let head = [48, 0, 0, 0, 28, 0, 5, 5, 1, 0, 0, 0, 0, 0, 0, 0];
        let neighbour = [2, 0, 0, 0, 7, 0, 0, 0, 0x80, 0, 0, 0];
        let address = [8, 0, 1, 0, 172, 18, 0, 5];
        let card = [10, 0, 2, 0, 2, 0, 0, 0, 0, 1, 0, 0];
        let all = [head.as_slice(), &neighbour, &address, &card].concat();
        assert_eq!(request(Change::Void, 7, PEER), all);
        let head = [36, 0, 0, 0, 29, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        let all = [head.as_slice(), &neighbour, &address].concat();
        assert_eq!(request(Change::Forget, 7, PEER), all);
    }

    #[test]
    fn an_answer_is_done_or_why_not_and_anything_else_is_nonsense() {
        let answer = |kind: u16, said: i32| {
            let mut bytes = vec![36, 0, 0, 0];
            bytes.extend(kind.to_ne_bytes());
            bytes.extend([0; 10]);
            bytes.extend(said.to_ne_bytes());
            bytes
        };
        assert!(read(&answer(2, 0)).unwrap().is_none());
        let refused = read(&answer(2, -1)).unwrap().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(read(&answer(3, 0)).is_err() && read(&answer(2, 0)[..18]).is_err());
    }
}
