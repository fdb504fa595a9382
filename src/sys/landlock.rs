//! What reads recordings or captured machines writes by descriptors that it has and opens none, whatever is wrong in it. A
//! process that reads others goes without: the kernel hides other processes from whoever is confined so.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr,
    RulesetError,
};

/// The newest kernel interface that is used; older ones refuse what they know.
const KNOWN: ABI = ABI::V5;

/// Confines this thread and all that it starts; where the kernel has no such thing, nothing is confined.
pub(crate) fn confine(no_network: bool) -> Result<(), String> {
    allow(no_network).map_err(|error| error.to_string())
}

fn allow(no_network: bool) -> Result<(), RulesetError> {
    let all = AccessFs::from_write(KNOWN);
    // The terminal: keys are read by ioctl from a terminal that a stream does not occupy.
    let places = [("/dev/null", AccessFs::WriteFile.into()), ("/dev/tty", AccessFs::WriteFile | AccessFs::IoctlDev)];
    let rules = places.into_iter().filter_map(|(path, access)| Some(PathBeneath::new(PathFd::new(path).ok()?, access)));
    let ruleset = Ruleset::default().handle_access(all)?;
    let ruleset = if no_network { ruleset.handle_access(AccessNet::from_all(KNOWN))? } else { ruleset }.create()?;
    let ruleset = rules.into_iter().try_fold(ruleset, RulesetCreatedAttr::add_rule)?;
    ruleset.restrict_self().map(drop)
}

#[cfg(test)]
mod tests {
    use super::confine;
    use std::fs::{OpenOptions, read_to_string, rename, write};
    use std::io::{ErrorKind, Write as _};

    #[test]
    fn a_confined_thread_writes_to_what_it_has_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let [own, other] = ["own", "other"].map(|name| dir.path().join(name));
        for folder in [&own, &other] {
            std::fs::create_dir(folder).expect("made");
            write(folder.join("before"), "1").expect("written");
        }
        let mut output = std::fs::File::create(own.join("a.svg")).expect("made");
        let done = std::thread::spawn(move || {
            confine(true).expect("confined");
            if write(other.join("new"), "2").is_ok() {
                not_here();
                return;
            }
            let denied =
                |done: std::io::Result<()>| done.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
            assert!(denied(write(other.join("before"), "2")));
            assert!(denied(std::fs::remove_file(other.join("before"))));
            assert!(denied(std::fs::create_dir(other.join("folder"))));
            assert!(denied(OpenOptions::new().write(true).open("/proc/sys/vm/swappiness").map(drop)));
            assert!(denied(std::net::TcpStream::connect("127.0.0.1:9").map(drop)));
            assert_eq!(read_to_string(other.join("before")).expect("read"), "1");
            assert!(denied(write(own.join("draft"), "2")) && denied(rename(own.join("a.svg"), own.join("b.svg"))));
            output.write_all(b"2").expect("written");
            OpenOptions::new().write(true).open("/dev/null").expect("opened");
        });
        done.join().expect("every assertion holds");
    }

    #[expect(clippy::print_stderr, reason = "a skipped test is reported")]
    fn not_here() {
        eprintln!("not tested: this kernel has no Landlock");
    }
}
