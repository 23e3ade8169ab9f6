//! What can be said about pages for a browser.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// The folder with the journals, or that of a demo.
    pub(crate) dir: PathBuf,
    /// Where it listens; port 0 takes any free one.
    #[arg(long, env = "MARCH_CONSOLE", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
}
