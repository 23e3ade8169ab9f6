//! Running one process of a cluster.

use crate::cli::{BaseArgs, BotsArgs, CellArgs, ManagerArgs, ProcessArgs, StandinArgs};
use crate::exit::{Failure, INCOMPATIBLE, INTERNAL, REFUSED, UNREACHABLE, USAGE};
use marchland_baseapp::gateway::PlayRules;
use marchland_baseapp::{BaseError, BaseOptions};
use marchland_baseapp_core::io::BaseOrder;
use marchland_cellapp::{CellError, CellOptions, WorkRules};
use marchland_client::bots::{BotsOptions, BotsReport};
use marchland_common::digest::digest_bytes;
use marchland_common::order::{NodeKind, NodeName};
use marchland_common::world::METRE;
use marchland_frontier_core::{AVATAR, Frontier, WOLF, encode, home_of, kinds, spaces, wolf_dens};
use marchland_manager::{ConsoleOptions, ManagerError, ManagerOptions};
use marchland_manager_core::SpaceSpec;
use marchland_runtime::process::{ProcessOptions, Shutdown, ShutdownWatch, StartError};
use marchland_runtime::telemetry::log_as;
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

mod bots_journal;

/// What a process writes when it is ready.
#[derive(Debug, Clone, Serialize, serde::Deserialize)]
pub(crate) struct ReadyFile {
    pub(crate) pid: u32,
    pub(crate) link: String,
    pub(crate) gateway: String,
    /// The address of a manager's console; empty if it has none.
    #[serde(default)]
    pub(crate) console: String,
}

fn options(
    name: NodeName,
    wanted: NodeKind,
    args: &ProcessArgs,
) -> Result<ProcessOptions, Failure> {
    if name.kind != wanted {
        let text = format!("{name} is not the name of a {}app", wanted.name());
        return Err(Failure::usage(text).hint(format!("use a name like {}-1", wanted.name())));
    }
    log_as(&name.to_string(), None);
    Ok(ProcessOptions {
        name,
        cluster: args.cluster_name.clone(),
        etcd: args.etcd.clone(),
        listen: args.listen,
        advertise: args.advertise.clone(),
        dial_from: args.dial_from,
        dir: args.dir.clone(),
        seed: args.seed,
        step: args.tick,
        ttl: args.ttl,
    })
}

/// Ends on a signal, or with the launcher that holds the other end of standard input.
fn shutdown(until_stdin_ends: bool) -> Result<ShutdownWatch, Failure> {
    let signals = Shutdown::not_for_full_files()
        .and_then(|()| Shutdown::on_signals())
        .map_err(|e| Failure::internal(format!("cannot handle signals: {e}")))?;
    if !until_stdin_ends {
        return Ok(signals);
    }
    let (end, watch) = Shutdown::new();
    let (gone, mut launcher) = tokio::sync::oneshot::channel();
    // A thread of its own: nothing else can wait for standard input and be left behind.
    std::thread::spawn(move || {
        let mut sink = [0; 64];
        while matches!(std::io::stdin().read(&mut sink), Ok(n) if n > 0) {}
        let _ = gone.send(());
    });
    let mut asked = signals;
    tokio::spawn(async move {
        tokio::select! {
            () = asked.asked() => {}
            _ = &mut launcher => {}
        }
        end.now();
    });
    Ok(watch)
}

fn write_ready(path: Option<&Path>, link: &str, gateway: &str, console: &str) {
    let Some(path) = path else { return };
    let (link, gateway, console) = (link.to_owned(), gateway.to_owned(), console.to_owned());
    let ready = ReadyFile { pid: std::process::id(), link, gateway, console };
    let text = serde_json::to_vec(&ready).unwrap_or_default();
    let part = path.with_extension("part");
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    if let Err(error) = written {
        tracing::error!(%error, path = %path.display(), "cannot say that this process is ready");
    }
}

fn start_failure(error: &StartError) -> Failure {
    let code = match error {
        StartError::Dir { .. } | StartError::Port { .. } | StartError::DialFrom { .. } => USAGE,
        StartError::Store { .. } => UNREACHABLE,
        StartError::Name { .. } => REFUSED,
        StartError::Protocol(_) => INCOMPATIBLE,
    };
    Failure::new(code, error.to_string())
}

pub(crate) async fn cellapp(args: CellArgs) -> Result<u8, Failure> {
    let process = options(args.name, NodeKind::Cell, &args.process)?;
    let watch = shutdown(args.process.until_stdin_ends)?;
    let scout = |asked: &[u8]| encode(&((digest_bytes(asked) & 0xffff) as u32));
    let options = CellOptions {
        process,
        world: Arc::new(Frontier::new()),
        work: WorkRules { work: scout, least: Duration::from_millis(120) },
        load_percent: args.burn,
    };
    let ready = args.process.ready_file.clone();
    let ended = marchland_cellapp::run(options, watch, |link| {
        write_ready(ready.as_deref(), link, "", "");
    });
    match ended.await {
        Ok(()) => Ok(0),
        Err(CellError::Start(error)) => Err(start_failure(&error)),
        Err(error @ CellError::Replaced(_)) => Err(Failure::new(REFUSED, error.to_string())),
        Err(error) => Err(Failure::new(INTERNAL, error.to_string())),
    }
}

