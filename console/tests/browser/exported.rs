//! A page with everything inside it: it opens from a disk and asks nobody anything.

use crate::looks::must_be_content;
use crate::page::{Page, point};
use crate::support::get;
use crate::{LAPTOP, driver};
use marchland_console::page::with_data;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_its_data_inside_opens_from_a_disk_and_explains_an_event() {
    if !driver::is_here() {
        return;
    }
    let hello = get("/api/hello").await.json();
    let events = get("/api/events?limit=10000").await.json()["events"].clone();
    let data = json!({"hello": hello, "events": events, "notice": "cut </script> here"});
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("timeline.html");
    std::fs::write(&file, with_data(&data.to_string())).unwrap();
    let url = format!("file://{}", file.display());
    tokio::task::spawn_blocking(move || look_at(&url)).await.unwrap();
}

fn look_at(url: &str) {
    let page = Page::open(url, LAPTOP);
    page.wait_text("#link", "exported recording");
    page.wait_text("#notice", "cut </script> here");
    page.go("#view=order&groups=own,step,bundle,refusal");
    let change = "(March.app.views.order.layout?.nodes || [])
                  .find((node) => node.event.kind === 'OwnerChanged')";
    page.wait("the change of owner", change);
    page.value(&format!("void March.app.views.order.select({change}.event)"));
    let place = page.value(&format!("March.app.views.order.screenOf({change}.event.id)"));
    page.click_at(point(&place).unwrap());
    page.wait("its past", "March.app.views.order.causal?.past.size > 0");
    // The base was told of steps up to tick 5 by bundles; later ones are not in the past.
    let ticks = page.value(
        "March.app.embedded.all.filter((event) => event.kind === 'Stepped')
         .filter((event) => March.app.views.order.causal.past.has(event.id))
         .map((event) => event.tick)",
    );
    assert_eq!(ticks, json!([1, 2, 3, 4, 5]), "{ticks}");
    page.wait_text("#order-panel .tally", "before");
    let asked: Value = page.value("performance.getEntriesByType('resource').length");
    assert_eq!(asked, json!(0), "it asked somebody");
    must_be_content(&page);
}
