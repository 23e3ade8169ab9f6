//! Greetings, frames and acknowledgements between the wire's types and the link machine's, and the
//! padding that keeps every message above the size that an HTTP/2 stack takes for an attack.

use super::config::MESSAGE_BYTES_MIN;
use super::packet::Packet;
use bytes::Bytes;
use marchland_common::link::{
    Ack, ChannelId, Frame, Generation, Hello, HelloRefusal, Resume, Welcome,
};
use marchland_common::order::{Seq, Tick};
use marchland_proto::convert::{BadMessage, node_from_wire, node_to_wire};
use marchland_proto::link as wire;
use marchland_proto::link::{down, up};
use prost::Message;

/// Zeros to pad with.
static ZEROS: [u8; MESSAGE_BYTES_MIN] = [0; MESSAGE_BYTES_MIN];

fn padding_for(len: usize) -> Bytes {
    Bytes::from_static(&ZEROS[..MESSAGE_BYTES_MIN.saturating_sub(len)])
}

pub(super) fn pad_up(what: up::What) -> wire::Up {
    let mut up = wire::Up { what: Some(what), padding: Bytes::new() };
    up.padding = padding_for(up.encoded_len());
    up
}

pub(super) fn pad_down(what: down::What) -> wire::Down {
    let mut down = wire::Down { what: Some(what), padding: Bytes::new() };
    down.padding = padding_for(down.encoded_len());
    down
}

const fn resume_to_wire(resume: Resume) -> wire::Resume {
    wire::Resume {
        sending: resume.sending.0,
        receiving: resume.receiving.0,
        last_received: resume.last_received.0,
    }
}

fn resume_from_wire(resume: Option<wire::Resume>) -> Result<Resume, BadMessage> {
    let resume = resume.ok_or(BadMessage::Missing("resume"))?;
    Ok(Resume {
        sending: Generation(resume.sending),
        receiving: Generation(resume.receiving),
        last_received: Seq(resume.last_received),
    })
}

pub(super) fn hello_to_wire(hello: &Hello) -> wire::Up {
    pad_up(up::What::Hello(wire::Hello {
        cluster: hello.cluster,
        proto_min: hello.proto_min,
        proto_max: hello.proto_max,
        schema_hash: hello.schema_hash,
        from: Some(node_to_wire(hello.from)),
        to: Some(node_to_wire(hello.to)),
        channel: hello.channel.0.into(),
        resume: Some(resume_to_wire(hello.resume)),
    }))
}

pub(super) fn hello_from_wire(hello: wire::Hello) -> Result<Hello, BadMessage> {
    let channel = u8::try_from(hello.channel).map_err(|_| BadMessage::Range("hello.channel"))?;
    Ok(Hello {
        cluster: hello.cluster,
        proto_min: hello.proto_min,
        proto_max: hello.proto_max,
        schema_hash: hello.schema_hash,
        from: node_from_wire(hello.from)?,
        to: node_from_wire(hello.to)?,
        channel: ChannelId(channel),
        resume: resume_from_wire(hello.resume)?,
    })
}

pub(super) fn welcome_to_wire(welcome: &Welcome) -> wire::Down {
    pad_down(down::What::Welcome(wire::Welcome {
        proto: welcome.proto,
        schema_hash: welcome.schema_hash,
        resume: Some(resume_to_wire(welcome.resume)),
    }))
}

pub(super) fn welcome_from_wire(welcome: wire::Welcome) -> Result<Welcome, BadMessage> {
    Ok(Welcome {
        proto: welcome.proto,
        schema_hash: welcome.schema_hash,
        resume: resume_from_wire(welcome.resume)?,
    })
}

pub(super) fn refusal_to_wire(refusal: &HelloRefusal) -> wire::Down {
    pad_down(down::What::Refusal(wire::Refusal {
        code: refusal.code().to_owned(),
        message: refusal.to_string(),
        may_retry: refusal.may_retry(),
    }))
}

pub(super) fn ack_to_wire(ack: Ack) -> wire::Down {
    pad_down(down::What::Ack(wire::Ack { generation: ack.generation.0, seq: ack.seq.0 }))
}

pub(super) const fn ack_from_wire(ack: wire::Ack) -> Ack {
    Ack { generation: Generation(ack.generation), seq: Seq(ack.seq) }
}

pub(super) fn frame_to_wire(frame: Frame<Packet>, phase_us: i32) -> wire::Up {
    pad_up(up::What::Frame(wire::Frame {
        generation: frame.generation.0,
        seq: frame.seq.0,
        phase_us,
        body: frame.payload.body,
        more: frame.payload.more,
    }))
}

