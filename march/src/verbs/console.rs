//! Shows a folder of journals in a browser, until it is asked to end.

use super::print_line;
use crate::cli::ConsoleArgs;
use crate::exit::{Failure, NOT_FOUND, USAGE};
use marchland_console::{Console, Recorded, Rules, serve};
use marchland_runtime::process::Shutdown;
use std::sync::Arc;
use tokio::net::TcpListener;

pub(crate) async fn run(args: ConsoleArgs) -> Result<u8, Failure> {
    let mut shutdown = Shutdown::on_signals()
        .map_err(|e| Failure::internal(format!("cannot handle signals: {e}")))?;
    let dir = args.dir.clone();
    let read = tokio::task::spawn_blocking(move || Recorded::open(&dir)).await;
    let recorded = read
        .map_err(|e| Failure::internal(format!("reading the journals failed: {e}")))?
        .map_err(|e| Failure::new(NOT_FOUND, e.to_string()))?;
    if recorded.is_empty() {
        let text = format!("there is no journal in {}", args.dir.display());
        return Err(Failure::new(NOT_FOUND, text).hint("give the folder of a demo"));
    }
    let cannot = |e: std::io::Error| {
        Failure::new(USAGE, format!("cannot listen on {}: {e}", args.listen))
            .hint("choose another address with --listen")
    };
    let listener = TcpListener::bind(args.listen).await.map_err(cannot)?;
    let listen = listener.local_addr().map_err(cannot)?;
    print_line(&format!("console  http://{listen}/"));
    let console = Console::new(Arc::new(recorded), None, Rules::new(listen, None));
    serve(listener, console, async move { shutdown.asked().await }).await;
    Ok(0)
}
