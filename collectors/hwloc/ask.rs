//! The parent's side: runs the child in a worker, within limits of time and size.

use super::{Answer, VERB};
use crate::Root;
use crate::worker::Worker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use topotop_model::Reason;

/// How long the child may take: libhwloc needs milliseconds, a big and slow tree some hundred.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The longest answer.
const SIZE_LIMIT: usize = 4 << 20;
/// How long a complete reading waits for it.
const PATIENCE: Duration = Duration::from_millis(500);

type Result = std::result::Result<Answer, Reason>;

/// Runs libhwloc and keeps its last reply.
#[derive(Debug)]
pub(crate) struct Asker {
    program: PathBuf,
    worker: Option<Worker<Option<PathBuf>, Result>>,
    last: Option<Result>,
}

impl Asker {
    /// Asks by running `program`.
    pub(crate) fn new(program: PathBuf) -> Self {
        Self { program, worker: None, last: None }
    }

    /// Asks about a root; what comes of it is found by `poll` later.
    pub(crate) fn ask(&mut self, root: &Root) {
        let job = (!root.is_live()).then(|| root.path().to_path_buf());
        if self.worker.is_none() {
            let program = self.program.clone();
            self.worker = Worker::spawn("hwloc", move |root: Option<PathBuf>| run(&program, root.as_deref())).ok();
        }
        match &mut self.worker {
            // One question at a time: the answer to it is as good.
            Some(worker) if worker.pending() > 0 => {}
            Some(worker) => {
                worker.submit(job);
            }
            None => self.last = Some(Err(Reason::NotSupported)),
        }
    }

    /// True when there is a new answer; a complete reading waits for it.
    pub(crate) fn poll(&mut self, complete: bool) -> bool {
        let Some(worker) = &mut self.worker else { return false };
        let mut answer = worker.take();
        if answer.is_none() && complete && worker.pending() > 0 {
            answer = worker.wait(PATIENCE);
            if answer.is_none() {
                self.last = Some(Err(Reason::TimedOut));
                return true;
            }
        }
        let new = answer.is_some();
        if new {
            self.last = answer;
        }
        new
    }

    /// The last reply.
    pub(crate) fn last(&self) -> Option<&Result> {
        self.last.as_ref()
    }
}

/// Runs the child and reads its answer.
fn run(program: &Path, root: Option<&Path>) -> Result {
    let mut command = Command::new(program);
    command.arg(VERB).args(root).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(crate::sys::null::output());
    // What a user set for other programs must not describe another machine here.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"HWLOC_")) {
        command.env_remove(name);
    }
    if let Some(root) = root {
        command.env("HWLOC_FSROOT", root);
    }
    let mut child = crate::sys::child::with_own_limit(&mut command).spawn().map_err(|_| Reason::NotSupported)?;
    let answer = read(&mut child, Instant::now() + TIME_LIMIT);
    // Gone already, or to be stopped: either way its status is taken.
    let _ = child.kill();
    let _ = child.wait();
    Answer::parse(&answer?).ok_or(Reason::Malformed)
}

fn read(child: &mut Child, until: Instant) -> std::result::Result<Vec<u8>, Reason> {
    let mut pipe = child.stdout.take().ok_or(Reason::NotSupported)?;
    let mut answer = Vec::new();
    let mut part = [0; 8192];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| Reason::NotSupported)?;
        let ready = poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&timeout));
        match ready {
            Ok(0) => return Err(Reason::TimedOut),
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(crate::root::reason(errno)),
            Ok(_) => {}
        }
        match pipe.read(&mut part) {
            Ok(0) => return Ok(answer),
            Ok(len) => answer.extend_from_slice(part.get(..len).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Reason::NotSupported),
        }
        if answer.len() > SIZE_LIMIT {
            return Err(Reason::Malformed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::run;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use topotop_model::Reason;

    /// A program that is a shell script.
    fn script(dir: &Path, text: &str) -> std::path::PathBuf {
        let path = dir.join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("made executable");
        path
    }

    #[test]
    fn what_a_child_may_do_wrong_is_a_reason() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let good = script(dir.path(), "echo topotop-hwloc 1; echo \"group 0-$(( $# ))\"; echo end");
        let answer = run(&good, Some(dir.path())).expect("an answer");
        assert_eq!(answer.groups.first().map(ToString::to_string).as_deref(), Some("0-2"), "the verb and the root");
        let bad = script(dir.path(), "kill -ABRT $$");
        assert_eq!(run(&bad, None), Err(Reason::Malformed));
        let endless = script(dir.path(), "exec cat /dev/zero");
        assert_eq!(run(&endless, None), Err(Reason::Malformed));
        assert_eq!(run(&dir.path().join("nothing"), None), Err(Reason::NotSupported));
    }
}
