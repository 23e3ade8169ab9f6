//! What an entity kind declares: its properties, who may see them, how long they last, and the
//! methods that clients may call.

use super::Value;
use crate::order::KindId;
use serde::{Deserialize, Serialize};

/// Who sees a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// The real alone.
    Private,
    /// The real and its ghosts.
    Ghosted,
    /// The real and the client that plays the entity.
    OwnClient,
    /// The real, its ghosts and every client that sees the entity.
    AllClients,
}

impl Scope {
    /// Whether ghosts carry it.
    #[must_use]
    pub const fn is_ghosted(self) -> bool {
        matches!(self, Self::Ghosted | Self::AllClients)
    }
}

/// What survives the loss of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lasting {
    /// In every step in which it changed, and part of the digest chain.
    Durable,
    /// Rides along at a lower rate and in every handoff; may be that much older after a crash.
    Volatile,
}

/// One property of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropDef {
    /// Its name, unique in its kind.
    pub name: String,
    /// Who sees it.
    pub scope: Scope,
    /// What survives.
    pub lasting: Lasting,
    /// The value at birth; also fixes the type.
    pub default: Value,
    /// Whether its number is conserved: it changes only by messages, minting and burning.
    pub conserved: bool,
    /// Clients farther away than this many millimetres do not get updates of it.
    pub detail_distance: Option<i32>,
}

/// One method of a kind, called by a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodDef {
    /// Its name, unique in its kind.
    pub name: String,
    /// Whether the client that plays the entity may call it.
    pub exposed: bool,
}

/// A kind of entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindDef {
    /// Its registered number.
    pub id: KindId,
    /// Its name.
    pub name: String,
    /// Its properties; the position in this list is the property's index on the wire.
    pub props: Vec<PropDef>,
    /// Its methods; the position is the method's index on the wire.
    pub methods: Vec<MethodDef>,
    /// Whether it has a base. An entity without one is lost with its cell, by declaration.
    pub has_base: bool,
}

impl KindDef {
    /// The property values of a new entity.
    #[must_use]
    pub fn defaults(&self) -> Vec<Value> {
        self.props.iter().map(|p| p.default.clone()).collect()
    }

    /// The index of a property, by name.
    #[must_use]
    pub fn prop(&self, name: &str) -> Option<u8> {
        self.props.iter().position(|p| p.name == name).map(|i| i as u8)
    }

    /// The index of a method, by name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<u8> {
        self.methods.iter().position(|m| m.name == name).map(|i| i as u8)
    }
}

/// Every kind that a world knows. All processes of a cluster hold the same registry; its hash is
/// part of the greeting between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds(Vec<KindDef>);

impl Kinds {
    /// Most properties that a kind may declare; their mask fits 32 bits with the fixed fields.
    pub const PROPS_MAX: usize = 24;

    /// Builds the registry. Panics when an id or a name repeats or a kind has too many
    /// properties: a world's own declaration is wrong.
    #[must_use]
    pub fn new(mut kinds: Vec<KindDef>) -> Self {
        kinds.sort_by_key(|k| k.id);
        for pair in kinds.windows(2) {
            assert!(pair[0].id != pair[1].id, "two kinds with number {}", pair[0].id);
        }
        for k in &kinds {
            assert!(k.props.len() <= Self::PROPS_MAX, "kind {} has too many properties", k.name);
            assert!(k.methods.len() <= 256, "kind {} has too many methods", k.name);
            for (i, p) in k.props.iter().enumerate() {
                assert!(
                    k.props[..i].iter().all(|q| q.name != p.name),
                    "kind {} declares {} twice",
                    k.name,
                    p.name
                );
            }
        }
        Self(kinds)
    }

    /// The declaration of a kind.
    #[must_use]
    pub fn get(&self, id: KindId) -> Option<&KindDef> {
        self.0.binary_search_by_key(&id, |k| k.id).ok().map(|i| &self.0[i])
    }

    /// The declaration of a kind, by name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&KindDef> {
        self.0.iter().find(|k| k.name == name)
    }

    /// All kinds, by number.
    pub fn iter(&self) -> impl Iterator<Item = &KindDef> {
        self.0.iter()
    }

    /// A hash of all declarations, compared when two processes meet.
    #[must_use]
    pub fn schema_hash(&self) -> u64 {
        crate::digest::digest_of(&self.0)
    }
}
