//! One server process with its folder and its port.

use super::wait::never_fails;
use marchland_runtime::standin_server::{StandinOptions, serve};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const ADDRESS: &str = "MARCH_TEST_STANDIN_ADDRESS";
const DATA: &str = "MARCH_TEST_STANDIN_DATA";

/// Which implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This project's stand-in.
    Standin,
    /// The real one.
    Etcd,
}

/// A running server.
pub struct Server {
    kind: Kind,
    child: Option<Child>,
    dir: TempDir,
    port: u16,
    peer_port: u16,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    /// Starts a server on an empty folder and waits until it answers.
    pub async fn start(kind: Kind) -> Self {
        let dir = TempDir::new().unwrap();
        let (port, peer_port) = (free_port(), free_port());
        let mut server = Self { kind, child: None, dir, port, peer_port };
        server.launch().await;
        server
    }

    /// Where clients reach it.
    pub fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A client without any of the product's own care.
    pub async fn raw(&self) -> etcd_client::Client {
        etcd_client::Client::connect([self.endpoint()], None).await.unwrap()
    }

    /// Ends the process without warning.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again on the same port and folder and waits until it answers.
    pub async fn restart(&mut self) {
        self.kill();
        self.launch().await;
    }

    /// Stops the process where it is: it neither answers nor refuses.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets a stopped process go on.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("a running server");
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    }

    async fn launch(&mut self) {
        let mut command = match self.kind {
            Kind::Standin => self.standin(),
            Kind::Etcd => self.etcd(),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}")));
        never_fails("the server answers", || async {
            let mut client = self.raw().await;
            let answer = tokio::time::timeout(Duration::from_secs(2), client.status()).await;
            answer.map_err(|_| "no answer").and_then(|a| a.map_err(|_| "refused"))
        })
        .await;
    }

    fn etcd(&self) -> Command {
        let (client, peer) = (self.endpoint(), format!("http://127.0.0.1:{}", self.peer_port));
        let client = format!("http://{client}");
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(self.dir.path().join("etcd"));
        command.args(["--name", "one", "--logger", "zap", "--log-level", "error"]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("one={peer}")]);
        command
    }

    /// This test program again, as the server of [`serve_as_child`].
    fn standin(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "the_stand_in_serves_as_a_child_process", "--ignored"]);
        command.env(ADDRESS, self.endpoint()).env(DATA, self.dir.path().join("standin"));
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Serves the stand-in if this process was started for that; ends when the parent does.
pub async fn serve_as_child() {
    let (Ok(address), Some(data)) = (std::env::var(ADDRESS), std::env::var_os(DATA)) else {
        return;
    };
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let options = StandinOptions { data_file: Some(data.into()), ..StandinOptions::default() };
    // The parent holds the other end of our standard input and never writes to it.
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(ended);
    });
    let parent_gone = async move { drop(end.await) };
    serve(listener, options, parent_gone).await.unwrap();
}
