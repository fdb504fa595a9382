//! System calls that no library wraps safely, each behind a safe function. Those that change something (`set_…`, `move_…`)
//! are for the applier alone.

pub mod addresses;
pub mod affinity;
pub mod child;
pub mod ethtool;
pub mod inherited;
pub mod ioprio;
pub mod netlink;
pub mod null;
pub mod pages;
pub mod qdisc;
pub mod xdp;

/// The errno of the system call that has just failed on this thread.
fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or_default())
}
