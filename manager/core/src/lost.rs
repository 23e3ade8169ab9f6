//! Lost keepers of slots, and how it goes with what they kept, in words.

use marchland_common::order::{Incarnation, Node, NodeName};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A baseapp that is lost for good, as far as anybody can tell, and still keeps slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Its name.
    pub name: NodeName,
    /// The life that wrote to its log last, if that is known.
    pub life: Option<Incarnation>,
    /// The folder of its log, if that is known.
    pub folder: Option<String>,
    /// How many slots it keeps.
    pub slots: usize,
    /// How it goes with them.
    pub state: LostState,
}

/// How it goes with the slots of a lost baseapp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LostState {
    /// Nobody knows where its log is.
    NoLog,
    /// There is no verdict about its last life yet.
    NotDead,
    /// Nobody is there who could take them over.
    NoTaker,
    /// This one is asked to take them over, and has not said anything of it yet.
    Asked(Node),
    /// They are being taken over.
    Taken(Node),
    /// These refused, for their reasons, and are asked again.
    Refused(Vec<(Node, String)>),
}

impl Lost {
    /// How it goes with the slots, in one word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self.state {
            LostState::NoLog => "no-log",
            LostState::NotDead => "no-verdict",
            LostState::NoTaker => "no-taker",
            LostState::Asked(_) => "asked",
            LostState::Taken(_) => "taken-over",
            LostState::Refused(_) => "refused",
        }
    }

    /// Why they wait, if they do, and what to do about it.
    #[must_use]
    pub fn reason(&self) -> String {
        match &self.state {
            LostState::NoLog => {
                "nobody knows where its log is: start it again where its log is".to_owned()
            }
            LostState::NotDead => {
                "it was not given up: somebody still hears it, or many are lost at once".to_owned()
            }
            LostState::NoTaker => {
                "no other baseapp serves that could take them over: start one that sees its log, or \
                 start it again"
                    .to_owned()
            }
            LostState::Asked(taker) => format!("{} is asked to take them over", taker.name),
            LostState::Taken(_) => String::new(),
            LostState::Refused(all) => {
                let each: Vec<String> =
                    all.iter().map(|(node, why)| format!("{} says: {why}", node.name)).collect();
                each.join("; ")
            }
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, slots, .. } = self;
        match (&self.state, self.life) {
            (LostState::Taken(taker), Some(life)) => {
                let taker = taker.name;
                write!(f, "{taker} takes over {slots} slots of {name}@{life}, which is lost")
            }
            (_, Some(life)) => {
                write!(f, "{slots} slots wait for {name}@{life}, which is lost: {}", self.reason())
            }
            (_, None) => {
                write!(f, "{slots} slots wait for {name}, which is lost: {}", self.reason())
            }
        }
    }
}
