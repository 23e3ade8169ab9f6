//! Docker, through its own program: whatever that is set up to talk to is where the containers are.

use crate::exit::{Failure, INTERNAL, TIMEOUT, UNREACHABLE};
use std::io::ErrorKind;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// How long an order to the engine may take.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// How long whoever is asked to end may take, before the engine kills it.
const GRACE_SECONDS: &str = "20";
/// How long it may take until everybody ended, and whatever else takes as long.
pub(super) const LONG_MAX: Duration = Duration::from_secs(40);

/// What a program said.
pub(super) struct Said {
    pub(super) out: String,
    pub(super) err: String,
}

/// Orders something, and gives what was said to standard output.
pub(super) async fn docker(words: &[&str]) -> Result<String, Failure> {
    docker_within(words, ANSWER_MAX).await
}

/// The same when it may take longer.
pub(super) async fn docker_within(words: &[&str], within: Duration) -> Result<String, Failure> {
    let mut command = Command::new("docker");
    command.args(words);
    run(command, within).await.map(|said| said.out)
}

/// Both streams of what a container said.
pub(super) async fn logs(words: &[&str]) -> Result<Said, Failure> {
    let mut command = Command::new("docker");
    command.arg("logs").args(words);
    run(command, ANSWER_MAX).await
}

/// Asks containers to end, and waits until they did.
pub(super) async fn stop<'a>(ids: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    let mut words = vec!["stop", "-t", GRACE_SECONDS];
    words.extend(ids);
    if words.len() > 3 {
        docker_within(&words, LONG_MAX).await?;
    }
    Ok(())
}

/// Runs a program to its end, and fails with what it said if that is not 0.
pub(super) async fn run(mut command: Command, within: Duration) -> Result<Said, Failure> {
    let words = words_of(&command);
    // Ctrl-C is for the drill, which ends what it began; its helpers must not be torn off.
    command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    let ended = timeout(within, command.output()).await;
    let ended = ended.map_err(|_| {
        Failure::new(TIMEOUT, format!("`{words}` did not end within {within:?}"))
            .hint("look with `docker ps` what became of the containers")
    })?;
    let Output { status, stdout, stderr } = ended.map_err(|e| absent(&words, &e))?;
    let [out, err] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if status.success() {
        return Ok(Said { out, err });
    }
    Err(refused(&words, &err))
}

fn words_of(command: &Command) -> String {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn absent(words: &str, error: &std::io::Error) -> Failure {
    let program = words.split(' ').next().unwrap_or(words);
    match error.kind() {
        ErrorKind::NotFound => Failure::new(UNREACHABLE, format!("there is no `{program}` here"))
            .hint("install Docker, or leave --against out: the drill starts a cluster of its own"),
        _ => Failure::internal(format!("cannot run `{words}`: {error}")),
    }
}

fn refused(words: &str, said: &str) -> Failure {
    let said = said.trim();
    let engine =
        ["Cannot connect to the Docker daemon", "permission denied", "error during connect"];
    if engine.iter().any(|sign| said.contains(sign)) {
        return Failure::new(UNREACHABLE, format!("no Docker engine answers: {said}"))
            .hint("start it, or leave --against out: the drill starts a cluster of its own");
    }
    Failure::new(INTERNAL, format!("`{words}` failed: {said}"))
}
