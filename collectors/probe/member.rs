//! The control group of a process in one hierarchy.

use super::{Unread, file, nice};
use crate::Root;
use topotop_model::locale::fix::machine as text;

/// Its path below the mount, of the hierarchy that has a controller; of version 2 without one.
pub(super) fn value(root: &Root, pid: u32, starttime: u64, controller: &str) -> Result<String, Unread> {
    let path = format!("/proc/{pid}/cgroup");
    let text = file::text(root, &path)?;
    // Read before: what was read is of this process.
    nice::state(root, pid, starttime)?;
    let found = text.lines().find_map(|line| own(line, controller));
    found
        .map(str::to_owned)
        .ok_or_else(|| Unread::because(text::NoHierarchy { path: &path, controller: &controller }.to_string()))
}

/// `/web` of `4:cpu,cpuacct:/web`.
fn own<'a>(line: &'a str, controller: &str) -> Option<&'a str> {
    let (id, rest) = line.split_once(':')?;
    let (names, path) = rest.split_once(':')?;
    let is_two = id == "0" && names.is_empty();
    let is_it = if controller.is_empty() { is_two } else { names.split(',').any(|name| name == controller) };
    is_it.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::own;

    #[test]
    fn a_line_is_of_a_hierarchy() {
        assert_eq!(own("4:cpu,cpuacct:/web:1", "cpuacct"), Some("/web:1"));
        assert_eq!(own("0::/a b", ""), Some("/a b"));
        for (line, controller) in
            [("4:cpu,cpuacct:/web", "cpuset"), ("1:name=systemd:/", ""), ("0::/a", "cpu"), ("", "")]
        {
            assert_eq!(own(line, controller), None, "{line}");
        }
    }
}
