//! The pages put together: as they are served, with all scripts as one file, so that a browser asks
//! three times and not forty; and as one file with everything inside it, which opens from a disk.
//!
//! Scripts are classic ones in one namespace: joined in the order of `index.html` they are a program.

use crate::assets;
use std::borrow::Cow;

/// The name under which all scripts are served as one.
pub const SCRIPTS: &str = "march.js";

const SCRIPT: &str = "<script src=\"";
const STYLE: &str = "<link rel=\"stylesheet\" href=\"style.css\">";
const ICON: &str = "<link rel=\"icon\"";
/// A page from a disk reaches nothing: not even by accident.
const ALONE: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                     script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">";

fn text(name: &str) -> String {
    let bytes = assets::asset(name).map_or(Cow::Borrowed(&b""[..]), |asset| asset.bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn script_of(line: &str) -> Option<&str> {
    line.trim().strip_prefix(SCRIPT)?.split('"').next()
}

/// All scripts, in the order of the page.
#[must_use]
pub fn scripts() -> String {
    let page = text("index.html");
    page.lines().filter_map(script_of).map(text).collect::<Vec<_>>().join("\n")
}

/// The first page as it is served: one script instead of many.
#[must_use]
pub fn index() -> String {
    with_scripts(&format!("{SCRIPT}{SCRIPTS}\"></script>"), str::to_owned)
}

/// One file with pages, style, scripts and this data: it needs no server and no network.
#[must_use]
pub fn with_data(json: &str) -> String {
    // Neither data nor scripts may end the element that they are in.
    let data = json.replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let program = scripts().replace("</script", "<\\/script");
    let parts = format!(
        "<script type=\"application/json\" id=\"march-data\">{data}</script>\n\
         <script>\n{program}\n</script>"
    );
    let style = format!("{ALONE}\n<style>\n{}\n</style>", text("style.css"));
    with_scripts(&parts, |line| match line.trim() {
        STYLE => style.clone(),
        icon if icon.starts_with(ICON) => String::new(),
        _ => line.to_owned(),
    })
}

/// The page with something else in the place of its first script, and without the others.
fn with_scripts(instead: &str, other: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut placed = false;
    for line in text("index.html").lines() {
        if script_of(line).is_none() {
            out.push_str(&other(line));
            out.push('\n');
        } else if !placed {
            placed = true;
            out.push_str(instead);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_served_page_names_one_script_that_holds_all_in_their_order() {
        assert_eq!(index().matches("<script").count(), 1);
        let all = scripts();
        let place = |mark: &str| all.find(mark).unwrap_or_else(|| panic!("no {mark}"));
        assert!(place("M.el = function") < place("class Model"));
        assert!(place("class Model") < place("class App"));
        assert_eq!(
            all.matches("})(globalThis.March);").count(),
            all.matches("(function (M)").count()
        );
    }

    #[test]
    fn every_script_of_the_pages_is_named_by_the_page_and_none_is_missing() {
        let page = text("index.html");
        let named: Vec<&str> = page.lines().filter_map(script_of).collect();
        let there: Vec<&str> = assets::names().filter(|name| name.ends_with(".js")).collect();
        assert_eq!(named.len(), there.len(), "{named:?} {there:?}");
        for name in there {
            assert!(named.contains(&name), "{name} is not named by index.html");
            let lines = text(name).lines().count();
            assert!(lines <= 400, "{name} has {lines} lines: cut it by what it is about");
        }
    }

    #[test]
    fn data_in_a_page_of_its_own_cannot_end_its_element() {
        let page = with_data("{\"text\":\"</script><script>alert(1)</script><!--\"}");
        assert_eq!(page.matches("<script").count() - page.matches("<script>alert").count(), 2);
        assert!(!page.contains("</script><script>alert"));
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("src=\"js/") && !page.contains("href=\"style.css\""));
        assert!(page.find("id=\"march-data\"") < page.find("class App"));
    }

    #[test]
    fn nothing_that_a_server_says_becomes_markup() {
        for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            let found = scripts()
                .lines()
                .any(|line| line.contains(forbidden) && !line.trim_start().starts_with("//"));
            assert!(!found, "a script uses {forbidden}");
        }
    }
}
