//! Nice values of a process's threads, and whether a process is stopped.

use super::Unread;
use super::threads::ordinary;
use crate::Root;
use crate::processes::stat;
use rustix::process::{Pid, getpriority_process};
use topotop_model::locale::fix::machine as text;

/// Of each thread; only a running kernel has them.
pub(super) fn values(root: &Root, pid: u32, starttime: u64) -> Result<Vec<(String, String)>, Unread> {
    if !root.is_live() {
        return Err(Unread::because(text::CAPTURE_NICE));
    }
    let mut values = Vec::new();
    for thread in ordinary(root, pid, starttime)? {
        let tid = i32::try_from(thread.tid).ok().and_then(Pid::from_raw);
        match tid.map(|tid| getpriority_process(Some(tid))) {
            Some(Ok(nice)) => values.push((thread.key(), nice.to_string())),
            // It ended since the directory was read.
            Some(Err(rustix::io::Errno::SRCH)) | None => {}
            Some(Err(errno)) => return Err(Unread::because(format!("{}: {errno}", thread.directory))),
        }
    }
    if values.is_empty() { Err(Unread::because(text::NoOrdinaryThread { pid: &pid }.to_string())) } else { Ok(values) }
}

/// `stopped` or `running` of a process that is still that one.
pub(super) fn state(root: &Root, pid: u32, starttime: u64) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    let path = format!("proc/{pid}/stat");
    root.read(&path, &mut bytes).map_err(|reason| Unread::file(&format!("/{path}"), reason))?;
    match stat::parse(&bytes).filter(|stat| stat.starttime == starttime && !matches!(stat.state, b'Z' | b'X')) {
        Some(stat) if matches!(stat.state, b'T' | b't') => Ok("stopped".to_owned()),
        Some(_) => Ok("running".to_owned()),
        None => Err(Unread::because(text::ProcessExited { pid: &pid }.to_string())),
    }
}
