//! Nice values of a process's threads, and whether a process is stopped.

use super::Unread;
use super::threads::{Ordinary, values_of};
use crate::Root;
use crate::processes::stat;
use crate::root::reason;
use rustix::process::{Pid, getpriority_process};
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

/// Of each thread; only a running kernel has them.
pub(super) fn values(root: &Root, pid: u32, starttime: u64) -> Result<Vec<(String, String)>, Unread> {
    if !root.is_live() {
        return Err(Unread::because(text::CAPTURE_NICE));
    }
    let values = values_of(root, pid, starttime, nice)?;
    if values.is_empty() { Err(Unread::because(text::NoOrdinaryThread { pid: &pid }.to_string())) } else { Ok(values) }
}

/// Of one thread.
pub(super) fn nice(_: &Root, thread: &Ordinary) -> Result<String, Reason> {
    let tid = i32::try_from(thread.tid).ok().and_then(Pid::from_raw).ok_or(Reason::NotFound)?;
    getpriority_process(Some(tid)).map(|nice| nice.to_string()).map_err(reason)
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
