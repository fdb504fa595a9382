//! What takes page cache from a control group: files that can only be written, and hold no value.

use super::{Unread, file};
use crate::Root;
use crate::parse::{lines, number, trim};
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

/// Nothing, where the file is there.
pub(super) fn value(root: &Root, path: &str, needs: &str) -> Result<String, Unread> {
    match root.kind(path) {
        Ok(_) => Ok(String::new()),
        Err(Reason::NotFound | Reason::Vanished) => {
            Err(Unread { why: format!("{path}: {}", Reason::NotFound.text()), needs: needs.to_owned() })
        }
        Err(reason) => Err(Unread::file(path, reason)),
    }
}

/// Bytes of a group's page cache that are inactive and neither dirty nor on their way to a disk, by its `memory.stat`.
pub fn cold_bytes(root: &Root, stat: &str) -> Result<u64, Unread> {
    let text = file::text(root, stat)?;
    let row = |name: &str| find(&text, name);
    let unread = || Unread::because(text::Lacks { path: &stat, field: &"inactive_file" }.to_string());
    let inactive = row("inactive_file").ok_or_else(unread)?;
    let busy = row("file_dirty").unwrap_or(0).saturating_add(row("file_writeback").unwrap_or(0));
    Ok(inactive.saturating_sub(busy))
}

/// Bytes that no reclaim gives back, by a group's `memory.stat`: of version 2, or the whole below it of version 1. What
/// is in swap space is not in it.
pub fn stuck_bytes(root: &Root, stat: &str, usage: &str) -> Result<u64, Unread> {
    let text = file::text(root, stat)?;
    let row = |name: &str| find(&text, &format!("total_{name}")).or_else(|| find(&text, name));
    let usage_text = file::value(root, usage)?;
    let used = number(trim(usage_text.as_bytes())).ok_or_else(|| Unread::because(format!("{usage}: {usage_text}")))?;
    let unread = || Unread::because(text::Lacks { path: &stat, field: &"active_file, inactive_file" }.to_string());
    // The lists of file pages have neither tmpfs nor what is locked on them.
    let files = row("active_file").zip(row("inactive_file")).map(|(active, inactive)| active.saturating_add(inactive));
    let given = files.ok_or_else(unread)?.saturating_add(row("slab_reclaimable").unwrap_or(0));
    Ok(used.saturating_sub(given))
}

fn find(text: &str, name: &str) -> Option<u64> {
    let row = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        let (word, rest) = line.split_at(at);
        (word == name.as_bytes()).then(|| number(trim(rest)))?
    };
    lines(text.as_bytes()).find_map(row)
}

#[cfg(test)]
mod tests {
    use super::{cold_bytes, find, stuck_bytes, value};
    use crate::Root;
    use proptest::prelude::*;

    fn group(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("g")).expect("made");
        for (name, text) in files {
            std::fs::write(dir.path().join("g").join(name), text).expect("written");
        }
        let root = Root::at(dir.path()).expect("a root");
        (dir, root)
    }

    #[test]
    fn what_is_cold_and_what_is_stuck() {
        let stat = "anon 500\nfile 700\nshmem 100\nfile_dirty 30\nfile_writeback 20\ninactive_file 400\nactive_file 200\nslab_reclaimable 10\n";
        let (_dir, root) = group(&[("memory.stat", stat), ("memory.current", "1300\n")]);
        assert_eq!(cold_bytes(&root, "/g/memory.stat"), Ok(350));
        assert_eq!(stuck_bytes(&root, "/g/memory.stat", "/g/memory.current"), Ok(690));
        let one = "cache 1\ninactive_file 1\nactive_file 1\ntotal_inactive_file 400\ntotal_active_file 200\n";
        let (_dir, root) = group(&[("memory.stat", one), ("memory.usage_in_bytes", "900\n")]);
        assert_eq!(stuck_bytes(&root, "/g/memory.stat", "/g/memory.usage_in_bytes"), Ok(300));
        let (_dir, root) = group(&[("memory.stat", "anon 5\n"), ("memory.current", "x\n")]);
        assert!(cold_bytes(&root, "/g/memory.stat").is_err());
        assert!(stuck_bytes(&root, "/g/memory.stat", "/g/memory.current").is_err());
    }

    #[test]
    fn a_file_that_is_not_there_says_what_would_have_it() {
        let (_dir, root) = group(&[("memory.reclaim", "")]);
        assert_eq!(value(&root, "/g/memory.reclaim", "Linux 5.19"), Ok(String::new()));
        let unread = value(&root, "/g/memory.force_empty", "cgroup v1").expect_err("none");
        assert_eq!(unread.to_string(), "/g/memory.force_empty: not found (requires cgroup v1)");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}", name in "[a-z]{0,4}") {
            let _ = find(&text, &name);
        }
    }
}
