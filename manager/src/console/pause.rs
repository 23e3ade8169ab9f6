//! Stopping a process of this machine for a while, as a plug that is pulled halfway. Whatever ends the
//! pause, the process goes on.

use marchland_console::Trouble;
use marchland_runtime::coord::Member;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;
use tokio::time::sleep;

/// For how long a process may be stopped, in milliseconds.
pub(super) const PAUSE_MS: std::ops::RangeInclusive<u64> = 10..=30_000;

/// A process that stands still until this is dropped.
struct Stopped(Pid);

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have ended meanwhile.
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// The process id of a member that runs on this machine.
pub(super) fn pid_of(member: &Member, host: &str) -> Result<Pid, Trouble> {
    if member.info.host != host {
        let text = format!("{} runs on {}, not here", member.info.name, member.info.host);
        return Err(Trouble::refused(text).hint("stop it there: kill -STOP, and -CONT"));
    }
    let pid = i32::try_from(member.info.pid).ok().filter(|pid| *pid > 1);
    let pid = pid.ok_or_else(|| Trouble::refused("its process id makes no sense"))?;
    if pid.unsigned_abs() == std::process::id() {
        return Err(Trouble::refused("a manager does not stop itself: nobody would let it go on"));
    }
    Ok(Pid::from_raw(pid))
}

/// Stops a process for so long.
pub(super) async fn pause(pid: Pid, within: Duration) -> Result<(), String> {
    kill(pid, Signal::SIGSTOP).map_err(|error| format!("cannot stop process {pid}: {error}"))?;
    let _stopped = Stopped(pid);
    sleep(within).await;
    Ok(())
}
