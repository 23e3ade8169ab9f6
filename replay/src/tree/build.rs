//! Building a tree by serde: a serializer whose output is the value itself, with its names.

use super::Tree;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt;

/// Bytes of a byte string that are shown.
const BYTES_SHOWN: usize = 24;

/// Makes a [`Tree`] of whatever is serialized.
pub(super) struct Builder;

/// A value that refuses to be serialized.
#[derive(Debug)]
pub(super) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl serde::ser::Error for Refused {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

/// Parts of something that is not finished, and the variant that they are of, if any.
pub(super) struct Parts {
    variant: Option<&'static str>,
    list: Vec<Tree>,
    fields: Vec<(String, Tree)>,
    key: Option<String>,
}

impl Parts {
    const fn new(variant: Option<&'static str>) -> Self {
        Self { variant, list: Vec::new(), fields: Vec::new(), key: None }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.list.push(value.serialize(Builder)?);
        Ok(())
    }

    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Refused> {
        self.fields.push((name.to_owned(), value.serialize(Builder)?));
        Ok(())
    }

    fn named(self, inner: impl FnOnce(Self) -> Tree) -> Tree {
        let variant = self.variant;
        let tree = inner(self);
        variant.map_or_else(|| tree.clone(), |name| of_variant(name, tree.clone()))
    }
}

fn of_variant(name: &str, inner: Tree) -> Tree {
    Tree::Fields(vec![(name.to_owned(), inner)])
}

fn leaf(value: impl fmt::Display) -> Result<Tree, Refused> {
    Ok(Tree::Leaf(value.to_string()))
}

macro_rules! leaves {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(fn $name(self, value: $type) -> Result<Tree, Refused> {
            leaf(value)
        })*
    };
}

impl Serializer for Builder {
    type Ok = Tree;
    type Error = Refused;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    leaves! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_str: &str,
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Tree, Refused> {
        let shown = bytes.iter().take(BYTES_SHOWN).map(|b| format!("{b:02x}"));
        let rest = if bytes.len() > BYTES_SHOWN { "…" } else { "" };
        leaf(format!("{} bytes {}{rest}", bytes.len(), shown.collect::<String>()))
    }

    fn serialize_none(self) -> Result<Tree, Refused> {
        leaf("none")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, Refused> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Tree, Refused> {
        leaf("()")
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Tree, Refused> {
        leaf(name)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Tree, Refused> {
        leaf(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Tree, Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Tree, Refused> {
        Ok(of_variant(variant, value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts, Refused> {
        Ok(Parts::new(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts, Refused> {
        Ok(Parts::new(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts, Refused> {
        Ok(Parts::new(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, Refused> {
        Ok(Parts::new(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts, Refused> {
        Ok(Parts::new(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts, Refused> {
        Ok(Parts::new(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, Refused> {
        Ok(Parts::new(Some(variant)))
    }
}

macro_rules! lists {
    ($($trait:ident, $add:ident;)*) => {
        $(impl $trait for Parts {
            type Ok = Tree;
            type Error = Refused;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
                self.push(value)
            }

            fn end(self) -> Result<Tree, Refused> {
                Ok(self.named(|parts| Tree::List(parts.list)))
            }
        })*
    };
}

lists! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

macro_rules! structs {
    ($($trait:ident),* $(,)?) => {
        $(impl $trait for Parts {
            type Ok = Tree;
            type Error = Refused;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Refused> {
                self.put(name, value)
            }

            fn end(self) -> Result<Tree, Refused> {
                Ok(self.named(|parts| Tree::Fields(parts.fields)))
            }
        })*
    };
}

structs! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Parts {
    type Ok = Tree;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.key = Some(key.serialize(Builder)?.show());
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let key = self.key.take().ok_or_else(|| Refused::custom("a value without a key"))?;
        self.put(&key, value)
    }

    fn end(self) -> Result<Tree, Refused> {
        Ok(Tree::Fields(self.fields))
    }
}
