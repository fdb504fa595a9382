//! The I/O priority of a process's threads, one at a time: each is looked for under its process right before the call.

use super::Trouble;
use rustix::io::Errno;
use topotop_collectors::Root;
use topotop_collectors::probe::ioprio::parse;
use topotop_collectors::probe::threads::one;
use topotop_collectors::sys::ioprio::set_ioprio;
use topotop_model::locale::fix::machine as text;

/// Gives the thread `tid@starttime` of a process a class and a level.
pub(super) fn write(root: &Root, pid: u32, key: &str, value: &str) -> Result<(), Trouble> {
    let wanted = parse(value).ok_or_else(|| Trouble::invalid(value))?;
    let parts = key.split_once('@').and_then(|(tid, start)| Some((tid.parse().ok()?, start.parse::<u64>().ok()?)));
    let (tid, starttime) = parts.ok_or_else(|| Trouble::invalid(key))?;
    let ended = || Trouble::ended(text::ThreadExited { tid: &tid });
    let is_it = one(root, pid, tid, &mut Vec::new())
        .is_ok_and(|thread| thread.is_some_and(|thread| thread.starttime == starttime));
    if !is_it {
        return Err(ended());
    }
    set_ioprio(tid, wanted).map_err(|errno| if errno == Errno::SRCH { ended() } else { Trouble::errno(errno) })
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, Machine};
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use topotop_collectors::Root;
    use topotop_model::fix::Target;

    #[test]
    fn a_child_is_written_read_back_and_put_back() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("started");
        let pid = child.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("read");
        let starttime = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a field");
        let target = Target::IoPriority { pid, starttime: starttime.parse().expect("a number") };
        let mut machine = Kernel::new(Arc::new(Root::live().expect("a root")));
        let value = |machine: &Kernel| machine.values(&target).expect("values").remove(0);
        let write = |machine: &mut Kernel, key: &str, value: &str| {
            machine.write(&target, key, value, &mut |_| ControlFlow::Continue(()))
        };
        let (key, before) = value(&machine);
        write(&mut machine, &key, "best-effort 7").expect("written");
        assert_eq!(value(&machine).1, "best-effort 7");
        write(&mut machine, &key, &before).expect("put back");
        assert_eq!(value(&machine).1, before);
        assert!(write(&mut machine, &key, "best-effort 9").is_err());
        let other = write(&mut machine, &format!("{pid}@1"), "idle 0").expect_err("another one");
        assert_eq!(other.message, format!("thread {pid} has exited"));
        child.kill().expect("killed");
        child.wait().expect("waited for");
        assert!(machine.values(&target).is_err());
        assert!(write(&mut machine, &key, "idle 0").is_err());
    }
}
