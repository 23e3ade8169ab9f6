//! The fields of a fact as a browser reads them: no number that it would round.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Fields whose numbers may exceed 2^53.
const IDS: [&str; 9] = [
    "entity",
    "source",
    "to",
    "witness",
    "session",
    "digest",
    "prev_digest",
    "incarnation",
    "order",
];
/// Fields that hold an epoch, whose grant is in the high half.
const EPOCHS: [&str; 2] = ["epoch", "current"];
/// Bytes that are shown; of more, how many there are.
const BYTES_SHOWN: usize = 16;

/// What a value of our own holds, by name: the kind that it names itself, and its fields.
pub(super) fn of<T: Serialize>(value: &T) -> (String, Map<String, Value>) {
    match serde_json::to_value(value) {
        Ok(Value::Object(named)) if named.len() == 1 => {
            let (kind, fields) = named.into_iter().next().expect("it has one");
            match plain("", fields) {
                Value::Object(fields) => (kind, fields),
                other => (kind, Map::from_iter([("value".to_owned(), other)])),
            }
        }
        Ok(Value::String(kind)) => (kind, Map::new()),
        _ => (String::new(), Map::new()),
    }
}

fn plain(name: &str, value: Value) -> Value {
    match value {
        Value::Object(fields) => object(name, fields),
        Value::Array(items) => array(name, items),
        Value::Number(n) if IDS.contains(&name) => Value::String(n.to_string()),
        Value::Number(n) if EPOCHS.contains(&name) => match n.as_u64() {
            Some(n) => json!(n >> 16),
            None => Value::Number(n),
        },
        other => other,
    }
}

/// A life of a process is one text; everything else is what it is.
fn object(name: &str, mut fields: Map<String, Value>) -> Value {
    let life = (fields.len() == 2).then(|| (fields.get("name"), fields.get("incarnation")));
    if let Some((Some(process), Some(Value::Number(incarnation)))) = life
        && let Some(process) = process_name(process)
    {
        return Value::String(format!("{process}@{incarnation}"));
    }
    if let Some(process) = process_name(&Value::Object(fields.clone())) {
        return Value::String(process);
    }
    for (key, value) in &mut fields {
        // What is nested in a field without a name of its own is what the field is.
        let key = if IDS.contains(&name) && key != "value" { name } else { key.as_str() };
        *value = plain(key, value.take());
    }
    Value::Object(fields)
}

fn array(name: &str, items: Vec<Value>) -> Value {
    let is_bytes = items.iter().all(|v| v.as_u64().is_some_and(|n| n < 256));
    if is_bytes && items.len() > BYTES_SHOWN {
        return Value::String(format!("{} bytes", items.len()));
    }
    Value::Array(items.into_iter().map(|item| plain(name, item)).collect())
}

fn process_name(value: &Value) -> Option<String> {
    let fields = value.as_object().filter(|fields| fields.len() == 2)?;
    Some(format!("{}-{}", fields.get("kind")?.as_str()?, fields.get("number")?.as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use marchland_common::journal::{Event, OwnerWhy};
    use marchland_common::msg::HandoffWhy;
    use marchland_common::order::{EntityId, Epoch, Lsn, Node, NodeKind, Seq, SessionId, Tick};
    use marchland_common::world::CommandOutcome;

    #[test]
    fn what_a_browser_would_round_is_a_text_and_an_epoch_is_the_number_of_its_grant() {
        let from = Node::new(NodeKind::Cell, 1, u64::MAX);
        let event = Event::OwnerChanged {
            entity: EntityId((1 << 53) - 1),
            epoch: Epoch::of_grant(7),
            seq: Seq(12),
            from: Some(from),
            to: Node::new(NodeKind::Cell, 2, 3),
            why: OwnerWhy::Handoff(HandoffWhy::Border),
            last_tick: Some(Tick(90)),
            lsn: Lsn(5),
        };
        let (kind, fields) = of(&event);
        assert_eq!(kind, "OwnerChanged");
        assert_eq!(fields["entity"], json!("9007199254740991"));
        assert_eq!(fields["epoch"], json!(7));
        assert_eq!(fields["from"], json!("cell-1@18446744073709551615"));
        assert_eq!(fields["to"], json!("cell-2@3"));
        assert_eq!((&fields["seq"], &fields["lsn"]), (&json!(12), &json!(5)));
    }

    #[test]
    fn long_answers_are_counted_and_not_copied() {
        let outcome = CommandOutcome::Applied(vec![1; 40]);
        let (_, fields) = of(&Event::CommandAnswered {
            entity: EntityId(1),
            session: SessionId(2),
            n: 3,
            outcome,
        });
        assert_eq!(fields["outcome"], json!({"Applied": "40 bytes"}));
        assert_eq!((&fields["session"], &fields["n"]), (&json!("2"), &json!(3)));
    }
}
