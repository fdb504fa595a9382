//! What is done to a process by a call: nice values of its threads, stop and continue, signals. Signals go to a
//! descriptor that is opened before the process is looked at, so that they never reach a later one of its number.

use super::Trouble;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, setpriority_process};
use topotop_collectors::Root;
use topotop_collectors::probe::{self, threads::one};
use topotop_model::fix::Target;
use topotop_model::locale::fix::machine as text;

/// Gives the thread `tid@starttime` of a process a nice value.
pub(super) fn write_nice(root: &Root, pid: u32, key: &str, value: &str) -> Result<(), Trouble> {
    let nice: i32 = value.parse().map_err(|_| Trouble::invalid(value))?;
    let parts = key.split_once('@').and_then(|(tid, start)| Some((tid.parse().ok()?, start.parse::<u64>().ok()?)));
    let (tid, starttime): (u32, u64) = parts.ok_or_else(|| Trouble::invalid(key))?;
    let ended = || Trouble::ended(text::ThreadExited { tid: &tid });
    let is_it = one(root, pid, tid, &mut Vec::new())
        .is_ok_and(|thread| thread.is_some_and(|thread| thread.starttime == starttime));
    let thread = raw(tid).filter(|_| is_it).ok_or_else(ended)?;
    setpriority_process(Some(thread), nice)
        .map_err(|errno| if errno == Errno::SRCH { ended() } else { Trouble::errno(errno) })
}

/// `stopped` or `running`.
pub(super) fn write_state(root: &Root, pid: u32, starttime: u64, value: &str) -> Result<(), Trouble> {
    let signal = match value {
        "stopped" => Signal::STOP,
        "running" => Signal::CONT,
        _ => return Err(Trouble::invalid(value)),
    };
    send(root, pid, starttime, signal)?;
    // The threads stop one after the other.
    let target = Target::Stopped { pid, starttime };
    for _ in 0..50 {
        if probe::value(root, &target, "").ok().flatten().is_none_or(|state| state == value) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Ok(())
}

/// Sends a signal by its name without SIG.
pub(super) fn write_signal(root: &Root, pid: u32, starttime: u64, name: &str) -> Result<(), Trouble> {
    let signal = match name {
        "TERM" => Signal::TERM,
        "KILL" => Signal::KILL,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "QUIT" => Signal::QUIT,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "CONT" => Signal::CONT,
        _ => return Err(Trouble::invalid(name)),
    };
    send(root, pid, starttime, signal)
}

fn send(root: &Root, pid: u32, starttime: u64, signal: Signal) -> Result<(), Trouble> {
    let ended = || Trouble::ended(text::ProcessExited { pid: &pid });
    let process = raw(pid).filter(|_| pid > 1).ok_or_else(ended)?;
    let descriptor = pidfd_open(process, PidfdFlags::empty()).map_err(Trouble::errno)?;
    probe::value(root, &Target::Stopped { pid, starttime }, "").map_err(|_| ended())?.ok_or_else(ended)?;
    pidfd_send_signal(&descriptor, signal).map_err(Trouble::errno)
}

fn raw(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, Machine};
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use topotop_collectors::Root;
    use topotop_model::fix::Target;

    #[test]
    fn a_child_is_reniced_stopped_continued_and_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("started");
        let pid = child.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("read");
        let starttime = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a field");
        let starttime: u64 = starttime.parse().expect("a number");
        let mut machine = Kernel::new(Arc::new(Root::live().expect("a root")));
        let value = |machine: &Kernel, target: &Target| machine.values(target).expect("values").remove(0);
        let write = |machine: &mut Kernel, target: &Target, key: &str, value: &str| {
            machine.write(target, key, value, &mut |_| ControlFlow::Continue(()))
        };
        let nice = Target::Nice { pid, starttime };
        let thread = Target::Thread { tid: pid, of: Box::new(nice.clone()) };
        let (key, before) = value(&machine, &nice);
        write(&mut machine, &thread, &key, "15").expect("written");
        assert_eq!((value(&machine, &nice).1, value(&machine, &thread).1), ("15".to_owned(), "15".to_owned()));
        assert_ne!(before, "15");
        assert!(write(&mut machine, &nice, &format!("{pid}@1"), "16").is_err(), "another one");
        assert!(machine.values(&Target::Thread { tid: 1, of: Box::new(nice) }).is_err());
        let state = Target::Stopped { pid, starttime };
        for wanted in ["stopped", "running"] {
            write(&mut machine, &state, "", wanted).expect("written");
            assert_eq!(value(&machine, &state).1, wanted);
        }
        assert!(write(&mut machine, &Target::Stopped { pid, starttime: 1 }, "", "stopped").is_err());
        assert!(write(&mut machine, &Target::Signal { pid: 1, starttime: 0 }, "", "TERM").is_err());
        assert!(write(&mut machine, &Target::Signal { pid, starttime }, "", "SEGV").is_err());
        write(&mut machine, &Target::Signal { pid, starttime }, "", "TERM").expect("sent");
        assert!(!child.wait().expect("ended").success());
        assert!(write(&mut machine, &state, "", "stopped").is_err());
    }
}
