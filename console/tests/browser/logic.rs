//! What the pages decide, apart from what they draw: run where they run.

use crate::LAPTOP;
use crate::driver::{self, Driver};
use marchland_console::assets;
use serde_json::{Value, json};

/// The scripts of the pages, in their order.
fn scripts() -> String {
    let text = |name: &str| {
        let asset = assets::asset(name).unwrap_or_else(|| panic!("no {name} in the pages"));
        String::from_utf8(asset.bytes.into_owned()).unwrap()
    };
    let page = text("index.html");
    let named = page.split("<script src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let pure = named.filter(|name| !name.ends_with("/app.js"));
    pure.map(text).collect::<Vec<_>>().join("\n")
}

/// Runs the tests over the pages' scripts and some more.
fn told(driver: &Driver, more: &str) -> Value {
    let tests = include_str!("logic.js");
    let begin = tests.find("(function").unwrap();
    let script = format!("{}\n{more}\nreturn {}", scripts(), &tests[begin..]);
    driver.ask("POST", "/execute/sync", &json!({"script": script, "args": []}))
}

#[test]
fn what_the_pages_decide_holds_and_would_be_found_if_it_did_not() {
    if !driver::is_here() {
        return;
    }
    let driver = Driver::start(LAPTOP.0, LAPTOP.1);
    let right = told(&driver, "");
    assert_eq!(right["wrong"], json!([]), "{right:#}");
    assert!(right["ran"].as_u64() > Some(20), "{right:#}");
    // A test that cannot fail is none.
    let wrong = told(&driver, "March.placeOf = (part, i) => [part.x[i], part.y[i]];");
    let found: Vec<&str> =
        wrong["wrong"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(found.iter().any(|text| text.starts_with("a dot between two pictures")), "{wrong:#}");
}
