//! Moves a process to a control group: its number goes to `cgroup.procs` of the group.

use super::{Trouble, file};
use rustix::io::Errno;
use std::path::{Component, Path};
use topotop_collectors::{Root, probe};
use topotop_model::fix::{Identity, Target};
use topotop_model::locale::fix::machine as text;

/// To the group of a path below the mount, with all its threads.
pub(super) fn write(
    root: &Root,
    target: &Target,
    (pid, mount): (u32, &str),
    group: &str,
    whose: &[Identity],
) -> Result<(), Trouble> {
    let inside = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !group.starts_with('/') || !Path::new(group).components().all(inside) {
        return Err(Trouble::because(text::NotBelow { group: &group, mount: &mount }.to_string()));
    }
    // The number may be another process's by now.
    probe::value(root, target, "").map_err(|unread| Trouble::because(unread.to_string()))?;
    let path = format!("{}{}/cgroup.procs", mount.trim_end_matches('/'), group.trim_end_matches('/'));
    file::write(&path, &pid.to_string(), whose).map_err(|trouble| match trouble.errno.map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => Trouble { message: text::Gone { name: &path }.to_string(), ..trouble },
        Some(Errno::NOSPC) => Trouble { message: text::EmptyCpuset { group: &group }.to_string(), ..trouble },
        Some(Errno::BUSY) => Trouble { message: text::HasChildren { group: &group }.to_string(), ..trouble },
        _ => trouble,
    })
}
