//! Between the client's wire and the core's words.

use marchland_baseapp_core::io::ClientFrame;
use marchland_common::order::{KindId, SessionId};
use marchland_common::world::{CommandOutcome, Rejection, Value};
use marchland_proto::client::{self as wire, Down, down};

/// Fills a frame up: many tiny ones would end the connection.
const FRAME_BYTES_MIN: usize = 256;

pub(super) fn down(what: down::What) -> Down {
    use prost::Message;
    let mut down = Down { what: Some(what), padding: bytes::Bytes::new() };
    let len = down.encoded_len();
    if len < FRAME_BYTES_MIN {
        // The field's own tag and length take up to three bytes.
        down.padding = vec![0; FRAME_BYTES_MIN - len].into();
    }
    down
}

pub(super) fn refused(code: &str, message: impl Into<String>) -> Down {
    let (code, message) = (code.to_owned(), message.into());
    down(down::What::Refused(wire::Refused { code, message }))
}

pub(super) fn redirect(address: String) -> Down {
    down(down::What::Redirect(wire::Redirect { address }))
}

pub(super) fn ended(reason: &str) -> Down {
    down(down::What::Ended(wire::Ended { reason: reason.to_owned() }))
}

/// What a welcome says besides what the core knows.
#[derive(Clone, Copy, Default)]
pub(super) struct Setting {
    pub(super) tick: u64,
    pub(super) step_us: u32,
    pub(super) kind: KindId,
}

/// What the core tells a client, on the wire.
pub(super) fn frame(session: SessionId, what: ClientFrame, setting: Setting) -> Down {
    let Setting { tick, step_us, kind } = setting;
    down(match what {
        ClientFrame::Welcome { entity, secret, resumed, last_n, .. } => {
            down::What::Welcome(wire::Welcome {
                session: session.0,
                secret,
                entity: entity.0,
                resumed,
                last_n,
                tick,
                step_us,
                kind: kind.0.into(),
            })
        }
        ClientFrame::Refused { reason, .. } => {
            down::What::Refused(wire::Refused { code: "refused".to_owned(), message: reason })
        }
        ClientFrame::Answer { n, outcome, confirmed } => down::What::Answer(wire::Answer {
            n,
            outcome: Some(outcome_to_wire(outcome)),
            epoch: confirmed.map(|(epoch, _)| epoch.0),
            seq: confirmed.map(|(_, seq)| seq.0),
        }),
        ClientFrame::View { epoch, tick, fresh, body } => {
            down::What::View(wire::View { epoch: epoch.0, tick: tick.0, fresh, body })
        }
        ClientFrame::Reset { epoch, seq } => {
            down::What::Reset(wire::Reset { epoch: epoch.0, seq: seq.0 })
        }
        ClientFrame::Own { epoch, seq, props } => down::What::Own(wire::Own {
            epoch: epoch.0,
            seq: seq.0,
            props: props.into_iter().map(prop_to_wire).collect(),
        }),
        ClientFrame::Notice(payload) => down::What::Notice(wire::Notice { payload }),
        ClientFrame::Ended { reason } => down::What::Ended(wire::Ended { reason }),
        ClientFrame::NotYet { reason, .. } => {
            down::What::Refused(wire::Refused { code: "not-yet".to_owned(), message: reason })
        }
        // It comes back, to whichever gateway, and is sent on: whoever knows its keeper says more.
        ClientFrame::Moved => down::What::Ended(wire::Ended { reason: "draining".to_owned() }),
    })
}

fn prop_to_wire((index, value): (u8, Value)) -> wire::Prop {
    let value = match value {
        Value::Int(number) => wire::prop::Value::Number(number),
        Value::Bytes(data) => wire::prop::Value::Data(data.into()),
    };
    wire::Prop { index: index.into(), value: Some(value) }
}

fn outcome_to_wire(outcome: CommandOutcome) -> wire::answer::Outcome {
    match outcome {
        CommandOutcome::Applied(reply) => wire::answer::Outcome::Applied(reply.into()),
        CommandOutcome::Expired => wire::answer::Outcome::Expired(wire::Expired {}),
        CommandOutcome::Rejected(why) => {
            let (code, message) = rejection(why);
            wire::answer::Outcome::Rejected(wire::Rejected { code: code.to_owned(), message })
        }
    }
}

/// The stable word and the text of a rejection.
pub(super) fn rejection(why: Rejection) -> (&'static str, String) {
    match why {
        Rejection::NotExposed => ("not-exposed", "the entity has no such method".to_owned()),
        Rejection::BadArguments => ("bad-arguments", "the arguments do not decode".to_owned()),
        Rejection::Busy => ("busy", "too much waits here; try again".to_owned()),
        Rejection::TooLarge { limit, size } => {
            ("too-large", format!("{size} bytes are over the limit of {limit}"))
        }
        Rejection::NotYours => ("not-yours", "the session does not play that entity".to_owned()),
        Rejection::NoSuchEntity => ("no-such-entity", "the entity does not exist".to_owned()),
        Rejection::TooOld => ("too-old", "it came too late".to_owned()),
        Rejection::Rule(text) => ("rule", text),
    }
}
