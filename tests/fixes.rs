//! Fixes through the real program in a terminal: keys pressed, the screen read, the machine looked at.

mod better;
pub(crate) mod everywhere;
mod gone;
mod headless;
mod killed;
mod login;
mod made;
mod rights;
mod rows;
mod story;
mod worse;

use crate::common::pty::{Session, TOPOTOP};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// A control group of our own that is nearly full of memory nobody can take back; gone with its process.
struct Full {
    group: PathBuf,
    limit: PathBuf,
    holder: Child,
}

/// Held by who needs to be alone: what is found about several groups may be listed in another order.
static ALONE: RwLock<()> = RwLock::new(());

/// Bytes of its limit.
const LIMIT: &str = "67108864";

impl Full {
    /// None where this user makes no control groups.
    fn new(name: &str) -> Option<Self> {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (above, file) = if v1.join("memory.limit_in_bytes").exists() {
            (v1, "memory.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let group = above.join(format!("topotop-{name}-{}", std::process::id()));
        let limit = group.join(file);
        if std::fs::create_dir(&group).is_err() || std::fs::write(&limit, LIMIT).is_err() {
            let _ = std::fs::remove_dir(&group);
            crate::common::not_tested("no memory control group can be made here");
            return None;
        }
        // `tail` keeps the line that never ends, and some megabytes more where its heap gets huge pages.
        let hold = "echo $$ > \"$0\"; { head -c 58500000 /dev/zero; sleep 600; } | tail -n 1 > /dev/null";
        let holder = Command::new("sh")
            .args(["-c", hold])
            .arg(group.join("cgroup.procs"))
            .stdin(Stdio::null())
            .spawn()
            .expect("a shell");
        Some(Self { group, limit, holder })
    }

    fn limit(&self) -> String {
        std::fs::read_to_string(&self.limit).expect("a limit").trim().to_owned()
    }

    fn name(&self) -> String {
        self.group.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        // Everything in the group is ours: a shell, head or sleep, tail.
        for _ in 0..50 {
            let pids = std::fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
            for pid in pids.lines() {
                let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
            }
            if std::fs::remove_dir(&self.group).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.holder.wait();
    }
}

/// Opens the dialog at the plan of the best fix, its old values read.
fn opened(session: &mut Session) {
    session.keys("f");
    session.until("the dialog", |screen| screen.contains("Fixes: MEM-01") || screen.contains("Changes"));
    if session.text().contains("Fixes: MEM-01") {
        session.keys("\r");
    }
    session.until("the old value and the new one", |screen| screen.contains("67108864 → "));
}

/// The program on the finding about a group.
fn on_the_finding(full: &Full, flags: &[&str]) -> Session {
    let arguments = [&["--interval", "300ms"], flags].concat();
    let mut session = Session::topotop(&arguments, (120, 40)).patient(Duration::from_mins(1));
    session.shows("LIVE");
    session.keys(&format!("7/{}\r", full.name()));
    session.until("the finding", |screen| screen.contains("MEM-01") && screen.contains("F-LIMIT"));
    session
}

#[test]
fn a_limit_is_raised_by_keys_and_taken_back_by_one() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("raise") else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (state, recordings) = (dir.path().join("state"), dir.path().join("recordings"));
    std::fs::create_dir(&recordings).expect("a directory");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, format!("[record]\ndirectory = '{}'\n", recordings.display())).expect("written");
    let [place, config] = [&state, &config].map(|path| path.display().to_string());
    let mut session = on_the_finding(&full, &["--state-dir", &place, "--config", &config]);
    session.keys("R");
    session.shows("REC 00:00");
    // What is pressed first by whoever presses too fast does nothing.
    opened(&mut session);
    session.shows("▶[ Cancel ]");
    session.keys("\r");
    session.hides("Changes");
    assert_eq!(full.limit(), LIMIT);
    assert!(!state.exists(), "nothing was applied, so there is nothing to journal");
    // Once more, with a yes.
    opened(&mut session);
    session.keys("\x1b[D");
    session.shows("▶[ Apply ]");
    session.keys("\r");
    session.shows("applied, values read back as expected");
    let raised: u64 = full.limit().parse().expect("a number");
    assert!(raised > 67_108_864, "{raised}");
    // Sampling goes on meanwhile, and the table fills.
    session.shows("settling, verdict in");
    let journal = std::fs::read_to_string(state.join("fixes.journal")).expect("a journal");
    assert!(journal.contains("\"entry\":\"intent\"") && journal.contains(&full.name()), "{journal}");
    session.keys("U");
    session.shows("undone: everything that can be restored is as before");
    assert_eq!(full.limit(), LIMIT);
    session.keys("\x1b");
    session.hides("undone: everything");
    session.keys("1");
    session.shows("fix undone");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
    recorded(&recordings, &full.name());
}

/// What was done is in the recording; from there nothing is done.
fn recorded(recordings: &Path, group: &str) {
    let file = std::fs::read_dir(recordings).expect("a directory").flatten().next().expect("a recording").path();
    let file = file.display().to_string();
    let info = Command::new(TOPOTOP).args(["record", "info", &file]).output().expect("it runs");
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    for said in ["✓ fix applied: ", "✓ fix undone: ", "(asked)"] {
        assert!(info.contains(said), "{said:?} is not in\n{info}");
    }
    let mut session = Session::topotop(&["replay", "--paused", &file], (120, 40)).patient(Duration::from_mins(1));
    session.shows("‖");
    session.shows("fix applied");
    session.keys(&format!("7/{group}\r"));
    session.shows(&format!("filter \"{group}"));
    // Other findings of this machine may have come before the one about the group.
    for _ in 0..8 {
        session.keys(">");
        std::thread::sleep(Duration::from_millis(700));
        if session.text().contains("F-LIMIT") {
            break;
        }
    }
    session.until("the finding", |screen| screen.contains("F-LIMIT"));
    session.keys("f");
    session.shows("fixes apply to a live machine only, not to a recording");
    session.keys("\x1b");
    session.hides("fixes apply to a live machine only");
    session.keys("q");
    assert_eq!(session.ends(), 0);
}

#[test]
fn the_answer_finding_and_dialog_are_chinese() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("zh") else { return };
    let state = tempfile::tempdir().expect("a directory");
    let state = state.path().display().to_string();
    for size in [(80, 24), (120, 40)] {
        let arguments = ["--interval", "300ms", "--state-dir", &state];

        let session = Session::start(TOPOTOP, &arguments, size, &[("LANG", "zh_CN.UTF-8")]);
        let mut session = session.patient(Duration::from_mins(1));
        session.shows("实时");
        let answers = ["瓶颈：", "未见瓶颈", "空载", "负载不均：", "无法判定："];
        session.until("the answer", |screen| answers.iter().any(|answer| screen.contains(answer)));
        session.keys(&format!("7/{}\r", full.name()));
        session.until("the finding", |screen| screen.contains("MEM-01") && screen.contains("F-LIMIT"));
        session.until("the state of the finding", |screen| screen.contains("不可回收") && screen.contains("置信度"));
        session.keys("f");
        session.until("the dialog", |screen| screen.contains("修复：MEM-01") || screen.contains("改动"));
        if session.text().contains("修复：MEM-01") {
            session.keys("\r");
        }
        session.until("the old value and the new one", |screen| screen.contains("67108864 → "));
        session.shows("▶[ 取消 ]");
        session.keys("\r");
        session.hides("67108864 → ");
        session.keys("q");
        assert_eq!(session.ends(), 0);
        session.restored();
    }
    assert_eq!(full.limit(), LIMIT);
}

#[test]
fn nothing_is_applied_read_only() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("look") else { return };
    let state = tempfile::tempdir().expect("a directory");
    let state = state.path().join("state");
    let mut session = on_the_finding(&full, &["--read-only", "--state-dir", &state.display().to_string()]);
    opened(&mut session);
    session.shows("--read-only: nothing is applied");
    assert!(!session.text().contains("[ Apply ]"), "{}", session.text());
    session.keys("\x1b[D");
    session.shows("▶[ Copy commands ]");
    session.keys("\r");
    session.shows("sent to the terminal clipboard");
    let raw = session.raw();
    assert!(raw.windows(7).any(|bytes| bytes == b"\x1b]52;c;"), "nothing was copied");
    // Pressed twice at once it would be one key.
    session.keys("\x1b");
    session.until("one step back", |screen| !screen.contains("Changes"));
    if session.text().contains("Fixes: MEM-01") {
        session.keys("\x1b");
        session.hides("Fixes: MEM-01");
    }
    assert_eq!(full.limit(), LIMIT);
    assert!(!state.exists());
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}
