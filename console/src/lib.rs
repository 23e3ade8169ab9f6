//! The console: a live or recorded cluster in a browser.
//!
//! One model for both: frames ([`frame`]). A [`Source`] makes them, from a running cluster or from a
//! folder of journals; the router serves them with the pages that draw them. Everything that a
//! browser can ask for is bounded: pages of events, sockets, queues, bytes, and how long it takes.

pub mod assets;
mod causal;
pub mod frame;
mod http;
mod live;
pub mod page;
mod pages;
mod recorded;
mod source;

pub use http::{Console, Rules, ServeError, router, serve};
pub use live::{Live, Realm};
pub use recorded::Recorded;
pub use source::{
    Acts, Cursor, EventsAsk, EventsPage, Following, FreshRecord, GapSpan, SentFrame, Source,
    Trouble, Worlds,
};
