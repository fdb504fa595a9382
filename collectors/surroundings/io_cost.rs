//! Disks on which the kernel's I/O cost controller is on: `io.cost.qos` of the group at the top
//! (Documentation/admin-guide/cgroup-v2.rst).

use crate::Root;
use crate::mountinfo::Mount;
use crate::parse::lines;
use topotop_model::text::from_bytes;

/// By number, `8:16`. The file is there at the very top alone: within a container none is known to be.
pub(super) fn disks(root: &Root) -> Vec<String> {
    let mut bytes = Vec::new();
    if root.read("proc/self/mountinfo", &mut bytes).is_err() {
        return Vec::new();
    }
    let mounts: Vec<Mount> = lines(&bytes).filter_map(Mount::parse).collect();
    let two = mounts.iter().filter(|mount| mount.fs == b"cgroup2");
    let texts = two.filter_map(|mount| root.read_text(format!("{}/io.cost.qos", from_bytes(&mount.point))).ok());
    texts.flat_map(|text| on(&text)).collect()
}

/// Those of the lines that say `enable=1`: `8:16 enable=1 ctrl=auto rpct=95.00 …`.
fn on(text: &str) -> Vec<String> {
    let number = |line: &str| {
        let mut words = line.split_whitespace();
        let number = words.next()?;
        let (major, minor) = number.split_once(':')?;
        let is_number = major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok();
        (is_number && words.any(|word| word == "enable=1")).then(|| number.to_owned())
    };
    text.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::{disks, on};
    use crate::Root;
    use proptest::prelude::*;

    #[test]
    fn disks_that_are_on_are_found_where_groups_are_mounted() {
        let dir = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| crate::testing::put(dir.path(), path, text);
        let read = || disks(&Root::at(dir.path()).expect("a root"));
        assert_eq!(read(), Vec::<String>::new());
        put("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cg\\040two rw - cgroup2 cgroup2 rw\nrubbish\n");
        assert_eq!(read(), Vec::<String>::new());
        put(
            "sys/fs/cg two/io.cost.qos",
            "8:16 enable=1 ctrl=auto rpct=0.00 rlat=250000 wpct=0.00 wlat=250000 min=1.00 max=10000.00\n\
             8:32 enable=0 ctrl=user rpct=0.00\nx:1 enable=1\n",
        );
        assert_eq!(read(), ["8:16"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = on(&text);
        }
    }
}
