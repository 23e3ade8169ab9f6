//! A console that serves a small recording, until it is dropped.

use crate::support::journals;
use marchland_console::{Console, Recorded, Rules, serve};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The console, and what runs it.
pub struct Served {
    pub url: String,
    _runtime: Runtime,
}

impl Served {
    pub fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let listen = listener.local_addr().unwrap();
        let source = Arc::new(Recorded::of(journals()));
        let console = Console::new(source, None, Rules::new(listen, None));
        runtime.spawn(serve(listener, console, std::future::pending()));
        Self { url: format!("http://{listen}/"), _runtime: runtime }
    }
}
