//! Bytes of a process by node: `0:1048576 3:4096`. The kernel walks every page for it: read once.

pub use crate::memory_by_node::{areas, bytes_by_node};

use super::Unread;
use crate::Root;
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

pub(super) fn value(root: &Root, pid: u32, starttime: u64) -> Result<String, Unread> {
    let bytes = bytes_by_node(root, pid, starttime).map_err(|reason| match reason {
        Reason::NotFound if root.exists(format!("proc/{pid}")) => {
            Unread { why: text::NO_PAGE_NODES.to_string(), needs: "CONFIG_NUMA".to_owned() }
        }
        Reason::Vanished | Reason::NotFound => Unread::because(text::ProcessExited { pid: &pid }.to_string()),
        Reason::PermissionDenied => Unread {
            why: format!("/proc/{pid}/numa_maps: {}", Reason::PermissionDenied.text()),
            needs: "CAP_SYS_PTRACE or root".to_owned(),
        },
        reason => Unread::file(&format!("/proc/{pid}/numa_maps"), reason),
    })?;
    Ok(bytes.iter().map(|(node, bytes)| format!("{node}:{bytes}")).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::values;
    use crate::Root;
    use topotop_model::fix::Target;

    #[test]
    fn pages_are_told_by_node() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = dir.path().join("proc/7");
        std::fs::create_dir_all(&at).expect("made");
        std::fs::write(at.join("stat"), "7 (a) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 880 1 1 1 1\n")
            .expect("written");
        let maps = "00400000 default file=/bin/a mapped=3 N0=3 kernelpagesize_kB=4\n\
            7f00 bind:3 anon=16 dirty=16 N0=4 N3=12 kernelpagesize_kB=4\n";
        std::fs::write(at.join("numa_maps"), maps).expect("written");
        let root = Root::at(dir.path()).expect("a root");
        let reported = |starttime| values(&root, &Target::Pages { pid: 7, starttime });
        assert_eq!(reported(880).expect("values"), [(String::new(), "0:16384 3:49152".to_owned())]);
        assert_eq!(reported(881).expect_err("another").why, "process 7 has exited");
        std::fs::remove_file(at.join("numa_maps")).expect("removed");
        assert_eq!(reported(880).expect_err("no such file").needs, "CONFIG_NUMA");
    }
}
