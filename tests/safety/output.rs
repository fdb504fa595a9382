//! Where documents go: full disks are said, links and devices are not followed, no file is half there.

use super::{recording, run, text};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// A verb of each kind that writes to standard output.
fn verbs(recording: &str, root: &str) -> Vec<Vec<String>> {
    let lines = [
        "--help",
        "--version",
        "--print-config",
        "completions bash",
        "man",
        "rules",
        "rules NIC-01",
        "export --list",
        "export REC -s cpu_times",
        "record info REC",
        "record info --json REC",
        "snapshot --from REC --format json",
        "snapshot --from REC --format text",
        "snapshot --from REC --format svg -o -",
        "snapshot --from REC --format html -o /dev/stdout",
        "snapshot --root ROOT --format ansi",
        "diff REC REC",
        "diff REC REC --format json",
        "check --from REC",
        "check --from REC --format jsonl",
        "preflight --from REC",
        "preflight --from REC --format json",
        "replay REC --format jsonl",
        "fix list --from REC --format json",
        "fix list --for 1s",
        "doctor --for 300ms",
        "doctor --for 300ms --format json",
        "check --for 300ms --interval 100ms",
        "check --from REC --format junit",
        "preflight --for 300ms --format jsonl",
        "plan numa --instances 2 -- /bin/true",
        "report REC",
        "report REC -o -",
        "demo -o -",
        "serve --listen 127.0.0.1:0",
        "serve --help",
        "diff REC REC --format html -o /dev/fd/1",
        "export REC -s cpu_times -o /proc/self/fd/1",
        "fix journal --format json --state-dir ROOT",
        "capture - --root ROOT",
        "record -o - --root ROOT",
        "record -o - --for 300ms --interval 100ms --no-hwloc",
    ];
    let word = |word: &str| word.replace("REC", recording).replace("ROOT", root);
    lines.iter().map(|line| line.split(' ').map(word).collect()).collect()
}

