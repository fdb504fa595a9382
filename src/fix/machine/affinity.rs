//! The CPUs of a process's threads, one at a time: each is looked for under its process right before the call, since its
//! number may be another's a moment later.

use super::Trouble;
use crate::sys::affinity::set_affinity;
use rustix::io::Errno;
use topotop_collectors::Root;
use topotop_collectors::probe::threads::one;
use topotop_model::{IdSet, Reason};

/// Lets the thread `tid@starttime` of a process run on a list of CPUs.
pub(super) fn write(root: &Root, pid: u32, key: &str, list: &str) -> Result<(), Trouble> {
    let cpus = IdSet::parse_list(list).ok_or_else(|| Trouble::because(format!("{list} is no list of CPUs")))?;
    let parts = key.split_once('@').and_then(|(tid, start)| Some((tid.parse().ok()?, start.parse::<u64>().ok()?)));
    let (tid, starttime) = parts.ok_or_else(|| Trouble::because(format!("{key} is no thread")))?;
    let ended = || Trouble { errno: Some(Errno::SRCH.raw_os_error()), said: format!("thread {tid} has ended") };
    match one(root, pid, tid, &mut Vec::new()) {
        Ok(Some(thread)) if thread.starttime == starttime => {}
        Ok(None) => return Err(Trouble::because(format!("thread {tid} is a realtime one now: it stays where it is"))),
        Ok(Some(_)) | Err(Reason::NotFound | Reason::Vanished) => return Err(ended()),
        Err(reason) => return Err(Trouble::because(format!("thread {tid}: {}", reason.word()))),
    }
    set_affinity(tid, &cpus).map_err(|errno| if errno == Errno::SRCH { ended() } else { Trouble::errno(errno) })
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, Machine};
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use topotop_collectors::Root;
    use topotop_model::fix::Target;

    /// A process of several threads: this one has some, and each is put back.
    #[test]
    fn a_thread_is_written_read_back_and_put_back() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (told, tid) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            told.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("told");
            let _ = wait.recv();
        });
        let tid = tid.recv().expect("a thread");
        let mut machine = Kernel::new(Arc::new(Root::live().expect("a root")));
        let stat = std::fs::read_to_string("/proc/self/stat").expect("read");
        let starttime = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a field");
        let target = Target::Affinity { pid: std::process::id(), starttime: starttime.parse().expect("a number") };
        let value = |machine: &Kernel| {
            let all = machine.values(&target).expect("values");
            all.into_iter().find(|(key, _)| key.starts_with(&format!("{tid}@"))).expect("the thread")
        };
        let (key, before) = value(&machine);
        let write = |machine: &mut Kernel, key: &str, list: &str| {
            machine.write(&target, key, list, &mut |_| ControlFlow::Continue(()))
        };
        write(&mut machine, &key, "0").expect("written");
        assert_eq!(value(&machine).1, "0");
        write(&mut machine, &key, &before).expect("written");
        assert_eq!(value(&machine).1, before);
        let gone = write(&mut machine, &format!("{tid}@1"), "0").expect_err("another thread");
        assert_eq!(gone.said, format!("thread {tid} has ended"));
        // A thread of another process is none of this one.
        assert!(write(&mut machine, "1@0", "0").is_err());
        let nowhere = write(&mut machine, &key, "8000").expect_err("no such CPU");
        assert_eq!((nowhere.errno, nowhere.said.as_str()), (Some(22), "Invalid argument"));
        assert_eq!(value(&machine).1, before);
        done.send(()).expect("sent");
        thread.join().expect("ends");
    }
}
