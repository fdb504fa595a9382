//! Lists of a control group's cpuset: an empty one is inherited, and the kernel takes none while processes are in the
//! group; then what the group above has is written, which is the same for now.

use super::{Trouble, file};
use topotop_collectors::Root;
use topotop_model::fix::Identity;

/// True for an empty list of a cpuset's own.
pub(super) fn is_inherited(path: &str, value: &str) -> bool {
    value.trim().is_empty() && own_list(path).is_some()
}

/// Writes an empty list, else that of the group above.
pub(super) fn inherit(root: &Root, path: &str, whose: &[Identity]) -> Result<(), Trouble> {
    let Err(refused) = file::write(path, "", whose) else { return Ok(()) };
    let Some(above) = above(path) else { return Err(refused) };
    let list = root.read_text(above.trim_start_matches('/')).map_err(|_| refused.clone())?;
    file::write(path, list.trim(), whose).map_err(|_| refused)
}

fn own_list(path: &str) -> Option<&str> {
    ["cpuset.cpus", "cpuset.mems"].into_iter().find(|name| path.rsplit('/').next() == Some(name))
}

/// Where the group above tells its list.
fn above(path: &str) -> Option<String> {
    let name = own_list(path)?;
    let group = path.strip_suffix(name)?.trim_end_matches('/');
    let (above, _) = group.rsplit_once('/')?;
    Some(format!("{above}/{name}.effective"))
}

#[cfg(test)]
mod tests {
    use super::{above, is_inherited};

    #[test]
    fn the_group_above_is_told_by_the_path() {
        let cases = [
            ("/sys/fs/cgroup/a/b/cpuset.mems", Some("/sys/fs/cgroup/a/cpuset.mems.effective")),
            ("/sys/fs/cgroup/a/cpuset.cpus", Some("/sys/fs/cgroup/cpuset.cpus.effective")),
            ("/sys/fs/cgroup/a/cpuset.cpus.partition", None),
            ("/sys/fs/cgroup/a/memory.max", None),
        ];
        for (path, expected) in cases {
            assert_eq!(above(path).as_deref(), expected, "{path}");
            assert_eq!(is_inherited(path, "\n"), expected.is_some());
            assert!(!is_inherited(path, "0"));
        }
    }
}
