//! Configurations and themes that somebody else put there.

use super::{give_away, run, text, within};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const SNAPSHOT: &[&str] = &["snapshot", "--format", "json", "--interval", "100ms", "--no-hwloc"];

/// A home with a configuration that makes a file when its program is run.
struct Home {
    dir: tempfile::TempDir,
    config: PathBuf,
    mark: PathBuf,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let place = dir.path().join("home/.config/topotop");
        std::fs::create_dir_all(&place).expect("made");
        let (config, mark) = (place.join("config.toml"), dir.path().join("mark"));
        std::fs::write(&config, format!("[metrics.x]\nsource = \"command:touch {}\"\n", mark.display()))
            .expect("written");
        Self { dir, config, mark }
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// True if the program of the configuration was run; and what was said.
    fn runs(&self) -> (bool, String) {
        let output = within(LIMIT, || run(SNAPSHOT, &[("HOME", &self.home())]));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (self.mark.exists(), text(&output.stderr))
    }

    fn is_refused(&self, why: &str) {
        let (ran, said) = self.runs();
        assert!(!ran, "the program of somebody else was run: {said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
}

#[test]
fn an_own_configuration_is_believed() {
    assert_eq!(Home::new().runs(), (true, String::new()));
}

#[test]
fn what_others_could_have_written_runs_nothing() {
    let writable = Home::new();
    mode(&writable.config, 0o666);
    writable.is_refused("writable by others");
    let folder = Home::new();
    mode(&folder.home().join(".config"), 0o777);
    folder.is_refused("writable by others");
    let foreign = Home::new();
    if !give_away(&foreign.config) {
        return;
    }
    foreign.is_refused("owned by user 54321");
    let group = Home::new();
    std::os::unix::fs::chown(&group.config, None, Some(54321)).expect("given");
    mode(&group.config, 0o660);
    group.is_refused("writable by others");
    // As sudo leaves HOME: somebody else's home, with root's own file linked in it.
    let home = Home::new();
    let own = home.dir.path().join("own.toml");
    std::fs::rename(&home.config, &own).expect("renamed");
    symlink(&own, &home.config).expect("linked");
    assert!(give_away(&home.home()));
    home.is_refused("owned by user 54321");
}

#[test]
fn a_relative_place_is_none() {
    let home = Home::new();
    let program = crate::common::pty::TOPOTOP;
    let folder = home.dir.path().join("home");
    let mut command = std::process::Command::new(program);
    command.args(SNAPSHOT).current_dir(&folder).env("XDG_CONFIG_HOME", ".config").env("HOME", "/nonexistent");
    let output = command.output().expect("it runs");
    assert_eq!((output.status.code(), home.mark.exists()), (Some(0), false), "{}", text(&output.stderr));
}

#[test]
fn a_named_configuration_of_somebody_else_runs_no_program() {
    let home = Home::new();
    let named = |path: &Path| {
        let shown = path.display().to_string();
        let arguments = [SNAPSHOT, &["--config", &shown]].concat();
        within(LIMIT, || run(&arguments, &[]))
    };
    assert_eq!((named(&home.config).status.code(), home.mark.exists()), (Some(0), true));
    std::fs::remove_file(&home.mark).expect("removed");
    if !give_away(&home.config) {
        return;
    }
    let output = named(&home.config);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), home.mark.exists()), (Some(2), false), "{said}");
    assert!(said.contains("metrics.x") && said.contains("54321") && said.lines().count() == 1, "{said}");
    // The rest of it is taken.
    std::fs::write(&home.config, "interval = '100ms'\n").expect("written");
    assert_eq!(named(&home.config).status.code(), Some(0));
}

#[test]
fn what_is_no_file_is_an_error_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("made");
    let long = dir.path().join("long");
    std::fs::write(&long, vec![b'#'; 2 << 20]).expect("written");
    for path in [fifo.as_path(), dir.path(), Path::new("/dev/zero"), &long] {
        for flag in ["--config", "--theme"] {
            let shown = path.display().to_string();
            let output = within(LIMIT, || run(&["snapshot", "--format", "text", flag, &shown], &[]));
            let said = text(&output.stderr);
            assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{flag} {shown}: {said}");
            assert!(said.contains("regular file") || said.contains("longer than 1 MiB"), "{said}");
        }
    }
    // One that nobody named is ignored.
    let home = Home::new();
    std::fs::remove_file(&home.config).expect("removed");
    std::fs::rename(&fifo, &home.config).expect("renamed");
    home.is_refused("not a regular file");
}

#[test]
fn undo_works_whatever_the_configuration_says() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state").display().to_string();
    let broken = dir.path().join("config.toml");
    std::fs::write(&broken, "nonsense = \n").expect("written");
    let config = broken.display().to_string();
    for verb in ["undo", "journal"] {
        let run = |more: &[&str]| run(&[&["fix", verb, "--state-dir", &state][..], more].concat(), &[]);
        let (usual, output) = (run(&[]), run(&["--config", &config]));
        assert_eq!(output.status.code(), usual.status.code(), "{verb}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("line 1"), "{}", text(&output.stderr));
        assert!(text(&output.stderr).ends_with(&text(&usual.stderr)));
    }
}

/// TZ names a file as well: of a FIFO or a device there is no end.
#[test]
fn a_time_zone_that_is_no_file_is_not_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("made");
    let up = PathBuf::from("../../../../../dev/zero");
    for (zone, folder) in [
        (fifo.as_path(), "/usr/share/zoneinfo".as_ref()),
        ("/dev/zero".as_ref(), "/usr/share/zoneinfo".as_ref()),
        (&up, "/usr/share/zoneinfo".as_ref()),
        ("fifo".as_ref(), dir.path()),
    ] {
        let output = within(LIMIT, || run(&["rules"], &[("TZ", zone), ("TZDIR", folder)]));
        assert!(output.status.success(), "{}: {}", zone.display(), text(&output.stderr));
    }
}
