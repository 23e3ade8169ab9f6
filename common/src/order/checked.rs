//! Decoding of state that travels: what comes from another process or from a disk is checked before
//! it is believed, so that no invariant of such a type can be broken by bytes.

/// Makes a type with `#[serde(remote = "Self")]` decode through its
/// `fn validate(&self) -> Result<(), &'static str>`.
macro_rules! checked_serde {
    ($name:ident $(<$param:ident>)?) => {
        impl$(<$param: serde::Serialize>)? serde::Serialize for $name$(<$param>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        impl<'de $(, $param: serde::Deserialize<'de>)?> serde::Deserialize<'de>
            for $name$(<$param>)?
        {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let value = Self::deserialize(source)?;
                value.validate().map_err(<D::Error as serde::de::Error>::custom)?;
                Ok(value)
            }
        }
    };
}

pub(crate) use checked_serde;
