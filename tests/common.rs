//! What several tests share.

pub(crate) mod captured;
pub(crate) mod edit;
pub(crate) mod load;
pub(crate) mod pty;
pub(crate) mod schema;
pub(crate) mod series;
pub(crate) mod synthetic;
pub(crate) mod synthetic_recording;

use std::path::Path;

/// Notes a test that this machine cannot run; in CI, where no test may pass by not running, it fails.
pub(crate) fn not_tested(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "not tested: {why}");
    eprintln!("not tested: {why}");
}

/// A small machine on which names try to steer whatever shows them.
pub(crate) fn hostile_names(dir: &Path) {
    synthetic::Machine::SMALL.write(dir, 0);
    let evil = "evil\x1b]0;title\x07\x1b[31;5m\u{202e}";
    let group = format!("load.slice/{evil}\nnewline");
    let from = dir.join("sys/fs/cgroup/load.slice/work-0000.scope");
    std::fs::rename(from, dir.join("sys/fs/cgroup").join(&group)).expect("a name");
    for pid in 1..=6 {
        for file in [format!("proc/{pid}/stat"), format!("proc/{pid}/task/{pid}/stat")] {
            let path = dir.join(file);
            let text = std::fs::read_to_string(&path).expect("a stat");
            let tail = text.rsplit_once(')').expect("a comm").1;
            std::fs::write(path, format!("{pid} ({evil}){tail}")).expect("a stat");
        }
        let escaped = group.replace('\n', "\\012");
        std::fs::write(dir.join(format!("proc/{pid}/cgroup")), format!("0::/{escaped}\n")).expect("a cgroup");
        std::fs::write(dir.join(format!("proc/{pid}/cmdline")), format!("{evil}\0-x\0")).expect("a cmdline");
    }
}
