//! What a page has to be like whatever it shows: readable, and without complaints.

use crate::page::Page;
use serde_json::json;

/// The five views.
pub const VIEWS: [&str; 5] = ["world", "order", "passport", "cluster", "act"];

/// Every text of every view has enough contrast, in light and in dark.
pub fn must_be_readable(page: &Page, entity: &str) {
    let script = include_str!("contrast.js");
    let begin = script.find("(function").unwrap();
    for scheme in ["light", "dark"] {
        page.prefer("prefers-color-scheme", scheme);
        page.wait(scheme, &format!("document.documentElement.dataset.theme === '{scheme}'"));
        for view in VIEWS {
            page.value(&format!("March.address.set({{ view: '{view}', entity: '{entity}' }})"));
            page.wait(view, &format!("!document.getElementById('view-{view}').hidden"));
            let told = page.run(&format!(
                "await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
                 return {}",
                script[begin..].trim_end()
            ));
            assert_eq!(told["wrong"], json!([]), "{view} in {scheme}: {told:#}");
            assert!(told["looked"].as_u64() > Some(20), "{view} in {scheme}: {told:#}");
        }
    }
}

/// Everything that can be pressed has a name, and nothing is wider than the window.
pub fn must_be_usable(page: &Page) {
    for view in VIEWS {
        page.value(&format!("March.app.go('{view}')"));
        page.wait(view, &format!("!document.getElementById('view-{view}').hidden"));
        let nameless = page.value(
            "[...document.querySelectorAll('button, input, select, canvas, summary')]
             .filter((one) => one.checkVisibility())
             .filter((one) => !(one.innerText || one.getAttribute('aria-label') || one.closest('label')?.innerText))
             .map((one) => one.outerHTML.slice(0, 120))",
        );
        assert_eq!(nameless, json!([]), "{view} has something without a name");
        let wide = page.value("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_f64() <= Some(0.0), "{view} is {wide} pixels wider than the window");
    }
}

/// The page complained of nothing.
pub fn must_be_content(page: &Page) {
    let complaints = page.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
