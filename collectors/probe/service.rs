//! Whether a daemon runs: by its process, whatever supervises it.

use super::Unread;
use crate::Root;
use crate::irqbalance::{banned_irqs, is_oneshot};
use crate::processes::stat;

/// Its process, and the interrupts that irqbalance leaves alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) pid: u32,
    banned: String,
}

/// `stopped`, `running`, `running, banned IRQs 24,26`.
pub(super) fn value(root: &Root, name: &str) -> Result<String, Unread> {
    Ok(match running(root, name)? {
        None => "stopped".to_owned(),
        Some(running) if running.banned.is_empty() => "running".to_owned(),
        Some(running) => format!("running, banned IRQs {}", running.banned),
    })
}

/// The process of that name with the lowest number; one that only sets everything once and leaves is none.
pub(super) fn running(root: &Root, name: &str) -> Result<Option<Running>, Unread> {
    let mut pids = Vec::new();
    root.numbers("proc", &mut pids).map_err(|reason| Unread::file("proc", reason))?;
    pids.sort_unstable();
    let mut bytes = Vec::new();
    for pid in pids {
        // Processes come and go meanwhile.
        if root.read(format!("proc/{pid}/stat"), &mut bytes).is_err() {
            continue;
        }
        let is_it =
            stat::parse(&bytes).is_some_and(|stat| stat.comm == name.as_bytes() && !matches!(stat.state, b'Z' | b'X'));
        if !is_it
            || !crate::daemon::is(root, pid, name, &mut bytes)
            || root.read(format!("proc/{pid}/cmdline"), &mut bytes).is_err()
        {
            continue;
        }
        if !is_oneshot(&bytes) {
            return Ok(Some(Running { pid, banned: banned_irqs(&bytes).to_string() }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::Root;
    use crate::probe::values;
    use std::path::Path;
    use topotop_model::fix::Target;

    fn put(dir: &Path, pid: u32, comm: &str, state: char, cmdline: &str) {
        let dir = dir.join(format!("proc/{pid}"));
        std::fs::create_dir_all(&dir).expect("made");
        let stat = format!("{pid} ({comm}) {state} 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 880 1 1 1 1\n");
        std::fs::write(dir.join("stat"), stat).expect("written");
        std::fs::write(dir.join("cmdline"), cmdline).expect("written");
    }

    #[test]
    fn a_daemon_is_its_process() {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), 1, "init", 'S', "init\0");
        let root = Root::at(dir.path()).expect("a root");
        let state = || values(&root, &Target::Service { name: "irqbalance".into() }).expect("known")[0].1.clone();
        put(dir.path(), 40, "irqbalance", 'Z', "");
        put(dir.path(), 41, "irqbalance", 'S', "irqbalance\0--oneshot\0");
        put(dir.path(), 42, "irqbalance-ui", 'S', "irqbalance-ui\0");
        assert_eq!(state(), "stopped");
        put(dir.path(), 50, "irqbalance", 'S', "/usr/sbin/irqbalance\0--foreground\0");
        assert_eq!(state(), "running");
        put(dir.path(), 49, "irqbalance", 'S', "irqbalance\0--banirq=26\0--banirq\x0024\0");
        assert_eq!(state(), "running, banned IRQs 24,26");
    }
}
