//! A file that holds one value.

use super::Unread;
use crate::Root;
use topotop_model::locale::fix::machine as text;
use topotop_model::text::from_bytes;

/// Files of one value are short: what is longer is none.
const MAX_BYTES: usize = 64 << 10;

/// The value without the newline and the blanks around it: `cpuset.mems` of a group that has none reads as nothing.
pub(super) fn value(root: &Root, path: &str) -> Result<String, Unread> {
    text(root, path).map(|text| text.trim().to_owned())
}

/// All of a short file.
pub(super) fn text(root: &Root, path: &str) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    root.read(path, &mut bytes).map_err(|reason| Unread::file(path, reason))?;
    if bytes.len() > MAX_BYTES {
        return Err(Unread::because(text::TooLong { path: &path, count: &bytes.len() }.to_string()));
    }
    Ok(from_bytes(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::values;
    use crate::Root;
    use topotop_model::fix::Target;

    #[test]
    fn values_are_read_below_the_root_only() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("proc/sys/vm")).expect("made");
        std::fs::write(dir.path().join("proc/sys/vm/swappiness"), " 60\n").expect("written");
        std::fs::write(dir.path().join("proc/sys/vm/huge"), vec![b'1'; 100_000]).expect("written");
        std::os::unix::fs::symlink("/proc/version", dir.path().join("proc/sys/vm/out")).expect("linked");
        let root = Root::at(dir.path()).expect("a root");
        let read = |path: &str| values(&root, &Target::file(path));
        assert_eq!(read("/proc/sys/vm/swappiness"), Ok(vec![(String::new(), "60".to_owned())]));
        for path in ["/proc/sys/vm/huge", "/proc/sys/vm/out", "/proc/sys/vm", "/proc/sys/vm/none"] {
            assert!(read(path).is_err(), "{path}");
        }
    }
}
