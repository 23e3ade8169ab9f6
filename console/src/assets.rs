//! The pages: embedded in the program. A build without optimisations reads them from where they
//! were built, as long as they are there, so that a page may be changed while it runs.

use std::borrow::Cow;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// A file of the pages.
#[derive(Clone, Debug)]
pub struct Asset {
    /// What it is, as a media type.
    pub media: &'static str,
    /// What is in it.
    pub bytes: Cow<'static, [u8]>,
}

/// The names of all files, sorted: `index.html`, and what it names.
pub fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

/// The file with this name. Only names of embedded files are known, so that no path leads out.
#[must_use]
pub fn asset(name: &str) -> Option<Asset> {
    let (name, embedded) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
    let bytes = from_disk(name).map_or(Cow::Borrowed(*embedded), Cow::Owned);
    Some(Asset { media: media_of(name), bytes })
}

fn from_disk(name: &str) -> Option<Vec<u8>> {
    if !cfg!(debug_assertions) {
        return None;
    }
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(name)).ok()
}

fn media_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" => "application/json",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_is_there_and_no_path_leads_out_of_the_pages() {
        assert!(names().any(|name| name == "index.html"));
        assert_eq!(asset("index.html").map(|a| a.media), Some("text/html; charset=utf-8"));
        for outside in ["../Cargo.toml", "/etc/passwd", "", "./index.html", "assets/index.html"] {
            assert!(asset(outside).is_none(), "{outside}");
        }
    }
}
