//! What could not be read of processes, one row per file and reason, however many processes there are.

use crate::Root;
use crate::rights::{self, Needs};
use std::borrow::Cow;
use topotop_model::{Gaps, Reason};

/// The files that are tried per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    /// `stat`
    Stat,
    /// `status`
    Status,
    /// `cgroup`
    Cgroup,
    /// `cmdline`
    Cmdline,
    /// `schedstat`
    Schedstat,
    /// `io`
    Io,
    /// `task`
    Task,
}

const FILES: [File; 7] = [File::Stat, File::Status, File::Cgroup, File::Cmdline, File::Schedstat, File::Io, File::Task];

impl File {
    fn pattern(self) -> &'static str {
        match self {
            Self::Stat => "proc/*/stat",
            Self::Status => "proc/*/status",
            Self::Cgroup => "proc/*/cgroup",
            Self::Cmdline => "proc/*/cmdline",
            Self::Schedstat => "proc/*/schedstat",
            Self::Io => "proc/*/io",
            Self::Task => "proc/*/task",
        }
    }

    fn needs(self, reason: Reason, root: &Root) -> Cow<'static, str> {
        let ptrace = || rights::needs(root, Needs::Ptrace);
        match (self, reason) {
            (_, Reason::NotFound) if !root.is_live() => topotop_model::locale::needs::CAPTURE_INCLUDES.english().into(),
            (Self::Io, Reason::PermissionDenied) => ptrace().into(),
            (Self::Io, Reason::NotFound) => "CONFIG_TASK_IO_ACCOUNTING".into(),
            (Self::Schedstat, Reason::NotFound) => "CONFIG_SCHED_INFO".into(),
            (Self::Cgroup, Reason::NotFound) => "CONFIG_CGROUPS".into(),
            (_, Reason::PermissionDenied) => format!("{}, or proc mounted without hidepid", ptrace()).into(),
            _ => "".into(),
        }
    }
}

/// Which files of one process could not be read at the last try.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failed([Option<Reason>; FILES.len()]);

impl Failed {
    /// Notes how a try went.
    pub(super) fn note<T>(&mut self, file: File, tried: Result<T, Reason>) -> Option<T> {
        if let Some(cell) = self.0.get_mut(file as usize) {
            *cell = tried.as_ref().err().copied();
        }
        tried.ok()
    }

    /// Why a file could not be read, if it could not.
    pub(super) fn why(self, file: File) -> Option<Reason> {
        self.0.get(file as usize).copied().flatten()
    }
}

/// Counts over all processes, and the last process of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts([[(u64, u32); Reason::ALL.len()]; FILES.len()]);

impl Counts {
    /// Adds one process.
    pub(super) fn add(&mut self, pid: u32, failed: Failed) {
        for file in FILES {
            if let Some(reason) = failed.why(file) {
                self.one(file, pid, reason);
            }
        }
    }

    /// Adds one file.
    pub(super) fn one(&mut self, file: File, pid: u32, reason: Reason) {
        let cell = self.0.get_mut(file as usize).and_then(|row| row.get_mut(reason.code() as usize));
        if let Some(cell) = cell {
            *cell = (cell.0 + 1, pid);
        }
    }

    /// Writes them down; processes that end are no gap. One that may not be read is named: it is why the file is listed.
    pub(super) fn write(&self, gaps: &mut Gaps, root: &Root) {
        for (file, row) in FILES.iter().zip(&self.0) {
            for (&(count, pid), reason) in row.iter().zip(Reason::ALL) {
                let path = match (count, reason) {
                    (0, _) | (_, Reason::Vanished) => continue,
                    (1, Reason::PermissionDenied) => file.pattern().replace('*', &pid.to_string()).into(),
                    _ => Cow::Borrowed(file.pattern()),
                };
                gaps.add_many(&path, reason, &file.needs(reason, root), count);
            }
        }
    }
}
