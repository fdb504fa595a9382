//! Limits of dirty memory: two settings of which one is in force, the other one being zero.

use super::{Unread, file};
use crate::Root;

/// `bytes 1073741824` or `ratio 20`.
pub(super) fn value(root: &Root, background: bool) -> Result<String, Unread> {
    let read = |name: &str| file::value(root, &path(background, name));
    let bytes = read("bytes")?;
    if bytes.parse::<u64>().is_ok_and(|bytes| bytes > 0) {
        Ok(format!("bytes {bytes}"))
    } else {
        Ok(format!("ratio {}", read("ratio")?))
    }
}

/// The file of one of the two: `bytes` or `ratio`.
pub fn path(background: bool, name: &str) -> String {
    let which = if background { "dirty_background" } else { "dirty" };
    format!("/proc/sys/vm/{which}_{name}")
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::Root;

    #[test]
    fn the_one_in_force() {
        let dir = tempfile::tempdir().expect("a directory");
        let vm = dir.path().join("proc/sys/vm");
        std::fs::create_dir_all(&vm).expect("made");
        let put = |name: &str, text: &str| std::fs::write(vm.join(name), text).expect("written");
        put("dirty_bytes", "0\n");
        put("dirty_ratio", "20\n");
        put("dirty_background_bytes", "4096\n");
        let root = Root::at(dir.path()).expect("a root");
        assert_eq!(value(&root, false).as_deref(), Ok("ratio 20"));
        assert_eq!(value(&root, true).as_deref(), Ok("bytes 4096"));
        std::fs::remove_file(vm.join("dirty_ratio")).expect("removed");
        assert!(value(&root, false).is_err());
    }
}
