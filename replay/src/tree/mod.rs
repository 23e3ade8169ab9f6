//! Any value as a tree of names, and what differs between two of them, by name.

mod build;

use serde::Serialize;
use std::collections::BTreeMap;

/// Characters of a value that are shown.
const SHOWN_MAX: usize = 160;
/// What names an element of a list better than its place.
const NAMES: [&str; 2] = ["id", "entity"];

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    /// Something that has no parts.
    Leaf(String),
    /// Parts in an order.
    List(Vec<Self>),
    /// Parts with names.
    Fields(Vec<(String, Self)>),
}

/// A place where two values differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Which: names from the outside in, with dots between them.
    pub name: String,
    /// What the journal says.
    pub recorded: String,
    /// What the replay gave.
    pub replayed: String,
}

impl Tree {
    /// The tree of a value.
    pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        let built = value.serialize(build::Builder);
        built.unwrap_or_else(|error| Self::Leaf(format!("no value: {error}")))
    }

    /// On one line, cut where it gets long.
    pub(crate) fn show(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        if let Some((end, _)) = text.char_indices().nth(SHOWN_MAX) {
            text.truncate(end);
            text.push('…');
        }
        text
    }

    fn write(&self, out: &mut String) {
        if out.len() > SHOWN_MAX * 4 {
            return;
        }
        match self {
            Self::Leaf(text) => out.push_str(text),
            Self::List(parts) => {
                out.push('[');
                for (at, part) in parts.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    part.write(out);
                }
                out.push(']');
            }
            Self::Fields(fields) => {
                out.push('{');
                for (at, (name, part)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(name);
                    out.push_str(": ");
                    part.write(out);
                }
                out.push('}');
            }
        }
    }

    /// What an element of a list is called beside its place.
    fn name(&self) -> Option<String> {
        let Self::Fields(fields) = self else { return None };
        if let [(variant, inner @ Self::Fields(_))] = &fields[..] {
            return inner.name().map(|name| format!("{variant} of {name}"));
        }
        let named = fields.iter().find(|(name, _)| NAMES.contains(&name.as_str()));
        named.map(|(_, part)| part.show())
    }
}

/// Where two values differ, the first so many places of it, and how many there are.
pub(crate) fn differences(
    name: &str,
    recorded: &Tree,
    replayed: &Tree,
    most: usize,
) -> (Vec<Field>, usize) {
    let mut found = Found { fields: Vec::new(), of_part: BTreeMap::new(), count: 0, most };
    found.compare(name, recorded, replayed);
    (found.fields, found.count)
}

struct Found {
    fields: Vec<Field>,
    /// How many of each part are told.
    of_part: BTreeMap<String, usize>,
    count: usize,
    most: usize,
}

/// Places within one part of the whole that are told: others are not to be hidden by many of one.
const OF_PART_MAX: usize = 4;

/// The outermost names of a place.
fn part_of(name: &str) -> String {
    name.split(['.', '[']).take(2).collect::<Vec<_>>().join(".")
}

impl Found {
    fn compare(&mut self, name: &str, recorded: &Tree, replayed: &Tree) {
        match (recorded, replayed) {
            (Tree::List(a), Tree::List(b)) => self.compare_lists(name, a, b),
            (Tree::Fields(a), Tree::Fields(b)) => self.compare_fields(name, a, b),
            (a, b) if a == b => {}
            (a, b) => self.add(name, a.show(), b.show()),
        }
    }

    fn compare_lists(&mut self, name: &str, recorded: &[Tree], replayed: &[Tree]) {
        for (at, (a, b)) in recorded.iter().zip(replayed).enumerate().filter(|(_, (a, b))| a != b) {
            let called = a.name().filter(|called| b.name().as_ref() == Some(called));
            let called = called.map_or_else(String::new, |called| format!(" {called}"));
            self.compare(&format!("{name}[{at}{called}]"), a, b);
        }
        let shared = recorded.len().min(replayed.len());
        for (at, only) in recorded.iter().enumerate().skip(shared) {
            self.add(&format!("{name}[{at}]"), only.show(), "nothing".to_owned());
        }
        for (at, only) in replayed.iter().enumerate().skip(shared) {
            self.add(&format!("{name}[{at}]"), "nothing".to_owned(), only.show());
        }
    }