#[test]
fn a_full_disk_is_said_by_every_verb() {
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    crate::common::synthetic::Machine::SMALL.write(&root, 0);
    for arguments in verbs(&recording, root.to_str().expect("a path")) {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let mut command = Command::new(crate::common::pty::TOPOTOP);
        let output = command.args(&arguments).stdin(Stdio::null()).stdout(full).output().expect("it runs");
        let said = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code > 0), "{arguments:?}: {:?} {said}", output.status);
        assert!(said.contains("No space left on device"), "{arguments:?}: {said}");
        assert!(said.lines().count() == 1 && !said.contains("os error"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_command_that_did_well_does_not_hide_a_lost_recording() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let mut command = Command::new(crate::common::pty::TOPOTOP);
    command.args(["record", "--no-hwloc", "-o", "-", "--", "sleep", "0.3"]).stdin(Stdio::null()).stdout(full);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the recording ends here"), "{}", text(&output.stderr));
}

#[test]
fn a_closed_pipe_is_quiet() {
    let (_dir, recording) = recording();
    for arguments in [&["man"][..], &["replay", &recording, "--format", "jsonl"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(crate::common::pty::TOPOTOP);
        let output = command.args(arguments).stdin(Stdio::null()).stdout(writer).output().expect("it runs");
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// Verbs that write to a file that they are given, without its name.
fn writers(recording: &str, root: &str) -> Vec<(Vec<String>, &'static str)> {
    let lines = [
        ("snapshot --from REC --format json -o", "a.json"),
        ("snapshot --from REC --format svg -o", "a.svg"),
        ("diff REC REC --format html -o", "a.html"),
        ("export REC -s cpu_times -o", "a.csv"),
        ("record cut REC@0s-1s -o", "a.rec"),
        ("record merge REC REC -o", "b.rec"),
        ("record --root ROOT -o", "c.rec"),
        ("record --for 300ms --interval 100ms --no-hwloc -o", "d.rec"),
        ("report REC -o", "b.html"),
        ("demo -o", "e.rec"),
        ("capture --root ROOT", "a.tar.zst"),
    ];
    let word = |word: &str| word.replace("REC", recording).replace("ROOT", root);
    lines.iter().map(|(line, name)| (line.split(' ').map(word).collect(), *name)).collect()
}

#[test]
fn no_link_is_followed_and_no_file_is_half_there() {
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    crate::common::synthetic::Machine::SMALL.write(&root, 0);
    for (arguments, name) in writers(&recording, root.to_str().expect("a path")) {
        let place = tempfile::tempdir().expect("a directory");
        let put = |to: &Path| {
            let to = to.display().to_string();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain([to.as_str()]).collect();
            run(&arguments, &[])
        };
        // A link to what somebody else needs, one to what is not there, a FIFO, a folder.
        let (precious, link) = (place.path().join("precious"), place.path().join(name));
        std::fs::write(&precious, "kept").expect("written");
        for target in [&precious, &place.path().join("absent")] {
            symlink(target, &link).expect("linked");
            let output = put(&link);
            assert!(!output.status.success(), "{arguments:?} followed a link");
            assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
            std::fs::remove_file(&link).expect("removed");
        }
        assert_eq!(std::fs::read_to_string(&precious).expect("read"), "kept", "{arguments:?}");
        rustix::fs::mknodat(rustix::fs::CWD, &link, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("made");
        assert!(!put(&link).status.success(), "{arguments:?} wrote to a FIFO");
        std::fs::remove_file(&link).expect("removed");
        let output = put(&link);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(std::fs::metadata(&link).expect("a file").mode() & 0o777, 0o600, "{arguments:?}");
        // Nothing beside it is left.
        let entries = std::fs::read_dir(place.path()).expect("read").count();
        assert_eq!(entries, 2, "{arguments:?}");
    }
}

#[test]
fn root_follows_no_link_of_a_strangers_to_a_folder() {
    if !rustix::process::geteuid().is_root() {
        return crate::common::not_tested("only root can be led astray");
    }
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    crate::common::synthetic::Machine::SMALL.write(&root, 0);
    let (place, system) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let link = place.path().join("reports");
    symlink(system.path(), &link).expect("linked");
    for (owner, is_followed) in [(54_321, false), (0, true)] {
        std::os::unix::fs::lchown(&link, Some(owner), None).expect("given away");
        if !is_followed {
            let socket = link.join("socket").display().to_string();
            let output = run(&["serve", "--root", root.to_str().expect("a path"), "--socket", &socket], &[]);
            assert!(!output.status.success() && text(&output.stderr).contains("54321"), "{}", text(&output.stderr));
        }
        for (arguments, name) in writers(&recording, root.to_str().expect("a path")) {
            let to = link.join(name).display().to_string();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain([to.as_str()]).collect();
            let output = run(&arguments, &[]);
            assert_eq!(output.status.success(), is_followed, "{arguments:?}: {}", text(&output.stderr));
            assert_eq!(system.path().join(name).exists(), is_followed, "{arguments:?}");
        }
    }
}

/// By each of its names, where it is a pipe.
#[test]
fn standard_output_has_several_names() {
    let (_dir, recording) = recording();
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr"] {
        for arguments in [
            &["report", &recording][..],
            &["diff", &recording, &recording, "--format", "json"],
            &["export", &recording, "-s", "cpu_times"],
            &["snapshot", "--from", &recording, "--format", "json"],
            &["demo"],
        ] {
            let output = run(&[arguments, &["-o", name]].concat(), &[]);
            let written = if name == "/dev/stderr" { &output.stderr } else { &output.stdout };
            assert!(output.status.success() && written.len() > 500, "{arguments:?} {name}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn copies_of_recordings_are_no_streams() {
    let (dir, recording) = recording();
    let cut = format!("{recording}@0s-1s");
    for place in ["-", "/dev/stdout", "/dev/fd/1"] {
        for arguments in [&["record", "cut", &cut][..], &["record", "merge", &recording, &recording]] {
            let mut command = Command::new(crate::common::pty::TOPOTOP);
            let output = command.current_dir(dir.path()).args(arguments).args(["-o", place]).output().expect("it runs");
            assert!(text(&output.stderr).contains("goes to a file"), "{arguments:?} {place}: {output:?}");
            assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 1, "{arguments:?} {place}");
        }
    }
}

/// A folder that everybody writes to, with the file of somebody else: root without the right to replace it says so.
#[test]
fn files_of_others_in_a_sticky_folder_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    crate::common::synthetic::Machine::SMALL.write(&root, 0);
    let place = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o1777)).expect("set");
    for (arguments, name) in writers(&recording, root.to_str().expect("a path")) {
        let to = place.path().join(name);
        std::fs::write(&to, "kept").expect("written");
        if !super::give_away(&to) || !super::give_away(place.path()) {
            return;
        }
        let shown = to.display().to_string();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain([shown.as_str()]).collect();
        let output = run(&arguments, &[]);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.lines().count() == 1, "{arguments:?}: {said}");
        assert_eq!(std::fs::read_to_string(&to).expect("read"), "kept", "{arguments:?}");
        std::fs::remove_file(&to).expect("removed");
        assert_eq!(std::fs::read_dir(place.path()).expect("read").count(), 0, "{arguments:?}");
    }
}

/// A small file system with the rest of it full; what is said of writing there, and what is there afterwards.
const SMALL: &str = r#"
mount -t tmpfs -o size=64k tmpfs "$1" && cd "$1" || exit 9
dd if=/dev/zero of=fill bs=4k count=16 2> /dev/null
shift
"$@" 2>&1 > /dev/null
status=$?
ls -A
exit $status
"#;

#[test]
fn a_small_disk_keeps_no_half_file() {
    let needs = "unshare -m sh -c 'mount -t tmpfs tmpfs /tmp'";
    if !Command::new("sh").args(["-c", needs]).output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested(&format!("this machine does not allow `{needs}`"));
        return;
    }
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    crate::common::synthetic::Machine::SMALL.write(&root, 0);
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).expect("made");
    for (arguments, name) in writers(&recording, root.to_str().expect("a path")) {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", SMALL, "sh"]).arg(&disk).arg(crate::common::pty::TOPOTOP);
        let output = command.args(&arguments).arg(name).stdin(Stdio::null()).output().expect("it runs");
        let said = text(&output.stdout);
        assert!(output.status.code().is_some_and(|code| code > 0 && code != 9), "{arguments:?}: {said}");
        assert!(said.contains("No space left on device"), "{arguments:?}: {said}");
        assert!(said.ends_with("fill\n") && !said.contains(&format!("\n{name}\n")), "{arguments:?}: {said}");
    }
}
