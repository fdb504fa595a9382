//! What programs of metrics have left running in sessions of their own: its parent is the helper from then on, and it ends
//! with the helper.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use std::time::Duration;

/// Looks at what is left, at most: what may not be killed stays.
const LOOKS: u32 = 200;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(5);

/// Becomes their parent.
pub(super) fn adopt() {
    // Without it they are the parentless of the whole machine.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Takes the ends of those that have ended. No other child may be waited for meanwhile.
pub(super) fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// Ends what programs left running in sessions of their own. No program may run.
pub(super) fn end_left() {
    // Most leave nothing, and to look for it costs a look at every process of the machine.
    if !is_childless() {
        kill(&children());
        reap();
    }
}

/// True where no child is left, after taking the ends of those that have ended.
fn is_childless() -> bool {
    reap();
    wait(WaitOptions::NOHANG).is_err_and(|errno| errno == Errno::CHILD)
}

/// A program and all that was started below it, whatever session it is in.
pub(super) fn family(program: u32) -> Vec<Pid> {
    let parents: Vec<(u32, u32)> = processes().collect();
    let mut family = vec![program];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        at += 1;
        for &(child, _) in parents.iter().filter(|one| one.1 == parent) {
            if !family.contains(&child) {
                family.push(child);
            }
        }
    }
    family.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())).collect()
}

/// Ends some processes at once.
pub(super) fn kill(processes: &[Pid]) {
    for &process in processes {
        // It may have ended.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Ends them and all that they started. No other child may be left.
pub(super) fn end() {
    for _ in 0..LOOKS {
        if is_childless() {
            return;
        }
        kill(&children());
        std::thread::sleep(PAUSE);
    }
}

/// Waits for the only child to end, then ends what is left of it.
pub(super) fn wait_for_all() {
    let starter = children();
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, _))) if !starter.contains(&ended) => {}
            Err(Errno::INTR) => {}
            _ => break,
        }
    }
    end();
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get().cast_unsigned();
    let own = processes().filter(|(_, parent)| *parent == own);
    own.filter_map(|(pid, _)| Pid::from_raw(pid.cast_signed())).collect()
}

/// All processes and their parents.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let parent = stat.get(name_end..)?.split(|&byte| byte == b' ').nth(2)?;
        Some((pid, std::str::from_utf8(parent).ok()?.parse().ok()?))
    })
}
