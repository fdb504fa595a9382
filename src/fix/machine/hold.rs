//! Processes that are kept hold of: while their descriptor is open it is theirs, whoever has their number. And groups:
//! while the descriptor is open, the kernel gives their inode to no other one.

use super::whose;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::path::Path;
use topotop_model::fix::Identity;

/// Tells whether what was there when it was made is there still.
#[derive(Debug, Default)]
pub struct Hold {
    process: Option<OwnedFd>,
    _group: Option<OwnedFd>,
    is_gone: bool,
}

impl Hold {
    /// Of a process or a group; there is nothing to hold of anything else, and no process before Linux 5.3.
    pub fn of(identity: &Identity) -> Self {
        let pid = match identity {
            Identity::Process { pid, .. } => pid,
            Identity::Cgroup { directory, .. } => {
                let group = whose::open(CWD, Path::new(directory), OFlags::PATH | OFlags::DIRECTORY).ok();
                return Self { _group: group, ..Self::default() };
            }
            _ => return Self::default(),
        };
        let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw) else { return Self::gone() };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => Self { process: Some(process), ..Self::default() },
            Err(Errno::SRCH) => Self::gone(),
            Err(_) => Self::default(),
        }
    }

    /// Of something that is not there.
    pub fn gone() -> Self {
        Self { is_gone: true, ..Self::default() }
    }

    /// False once the process has exited.
    pub fn is_there(&self) -> bool {
        let has_ended = |process: &OwnedFd| {
            let mut polled = [PollFd::new(process, PollFlags::IN)];
            poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        };
        !self.is_gone && !self.process.as_ref().is_some_and(has_ended)
    }
}

#[cfg(test)]
mod tests {
    use super::Hold;
    use topotop_model::fix::Identity;

    #[test]
    fn a_process_that_ends_is_missed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("started");
        let identity = Identity::Process { pid: child.id(), starttime: 0, comm: String::new() };
        let hold = Hold::of(&identity);
        assert!(hold.is_there());
        child.kill().expect("ended");
        child.wait().expect("collected");
        assert!(!hold.is_there());
        assert!(!Hold::of(&identity).is_there());
        assert!(Hold::of(&Identity::Host).is_there());
    }
}
