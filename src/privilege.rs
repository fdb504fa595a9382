//! Rights that a verb does not need are given away before it reads anything: what reads as root cannot write as root.

use crate::output::broker::{self, Places};
use crate::output::is_stdout;
use crate::starvation;
use crate::sys::seccomp::Without;
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use topotop_model::locale::error as text;

/// What a process goes on to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// It reads this machine.
    Observe,
    /// It reads a captured machine.
    Captured,
    /// It tells a recording process something, and reads nothing but who records.
    Tell,
    /// It reads recordings.
    Decode,
}

impl Task {
    /// The capabilities that it uses.
    fn capabilities(self) -> CapabilitySet {
        match self {
            // Files that others may not read; other users' processes; sockets in other network namespaces.
            Self::Observe => CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_PTRACE | CapabilitySet::SYS_ADMIN,
            Self::Captured | Self::Tell | Self::Decode => CapabilitySet::DAC_READ_SEARCH,
        }
    }
}

/// True where this process has capabilities to give away.
pub(crate) fn has_any() -> bool {
    capabilities(None).is_ok_and(|own| !own.permitted.is_empty())
}

/// Keeps what a task needs of the capabilities that this process has, for itself and for all that it starts. Before any
/// other thread starts: each has capabilities of its own.
pub(crate) fn restrict(task: Task, output: Option<&Path>) -> Result<(), String> {
    restrict_to(task, Places::of(output))
}

/// The same with several places for outputs.
pub(crate) fn restrict_to(task: Task, places: Places) -> Result<(), String> {
    restrict_beside(task, places, None)
}

/// The same for a process that goes on to pass signals on to a child.
pub(crate) fn restrict_beside(task: Task, places: Places, child: Option<u32>) -> Result<(), String> {
    if task == Task::Observe {
        topotop_collectors::hold_kernel_log();
        starvation::allow();
    }
    give_up(task, places, child)?;
    if task == Task::Observe {
        starvation::watch();
    } else {
        starvation::relax();
    }
    Ok(())
}

/// What somebody may do to their own files takes no capability: what reads a machine as root, a captured machine or a
/// recording leaves its outputs to a broker.
fn give_up(task: Task, places: Places, child: Option<u32>) -> Result<(), String> {
    let own = capabilities(None).map_err(failed)?.permitted;
    let kept = |error: &dyn std::fmt::Display| text::PrivilegesKept { error: &error }.to_string();
    let without = match task {
        Task::Decode => Without::FilesReading,
        Task::Captured => Without::Files,
        Task::Observe if rustix::process::geteuid().is_root() => Without::Files,
        Task::Observe | Task::Tell => Without::Changes,
    };
    let is_confined = without != Without::Changes;
    // Who observes has systemd asked, too.
    let has_broker = is_confined && (task == Task::Observe || places.any(|_| true));
    let elsewhere = if places.any(is_elsewhere) { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() };
    if is_confined {
        topotop_collectors::sys::null::descriptor().map_err(|error| kept(&error))?;
    }
    if has_broker {
        let hand = CapabilitySet::DAC_READ_SEARCH | elsewhere;
        broker::start(places, || keep_only(own & hand, Without::Machine, None))?;
    }
    if task != Task::Observe {
        crate::sys::landlock::confine(task == Task::Decode).map_err(|error| kept(&error))?;
    }
    let keep = if has_broker { task.capabilities() } else { task.capabilities() | elsewhere };
    if own.is_empty() && !is_confined { Ok(()) } else { keep_only(own & keep, without, child) }
}

fn failed(errno: Errno) -> String {
    text::PrivilegesKept { error: &topotop_collectors::state::words(errno) }.to_string()
}

/// Keeps these capabilities, of this thread and what it starts, and no more.
fn keep_only(keep: CapabilitySet, without: Without, child: Option<u32>) -> Result<(), String> {
    set_no_new_privs(true).map_err(failed)?;
    clear_ambient_capability_set().or_else(unless(Errno::INVAL)).map_err(failed)?;
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        if !keep.contains(capability) {
            match remove_capability_from_bounding_set(capability) {
                // Kernels know as many as they know; without CAP_SETPCAP the set stays, and nothing that is started gains
                // rights all the same.
                Ok(()) | Err(Errno::PERM) => {}
                Err(Errno::INVAL) => break,
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
    crate::sys::seccomp::forbid(without, child).map_err(|error| text::PrivilegesKept { error: &error }.to_string())?;
    let sets = CapabilitySets { effective: keep, permitted: keep, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(failed)
}

fn unless(known: Errno) -> impl FnOnce(Errno) -> Result<(), Errno> {
    move |errno| if errno == known { Ok(()) } else { Err(errno) }
}

/// True for a file in a folder of another user's, which root may write to by a capability only.
pub(crate) fn is_elsewhere(path: &Path) -> bool {
    if is_stdout(path) || path.starts_with("/dev") || path.starts_with("/proc") {
        return false;
    }
    // The folder itself for documents of several files.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let own = rustix::process::geteuid().as_raw();
    let foreign = |path: &Path| std::fs::metadata(path).ok().map(|facts| facts.uid() != own);
    // Folders that are still to be made are made in the nearest one that there is.
    let mut above =
        path.ancestors().skip(1).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    foreign(path) == Some(true) || above.find_map(foreign) == Some(true)
}