pub(super) fn frame_from_wire(frame: wire::Frame, arrived_ns: u64) -> Frame<Packet> {
    let payload = Packet {
        body: frame.body,
        more: frame.more,
        tick: Tick(0),
        phase_us: frame.phase_us,
        arrived_ns,
    };
    Frame { generation: Generation(frame.generation), seq: Seq(frame.seq), payload }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use marchland_common::link::{Direction, LinkLimits, Links, LocalIdentity};
    use marchland_common::order::{Node, NodeKind};
    use marchland_fuzz::{damaged, each_round, mutate_fields, pick};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn hello(channel: u8) -> Hello {
        let resume =
            Resume { sending: Generation(1), receiving: Generation(2), last_received: Seq(3) };
        Hello {
            cluster: 7,
            proto_min: 1,
            proto_max: 2,
            schema_hash: 9,
            from: Node::new(NodeKind::Cell, 1, 11),
            to: Node::new(NodeKind::Base, 2, 12),
            channel: ChannelId(channel),
            resume,
        }
    }

    #[test]
    fn greetings_come_back_equal() {
        let Some(up::What::Hello(sent)) = hello_to_wire(&hello(1)).what else { panic!() };
        assert_eq!(hello_from_wire(sent), Ok(hello(1)));
        let far = wire::Hello { channel: 300, ..sent };
        assert_eq!(hello_from_wire(far), Err(BadMessage::Range("hello.channel")));
        let nowhere = wire::Hello { resume: None, ..sent };
        assert_eq!(hello_from_wire(nowhere), Err(BadMessage::Missing("resume")));
        let welcome = Welcome { proto: 1, schema_hash: 2, resume: hello(0).resume };
        let Some(down::What::Welcome(sent)) = welcome_to_wire(&welcome).what else { panic!() };
        assert_eq!(welcome_from_wire(sent), Ok(welcome));
    }

    /// Of a peer that was never here.
    fn first(channel: u8) -> Hello {
        Hello { resume: Resume::default(), ..hello(channel) }
    }

    /// What a peer says first, and what follows it.
    fn ups() -> Vec<Vec<u8>> {
        let frame = |seq, body: &'static [u8]| {
            let payload = Packet::outgoing(Bytes::from_static(body), seq % 2 == 0, Tick(7));
            Frame { generation: Generation(0), seq: Seq(seq), payload }
        };
        let frames = (1..9).map(|seq| frame_to_wire(frame(seq, b"a part of a bundle"), -3));
        let hellos = (0..2).map(|channel| hello_to_wire(&first(channel)));
        frames.chain(hellos).map(|up| up.encode_to_vec()).collect()
    }

    #[test]
    fn damaged_greetings_and_frames_are_read_or_refused_and_leave_the_links_in_order() {
        let local = LocalIdentity {
            cluster: 7,
            proto_min: 1,
            proto_max: 2,
            schema_hash: 9,
            node: Node::new(NodeKind::Base, 2, 12),
        };
        let channels = [ChannelId(0), ChannelId(1)].map(|id| (id, LinkLimits::ORDERED));
        let ups = ups();
        let (mut greeted, mut arrived) = (0, 0);
        each_round("greetings", 2_000, |rng| {
            let mut links = Links::new(local.clone(), BTreeMap::from(channels));
            let mut connected = None;
            for n in 0..12 {
                let (whole, other) = (pick(rng, &ups), pick(rng, &ups));
                let bytes = match rng.below(4) {
                    _ if n == 0 => hello_to_wire(&first(1)).encode_to_vec(),
                    0 => whole.clone(),
                    1 => damaged(rng, whole, other),
                    _ => mutate_fields(rng, whole, other),
                };
                let Ok(up) = wire::Up::decode(Bytes::from(bytes)) else { continue };
                match up.what {
                    Some(up::What::Hello(said)) => {
                        let Ok(hello) = hello_from_wire(said) else { continue };
                        let Some(up::What::Hello(again)) = hello_to_wire(&hello).what else {
                            panic!("a greeting")
                        };
                        assert_eq!(hello_from_wire(again).as_ref(), Ok(&hello));
                        if let Ok(accepted) = links.on_hello(&hello) {
                            connected = Some((hello.from, hello.channel, accepted.connection));
                            greeted += 1;
                        }
                    }
                    Some(up::What::Frame(said)) => {
                        let Some((from, channel, connection)) = connected else { continue };
                        let Some(machine) = links.get(from, channel, Direction::Incoming) else {
                            continue;
                        };
                        arrived += u32::from(
                            machine.on_frame(connection, frame_from_wire(said, 1)).is_ok(),
                        );
                        let (items, bytes) = machine.waiting();
                        let limits = LinkLimits::ORDERED;
                        assert!(items <= limits.hard_items && bytes <= limits.hard_bytes);
                        while machine.pop().is_some() {}
                    }
                    None => {}
                }
            }
        });
        assert!(greeted > 2_000 && arrived > 1_000, "{greeted} greeted, {arrived} arrived");
    }

    proptest! {
        #[test]
        fn no_message_is_smaller_than_what_is_taken_for_an_attack(
            len in 0usize..600,
            seq in any::<u64>(),
        ) {
            let body = Bytes::from(vec![1; len]);
            let payload = Packet::outgoing(body, false, Tick(0));
            let frame = Frame { generation: Generation(0), seq: Seq(seq), payload };
            let up = frame_to_wire(frame, -5);
            prop_assert!(up.encoded_len() >= MESSAGE_BYTES_MIN);
            prop_assert!(up.encoded_len() <= MESSAGE_BYTES_MIN.max(len + 40) + 4);
            let down = ack_to_wire(Ack { generation: Generation(0), seq: Seq(seq) });
            prop_assert!(down.encoded_len() >= MESSAGE_BYTES_MIN);
        }
    }
}