pub(crate) async fn baseapp(args: BaseArgs) -> Result<u8, Failure> {
    let process = options(args.name, NodeKind::Base, &args.process)?;
    let watch = shutdown(args.process.until_stdin_ends)?;
    // Each baseapp has other wolves.
    let dens = wolf_dens(args.wolves as usize, process.seed ^ u64::from(args.name.number));
    let wolf = |(i, place): (usize, _)| BaseOrder::Create {
        request: i as u64,
        kind: WOLF,
        place,
        argument: Vec::new(),
        props: Vec::new(),
    };
    let options = BaseOptions {
        gateway: args.gateway,
        advertise_gateway: args.advertise_gateway,
        rules: PlayRules {
            kinds: Arc::new(kinds()),
            home: home_of,
            playable: |kind| kind == AVATAR,
            step: process.step,
        },
        populate: dens.into_iter().enumerate().map(wolf).collect(),
        accept_loss: args.accept_loss,
        disk: None,
        process,
    };
    let ready = args.process.ready_file.clone();
    let ended = marchland_baseapp::run(options, watch, |link, gateway| {
        write_ready(ready.as_deref(), link, gateway, "");
    });
    match ended.await {
        Ok(()) => Ok(0),
        Err(BaseError::Start(error)) => Err(start_failure(&error)),
        Err(BaseError::Misfit(misfit)) => {
            Err(Failure::new(REFUSED, misfit.to_string()).hint(misfit.advice()))
        }
        Err(BaseError::Broken(broken)) => {
            Err(Failure::new(REFUSED, broken.to_string()).hint(broken.advice()))
        }
        Err(error @ (BaseError::Log(_) | BaseError::Over(_))) => {
            Err(Failure::new(REFUSED, error.to_string()))
        }
        Err(error) => Err(Failure::new(INTERNAL, error.to_string())),
    }
}

pub(crate) async fn manager(args: ManagerArgs) -> Result<u8, Failure> {
    let process = options(args.name, NodeKind::Manager, &args.process)?;
    let watch = shutdown(args.process.until_stdin_ends)?;
    let spec = |s: marchland_frontier_core::SpaceSpec| SpaceSpec {
        id: s.id,
        bounds: s.bounds,
        cells: s.cells,
    };
    let options = ManagerOptions {
        process,
        spaces: spaces().into_iter().map(spec).collect(),
        cells_awaited: args.cells,
        bases_awaited: args.bases,
        wait_max: args.wait,
        silent_after: args.silent_after,
        take_over_after: Some(args.take_over_after).filter(|after| !after.is_zero()),
        console: console(&args)?,
    };
    let ready = args.process.ready_file.clone();
    let ended = marchland_manager::run(options, watch, |found| {
        let console = found.console.map_or_else(String::new, |addr| addr.to_string());
        write_ready(ready.as_deref(), found.operator, "", &console);
    });
    match ended.await {
        Ok(()) => Ok(0),
        Err(ManagerError::Start(error)) => Err(start_failure(&error)),
        Err(ManagerError::Console(error)) => Err(Failure::new(USAGE, error.to_string())),
        Err(error) => Err(Failure::new(INTERNAL, error.to_string())),
    }
}

fn console(args: &ManagerArgs) -> Result<Option<ConsoleOptions>, Failure> {
    let Some(listen) = args.console.console else { return Ok(None) };
    let drills = match args.console.drills {
        true => Some(
            std::env::current_exe()
                .map_err(|e| Failure::internal(format!("cannot find this program: {e}")))?,
        ),
        false => None,
    };
    let (token, may_pause) = (args.console.console_token.clone(), args.console.console_may_pause);
    Ok(Some(ConsoleOptions { listen, token, may_pause, drills }))
}

pub(crate) async fn bots(args: BotsArgs) -> Result<u8, Failure> {
    log_as("bots", None);
    let mut watch = shutdown(args.until_stdin_ends)?;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let limit = args.run_for;
    tokio::spawn(async move {
        match limit {
            Some(limit) => {
                let _ = tokio::time::timeout(limit, watch.asked()).await;
            }
            None => watch.asked().await,
        }
        stop.send_replace(true);
    });
    let journal = match &args.dir {
        Some(dir) => Some(bots_journal::BotsJournal::open(dir, args.seed)?),
        None => None,
    };
    let options = BotsOptions {
        count: args.count,
        seed: args.seed,
        gateways: args.gateway,
        radius: args.radius * METRE,
        prefix: args.prefix,
    };
    let report = bots_journal::play(options, stopped, journal).await;
    let text = serde_json::to_string(&report).unwrap_or_default();
    match &args.report {
        Some(path) => std::fs::write(path, text)
            .map_err(|e| Failure::new(USAGE, format!("cannot write {}: {e}", path.display())))?,
        None => crate::verbs::print_line(&text),
    }
    Ok(u8::from(!is_good(&report)))
}

const fn is_good(report: &BotsReport) -> bool {
    report.unanswered == 0 && report.view_errors == 0
}

pub(crate) async fn etcd_standin(args: StandinArgs) -> Result<u8, Failure> {
    use marchland_runtime::standin_server::{StandinOptions, serve};
    log_as("etcd-standin", None);
    let mut watch = shutdown(args.until_stdin_ends)?;
    let listener = tokio::net::TcpListener::bind(args.listen).await.map_err(|e| {
        Failure::usage(format!("cannot listen on {}: {e}", args.listen))
            .hint("stop what holds it or choose another address with --listen")
    })?;
    let addr = listener.local_addr().map_err(|e| Failure::internal(e.to_string()))?;
    write_ready(args.ready_file.as_deref(), &addr.to_string(), "", "");
    let options = StandinOptions { data_file: args.data_file, ..StandinOptions::default() };
    let ended = serve(listener, options, async move { watch.asked().await }).await;
    ended.map(|()| 0).map_err(|e| Failure::new(INTERNAL, e.to_string()))
}
