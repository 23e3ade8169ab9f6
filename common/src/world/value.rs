//! The value of one declared property.

use serde::{Deserialize, Serialize};

/// What a property holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    /// A number.
    Int(i64),
    /// Text or an opaque value of the kind's own; at most the kind's declared length.
    Bytes(Vec<u8>),
}

impl Value {
    /// The number, or 0 for bytes.
    #[must_use]
    pub fn int(&self) -> i64 {
        match self {
            Self::Int(v) => *v,
            Self::Bytes(_) => 0,
        }
    }

    /// The bytes, or none for a number.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Int(_) => &[],
            Self::Bytes(v) => v,
        }
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}
