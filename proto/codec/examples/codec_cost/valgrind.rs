//! Exact counts of a run of this program: instructions by callgrind, allocations by dhat.

use std::process::Command;

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error("valgrind does not start ({0}); install the package `valgrind`")]
    Missing(std::io::Error),
    #[error("valgrind did not print `{0}`; it said:\n{1}")]
    NoCount(&'static str, String),
    #[error("the run of {0} failed:\n{1}")]
    Failed(String, String),
}

/// Instructions that `mode` executes in `ticks` ticks.
pub fn instructions(mode: &str, ticks: u64) -> Result<u64, CountError> {
    // The profile itself is not needed: the total is in the closing lines.
    let printed = run(&["--tool=callgrind", "--callgrind-out-file=/dev/null"], mode, ticks)?;
    number_after(printed, "Collected :")
}

/// Heap blocks that `mode` allocates in `ticks` ticks.
pub fn allocations(mode: &str, ticks: u64) -> Result<u64, CountError> {
    let printed = run(&["--tool=dhat", "--dhat-out-file=/dev/null"], mode, ticks)?;
    number_after(printed, "bytes in")
}

fn run(tool: &[&str], mode: &str, ticks: u64) -> Result<String, CountError> {
    let program = std::env::current_exe().map_err(CountError::Missing)?;
    let output = Command::new("valgrind")
        .args(tool)
        .arg(program)
        .args([mode, &ticks.to_string()])
        .output()
        .map_err(CountError::Missing)?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(printed)
    } else {
        Err(CountError::Failed(mode.into(), printed))
    }
}

/// The first number behind the first `label`.
fn number_after(printed: String, label: &'static str) -> Result<u64, CountError> {
    let found = printed.split_once(label).and_then(|(_, rest)| {
        let digits: String = rest.split_whitespace().next()?.replace(',', "");
        digits.parse().ok()
    });
    found.ok_or(CountError::NoCount(label, printed))
}
