//! What entities of the Frontier tell each other, and what clients may ask of an avatar.

use marchland_common::order::EntityId;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A message between entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// A wound; at most 50.
    Hurt {
        /// By how much health falls.
        amount: u32,
    },
    /// Gold, in the message's value.
    Gift,
    /// A howl, heard far and wide; a signal.
    Howl,
    /// Words spoken nearby; a signal.
    Speech,
}

/// A client's command: the arguments of the avatar's methods, by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// Hurts somebody within reach.
    Attack(EntityId),
    /// Gives gold to somebody in sight.
    Give(EntityId, u32),
    /// Starts to heal over time.
    Heal,
    /// Goes through the portal.
    Portal,
    /// Writes into the diary, at most 1,000 bytes.
    Write(Vec<u8>),
    /// Says something to all within earshot.
    Say(Vec<u8>),
    /// Asks for a report that takes a while.
    Scout,
}

impl Method {
    /// The method's name, as the kind declares it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Attack(_) => "attack",
            Self::Give(..) => "give",
            Self::Heal => "heal",
            Self::Portal => "portal",
            Self::Write(_) => "write",
            Self::Say(_) => "say",
            Self::Scout => "scout",
        }
    }

    /// The encoded arguments.
    #[must_use]
    pub fn args(&self) -> Vec<u8> {
        match self {
            Self::Attack(target) => encode(target),
            Self::Give(target, amount) => encode(&(*target, *amount)),
            Self::Write(text) | Self::Say(text) => encode(text),
            Self::Heal | Self::Portal | Self::Scout => Vec::new(),
        }
    }

    /// Reads a call; none when the method is not one of these or the arguments do not decode.
    #[must_use]
    pub fn read(index: u8, args: &[u8]) -> Option<Self> {
        Some(match index {
            0 => Self::Attack(decode(args)?),
            1 => {
                let (target, amount) = decode(args)?;
                Self::Give(target, amount)
            }
            2 if args.is_empty() => Self::Heal,
            3 if args.is_empty() => Self::Portal,
            4 => Self::Write(decode(args)?),
            5 => Self::Say(decode(args)?),
            6 if args.is_empty() => Self::Scout,
            _ => return None,
        })
    }
}

/// The world's own encoding.
#[must_use]
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("derived serializers of plain values do not fail")
}

/// Reads the world's own encoding, whole; none for anything else.
#[must_use]
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}
