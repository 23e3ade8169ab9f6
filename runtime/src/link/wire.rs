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
    use marchland_common::order::{Node, NodeKind};
    use proptest::prelude::*;

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
