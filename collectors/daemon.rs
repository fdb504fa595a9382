//! Whether a process is the daemon that it is named after: any process may take any name.

use crate::Root;
use crate::processes::status;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use topotop_model::Reason;

/// True for a process of root's, outside of containers, whose program has the daemon's name: itself, or the script that an
/// interpreter runs. What a capture does not have is not held against it, and who may not see the program goes by the user.
pub(crate) fn is(root: &Root, pid: u32, name: &str, buf: &mut Vec<u8>) -> bool {
    match root.read(format!("proc/{pid}/status"), buf) {
        Ok(()) if status::is_of_root(buf) != Some(true) || status::is_nested(buf) == Some(true) => return false,
        Ok(()) => {}
        Err(reason) => return !root.is_live() && reason == Reason::NotFound,
    }
    let Ok(program) = root.link(format!("proc/{pid}/exe")) else { return true };
    let named = |path: &Path| path.file_name().is_some_and(|file| file.as_bytes() == name.as_bytes());
    // The program was replaced by another version since it was started.
    let bytes = program.as_os_str().as_bytes();
    if named(Path::new(OsStr::from_bytes(bytes.strip_suffix(b" (deleted)").unwrap_or(bytes)))) {
        return true;
    }
    let runs =
        program.file_name().is_some_and(|file| INTERPRETERS.iter().any(|name| file.as_bytes().starts_with(name)));
    if !runs || root.read(format!("proc/{pid}/cmdline"), buf).is_err() {
        return false;
    }
    let script = buf.split(|&byte| byte == 0).nth(1).map(|script| Path::new(OsStr::from_bytes(script)));
    script.is_some_and(|script| named(script) && script.is_absolute() && (!root.is_live() || is_roots(script)))
}

/// What daemons that are scripts are run by.
const INTERPRETERS: [&[u8]; 7] = [b"sh", b"dash", b"bash", b"busybox", b"python", b"perl", b"ruby"];

/// True for a file that nobody but root may have written.
fn is_roots(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|facts| facts.uid() == 0 && facts.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::is;
    use crate::Root;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_name_is_not_enough() {
        let dir = tempfile::tempdir().expect("a directory");
        let put = |pid: u32, uid: u32, exe: &str, cmdline: &str| {
            let at = dir.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&at).expect("made");
            // One that took root's rights is still somebody's.
            let real = if pid == 7 { 1000 } else { uid };
            std::fs::write(at.join("status"), format!("Name:\tx\nUid:\t{real}\t{uid}\t{uid}\t{uid}\n"))
                .expect("written");
            std::fs::write(at.join("cmdline"), cmdline).expect("written");
            symlink(exe, at.join("exe")).expect("linked");
        };
        put(1, 0, "/usr/sbin/irqbalance", "irqbalance\0");
        put(2, 1000, "/usr/sbin/irqbalance", "irqbalance\0");
        put(3, 0, "/usr/bin/sleep", "irqbalance\0");
        put(4, 0, "/usr/sbin/irqbalance (deleted)", "irqbalance\0");
        put(5, 0, "/usr/bin/dash", "/bin/sh\0/opt/irqbalance\0-x\0");
        put(7, 0, "/usr/sbin/irqbalance", "irqbalance\0");
        put(8, 0, "/usr/bin/su", "irqbalance\0irqbalance\0--banirq=1\0");
        put(9, 0, "/usr/bin/python3.11", "python3\0irqbalance\0");
        // Root's in a container is not the host's.
        for (pid, own) in [(10, "10\t3"), (11, "11")] {
            put(pid, 0, "/usr/sbin/irqbalance", "irqbalance\0");
            let status = format!("Name:\tx\nUid:\t0\t0\t0\t0\nNSpid:\t{own}\n");
            std::fs::write(dir.path().join(format!("proc/{pid}/status")), status).expect("written");
        }
        std::fs::create_dir_all(dir.path().join("proc/6")).expect("made");
        let root = Root::at(dir.path()).expect("a root");
        let found: Vec<u32> = (1..=11).filter(|&pid| is(&root, pid, "irqbalance", &mut Vec::new())).collect();
        assert_eq!(found, [1, 4, 5, 6, 11]);
    }
}
