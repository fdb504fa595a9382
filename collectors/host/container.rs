//! Whether the monitor looks from inside a container: then files of the host and of the container stand side by side.

use crate::Root;
use crate::files::Files;
use crate::parse::lines;

/// Inode numbers that the kernel gives its first namespaces (`enum` in `include/linux/proc_ns.h`).
const FIRST_PID: &str = "pid:[4026531836]";
const FIRST_CGROUP: &str = "cgroup:[4026531835]";

/// True inside a container; none where that is not known.
pub(super) fn detect(files: &mut Files<'_>) -> Option<bool> {
    // Namespaces are certain where they can be read; a marker file may be left over from how an image was built.
    if let Some(first) = first_namespaces(files.root) {
        return Some(!first);
    }
    if files.root.exists(".dockerenv") || files.root.exists("run/.containerenv") {
        return Some(true);
    }
    files.bytes("proc/1/cgroup").ok().and_then(by_cgroup)
}

/// True when this process is in the namespaces that the machine booted with.
fn first_namespaces(root: &Root) -> Option<bool> {
    let link = |name: &str| {
        let link = root.link(format!("proc/self/ns/{name}")).ok()?;
        Some(link.to_str()?.to_owned())
    };
    let pid = link("pid")? == FIRST_PID;
    // Before Linux 4.6 there were none for cgroups.
    let cgroup = link("cgroup").is_none_or(|link| link == FIRST_CGROUP);
    Some(pid && cgroup)
}

/// What the cgroups of process 1 say: containers without a cgroup namespace show theirs, others nothing.
fn by_cgroup(bytes: &[u8]) -> Option<bool> {
    const SIGNS: [&str; 7] = ["docker", "kubepods", "libpod", "containerd", "lxc", "crio", "garden"];
    let mut seen = false;
    for line in lines(bytes) {
        let Some(path) = line.splitn(3, |&byte| byte == b':').nth(2) else { continue };
        seen = true;
        let path = crate::parse::text(path);
        if SIGNS.iter().any(|sign| path.contains(sign)) {
            return Some(true);
        }
    }
    seen.then_some(false)
}

#[cfg(test)]
mod tests {
    use super::by_cgroup;
    use proptest::prelude::*;

    #[test]
    fn reads_the_signs() {
        assert_eq!(by_cgroup(b"0::/init.scope\n"), Some(false));
        assert_eq!(by_cgroup(b"5:memory:/docker/0123\n0::/\n"), Some(true));
        assert_eq!(by_cgroup(b""), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = by_cgroup(&bytes);
        }
    }
}
