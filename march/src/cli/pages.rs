//! What can be said about pages for a browser.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// The folder with the journals, or that of a demo.
    pub(crate) dir: PathBuf,
    /// Where it listens; port 0 takes any free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
}

/// How a demo shows its cluster in a browser.
#[derive(Clone, Debug, Args)]
pub(crate) struct DemoConsoleArgs {
    /// The port of its console on this machine; 0 takes any free one.
    #[arg(long = "console", value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// The console may run drills, each on a demo of its own.
    #[arg(long)]
    pub(crate) drills: bool,
}

/// How a manager shows its cluster in a browser.
#[derive(Clone, Debug, Args)]
pub(crate) struct ManagerConsoleArgs {
    /// Where its console listens, like 127.0.0.1:7680; without it there is none.
    #[arg(long, env = "MARCH_CONSOLE")]
    pub(crate) console: Option<SocketAddr>,
    /// What acts from the console need where it is not on a loopback address; without it there are
    /// none there.
    #[arg(long, env = "MARCH_CONSOLE_TOKEN", hide_env_values = true)]
    pub(crate) console_token: Option<String>,
    /// The console may stop processes of this machine for a while.
    #[arg(long)]
    pub(crate) console_may_pause: bool,
    /// The console may run drills, each on a demo of its own.
    #[arg(long)]
    pub(crate) drills: bool,
}
