//! What a client's message says, in the words of the core, or what is wrong with it. Pure.

use super::PlayRules;
use super::limits::{ACCOUNT_BYTES_MAX, ARGS_BYTES_MAX};
use marchland_baseapp_core::io::ClientEvent;
use marchland_common::order::{EntityId, KindId, SessionId};
use marchland_proto::client::{self as wire, up};

/// Who a client says it is: the first message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstWord {
    /// Somebody new, or somebody who lost everything.
    Login {
        /// The account; 1 to 64 bytes.
        account: String,
        /// What it wants to play; clients may.
        kind: KindId,
        /// How far it wants to see, in millimetres; not negative.
        radius: i32,
    },
    /// Somebody who was here.
    Resume {
        /// The session.
        session: SessionId,
        /// What only it and the base know.
        secret: u64,
        /// The newest answer that it has.
        acknowledged: u64,
        /// How far it wants to see, in millimetres; not negative.
        radius: i32,
    },
}

/// Why a client's message is not taken. It ends the stream and hurts nobody else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unheard {
    /// No message of this place in a stream.
    #[error("{0}")]
    Malformed(&'static str),
    /// A login that this world does not take.
    #[error("{0}")]
    BadLogin(String),
}

/// Reads the first message of a stream.
///
/// # Errors
/// [`Unheard`]: what is wrong with it.
pub fn first_word(rules: &PlayRules, hello: up::What) -> Result<FirstWord, Unheard> {
    match hello {
        up::What::Login(login) => first_login(rules, login),
        up::What::Resume(resume) => Ok(FirstWord::Resume {
            session: SessionId(resume.session),
            secret: resume.secret,
            acknowledged: resume.acknowledged,
            radius: resume.radius.max(0),
        }),
        _ => Err(Unheard::Malformed("the first message must be Login or Resume")),
    }
}

fn first_login(rules: &PlayRules, login: wire::Login) -> Result<FirstWord, Unheard> {
    let wire::Login { account, radius, kind } = login;
    if account.is_empty() || account.len() > ACCOUNT_BYTES_MAX || radius < 0 {
        let text = "an account has 1 to 64 bytes, and a radius is not negative";
        return Err(Unheard::BadLogin(text.to_owned()));
    }
    let declared = rules.kinds.by_name(&kind).map(|k| k.id).filter(|k| (rules.playable)(*k));
    let Some(kind) = declared else {
        return Err(Unheard::BadLogin(format!("clients cannot play `{kind}`")));
    };
    Ok(FirstWord::Login { account, kind, radius })
}

/// Reads any later message of a session that plays an entity of this kind; `KindId(0)` is one that
/// the gateway does not know.
///
/// # Errors
/// [`Unheard`]: what is wrong with it.
pub fn later_word(
    rules: &PlayRules,
    session: SessionId,
    kind: KindId,
    said: Option<up::What>,
) -> Result<ClientEvent, Unheard> {
    Ok(match said {
        Some(up::What::Command(command)) => later_command(rules, session, kind, command)?,
        Some(up::What::Input(input)) if input.payload.len() <= ARGS_BYTES_MAX => {
            ClientEvent::Input { session, payload: input.payload }
        }
        Some(up::What::Acknowledge(a)) => ClientEvent::Acknowledge { session, n: a.n },
        Some(up::What::Logout(_)) => ClientEvent::Logout { session },
        _ => return Err(Unheard::Malformed("a message that makes no sense here")),
    })
}

fn later_command(
    rules: &PlayRules,
    session: SessionId,
    kind: KindId,
    c: wire::Command,
) -> Result<ClientEvent, Unheard> {
    if c.args.len() > ARGS_BYTES_MAX {
        return Err(Unheard::Malformed("arguments over the limit"));
    }
    // An unknown method is refused by the base, in its place in the order.
    let playable = rules.kinds.iter().filter(|k| (rules.playable)(k.id));
    let index =
        playable.filter(|k| kind == KindId(0) || k.id == kind).find_map(|k| k.method(&c.method));
    Ok(ClientEvent::Command {
        session,
        n: c.n,
        entity: EntityId(c.entity),
        method: index.unwrap_or(u8::MAX),
        args: c.args,
        ttl: c.ttl,
        acknowledged: c.acknowledged,
    })
}