    fn compare_fields(&mut self, name: &str, a: &[(String, Tree)], b: &[(String, Tree)]) {
        let inside = |field: &str| match name {
            "" => field.to_owned(),
            name => format!("{name}.{field}"),
        };
        let is_one_variant = a.len() == 1 && b.len() == 1 && a[0].0 != b[0].0;
        if is_one_variant {
            let show = |fields: &[(String, Tree)]| Tree::Fields(fields.to_vec()).show();
            return self.add(name, show(a), show(b));
        }
        let same_names = a.len() == b.len() && a.iter().zip(b).all(|((a, _), (b, _))| a == b);
        if same_names {
            for ((field, a), (_, b)) in a.iter().zip(b).filter(|((_, a), (_, b))| a != b) {
                self.compare(&inside(field), a, b);
            }
            return;
        }
        // Maps whose keys differ.
        let by_name = |fields| -> BTreeMap<_, _> {
            let fields: &[(String, Tree)] = fields;
            fields.iter().map(|(name, part)| (name.as_str(), part)).collect()
        };
        let (known, found) = (by_name(a), by_name(b));
        for (field, part) in a {
            match found.get(field.as_str()) {
                Some(other) if *other == part => {}
                Some(other) => self.compare(&inside(field), part, other),
                None => self.add(&inside(field), part.show(), "nothing".to_owned()),
            }
        }
        for (field, part) in b.iter().filter(|(field, _)| !known.contains_key(field.as_str())) {
            self.add(&inside(field), "nothing".to_owned(), part.show());
        }
    }

    fn add(&mut self, name: &str, recorded: String, replayed: String) {
        self.count += 1;
        let told = self.of_part.entry(part_of(name)).or_default();
        *told += 1;
        if *told <= OF_PART_MAX && self.fields.len() < self.most {
            self.fields.push(Field { name: name.to_owned(), recorded, replayed });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Clone, Serialize)]
    struct Entity {
        id: u64,
        place: (i32, i32),
        kind: Kind,
        notes: BTreeMap<(u8, u8), &'static str>,
        secret: Option<u64>,
    }

    #[derive(Clone, Serialize)]
    enum Kind {
        Wolf { hungry: bool },
        Stone(u8),
        Air,
    }

    fn entity() -> Entity {
        let notes = BTreeMap::from([((1, 2), "grey"), ((9, 9), "large")]);
        let kind = Kind::Wolf { hungry: true };
        Entity { id: 257, place: (3, 4), kind, notes, secret: None }
    }

    fn between(a: &[Entity], b: &[Entity]) -> Vec<String> {
        let (fields, count) = differences("reals", &Tree::of(a), &Tree::of(b), 10);
        assert_eq!(fields.len(), count);
        let show = |f: Field| format!("{}: {} / {}", f.name, f.recorded, f.replayed);
        fields.into_iter().map(show).collect()
    }

    fn of_one(a: &Entity, b: &Entity) -> Vec<String> {
        between(std::slice::from_ref(a), std::slice::from_ref(b))
    }

    #[test]
    fn what_differs_is_named_from_the_outside_in() {
        let one = entity();
        let two = Entity { place: (3, 5), secret: Some(9), ..entity() };
        assert_eq!(of_one(&one, &one), Vec::<String>::new());
        assert_eq!(
            of_one(&one, &two),
            ["reals[0 257].place[1]: 4 / 5", "reals[0 257].secret: none / 9"]
        );
        let calm = Entity { kind: Kind::Wolf { hungry: false }, ..entity() };
        assert_eq!(of_one(&one, &calm), ["reals[0 257].kind.Wolf.hungry: true / false"]);
        let stone = Entity { kind: Kind::Stone(1), ..entity() };
        let air = Entity { kind: Kind::Air, ..entity() };
        assert_eq!(of_one(&stone, &air), ["reals[0 257].kind: {Stone: 1} / Air"]);
    }

    #[test]
    fn what_is_only_on_one_side_is_named_too() {
        let one = entity();
        let notes = BTreeMap::from([((1, 3), "old"), ((9, 9), "large")]);
        let other = Entity { notes, ..entity() };
        assert_eq!(
            of_one(&one, &other),
            [
                "reals[0 257].notes.[1, 2]: grey / nothing",
                "reals[0 257].notes.[1, 3]: nothing / old"
            ]
        );
        let found = between(&[one.clone(), entity()], &[one]);
        assert!(found[0].starts_with("reals[1]: {id: 257"), "{found:?}");
    }

    #[test]
    fn many_differences_are_counted_and_a_few_of_each_part_are_told() {
        let of = |n: i32| Tree::of(&BTreeMap::from([("a", vec![n; 900]), ("b", vec![n; 100])]));
        let (fields, count) = differences("core", &of(1), &of(2), 6);
        let names: Vec<&str> = fields.iter().map(|field| &field.name[..6]).collect();
        assert_eq!(names, ["core.a", "core.a", "core.a", "core.a", "core.b", "core.b"]);
        assert_eq!(count, 1_000);
        assert!(Tree::of(&vec![7; 1_000]).show().chars().count() <= SHOWN_MAX + 1);
    }
}
