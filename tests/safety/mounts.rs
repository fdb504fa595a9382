//! File systems that hang: a user's own, where the files of containers would be.

use super::STRANGER;
use crate::common::not_tested;
use crate::common::pty::TOPOTOP;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A group of that user's that is called like a container.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let name = format!("topotop-mounts-{}", std::process::id());
        let places = ["systemd", "unified", "cpu", ""].map(|place| Path::new("/sys/fs/cgroup").join(place));
        let group = places.into_iter().filter(|place| place.join("cgroup.procs").exists());
        let group = group.map(|place| Self(place.join(&name))).find(|group| std::fs::create_dir(&group.0).is_ok())?;
        std::fs::create_dir(group.0.join(format!("docker-{ID}.scope"))).ok()?;
        chown(&group.0, Some(STRANGER), None).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for group in [self.0.join(format!("docker-{ID}.scope")), self.0.clone()] {
            let _ = std::fs::remove_dir(group);
        }
    }
}

/// A FUSE mount whose server never answers: whoever looks into it waits for as long as it is there.
const HANGING: &str = r#"
mount --bind "$1/passwd" /etc/passwd && exec 9<>/dev/fuse || exit 77
mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hang "$1/home/$2" || exit 77
shift 2
exec timeout -k 1 20 "$@"
"#;

#[test]
fn a_file_system_of_a_user_that_hangs_costs_his_names_only() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        not_tested("only root mounts what hangs");
        return;
    }
    let Some(_group) = Group::new() else {
        not_tested("no group can be made");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let passwd = std::fs::read_to_string("/etc/passwd").expect("read");
    let home = dir.path().join("home").display().to_string();
    std::fs::write(dir.path().join("passwd"), format!("{passwd}x:x:{STRANGER}:{STRANGER}::{home}:/bin/sh\n"))
        .expect("written");
    for place in [".local/share/docker", ".local/share/containers/storage/overlay-containers", ".local"] {
        std::fs::create_dir_all(Path::new(&home).join(place)).expect("made");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", HANGING, "sh"]).arg(dir.path()).args([place, TOPOTOP, "snapshot"]);
        let output = command.output().expect("it runs");
        if output.status.code() == Some(77) {
            not_tested("no file system in user space can be mounted");
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {:?} {said}", output.status);
        assert!(!output.stdout.is_empty(), "{place}: {said}");
    }
}
