//! The CPUs of a process's threads, one at a time: each is looked for under its process right before the call, since its
//! number may be another's a moment later.

use super::Trouble;
use rustix::io::Errno;
use topotop_collectors::Root;
use topotop_collectors::probe::threads::one;
use topotop_collectors::sys::affinity::set_affinity;
use topotop_model::locale::fix::machine as text;
use topotop_model::{IdSet, Reason};

/// Lets the thread `tid@starttime` of a process run on a list of CPUs.
pub(super) fn write(root: &Root, pid: u32, key: &str, list: &str) -> Result<(), Trouble> {
    let cpus = IdSet::parse_list(list).ok_or_else(|| Trouble::invalid(list))?;
    let parts = key.split_once('@').and_then(|(tid, start)| Some((tid.parse().ok()?, start.parse::<u64>().ok()?)));
    let (tid, starttime) = parts.ok_or_else(|| Trouble::invalid(key))?;
    let ended = || Trouble::ended(text::ThreadExited { tid: &tid });
    match one(root, pid, tid, &mut Vec::new()) {
        Ok(Some(thread)) if thread.starttime == starttime => {}
        Ok(None) => return Err(Trouble::because(text::Realtime { tid: &tid }.to_string())),
        Ok(Some(_)) | Err(Reason::NotFound | Reason::Vanished) => return Err(ended()),
        Err(reason) => return Err(Trouble::because(text::OfThread { tid: &tid, why: &reason.text() }.to_string())),
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

    use crate::fix::applier::{Applier, ApplyEvent, empty, resolve};
    use crate::fix::journal::Ledger;
    use crate::fix::machine::Trouble;
    use topotop_collectors::probe::Unread;
    use topotop_model::fix::{Identity, Step};
    use topotop_model::journal::{self, Applied, Entry, Journal, Line};

    /// A journal in memory.
    #[derive(Default)]
    struct Paper(Vec<u8>);

    impl Ledger for Paper {
        fn read(&self) -> Result<Journal, String> {
            Ok(journal::fold(&self.0))
        }

        fn boot_id(&self) -> &'static str {
            "boot"
        }

        fn append(&mut self, number: u64, entry: &Entry, _firm: bool) -> Result<(), String> {
            let line = Line {
                at: String::new(),
                wall_ns: 0,
                boot_ns: 0,
                boot_id: "boot".to_owned(),
                number,
                seq: None,
                after: None,
                entry: entry.clone(),
            };
            self.0.extend_from_slice((line.encode() + "\n").as_bytes());
            Ok(())
        }
    }

    /// The kernel, and a program that starts a thread of a thread that was not written yet.
    struct Growing<F: FnMut()> {
        kernel: Kernel,
        writes: usize,
        grow: F,
    }

    impl<F: FnMut()> Machine for Growing<F> {
        fn values(&self, target: &Target) -> Result<Vec<(String, String)>, Unread> {
            self.kernel.values(target)
        }

        fn same(&self, identity: &Identity) -> Result<(), String> {
            self.kernel.same(identity)
        }

        fn filled(&self, identity: &Identity) -> Identity {
            self.kernel.filled(identity)
        }

        fn write(
            &mut self,
            target: &Target,
            key: &str,
            value: &str,
            tell: &mut dyn FnMut(&super::super::Progress) -> ControlFlow<()>,
        ) -> Result<(), Trouble> {
            self.writes += 1;
            if self.writes == 1 {
                (self.grow)();
            }
            self.kernel.write(target, key, value, tell)
        }
    }

    /// The masks of all threads of a process.
    fn masks(pid: u32) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten();
        let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let list = |text: String| {
            text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(|list| list.trim().to_owned())
        };
        tasks.map(status).filter_map(list).collect()
    }

    /// The program that another test changes: a thread for each line that it is sent, born of its last one.
    #[test]
    #[ignore = "the program that another test changes"]
    fn grows_when_it_is_told() {
        fn born() {
            if std::io::stdin().read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0) {
                let thread = std::thread::spawn(born);
                let _ = std::io::Write::write_all(&mut std::io::stderr(), b"born\n");
                let _ = thread.join();
            }
        }
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        born();
    }

    #[test]
    fn threads_that_are_born_meanwhile_are_moved_and_put_back_as_well() {
        use std::io::{BufRead as _, Write as _};
        let cpus = topotop_collectors::sys::affinity::affinity(0).expect("a mask");
        let (Some(first), true) = (cpus.first(), cpus.len() > 1) else { return };
        let mut command = std::process::Command::new(std::env::current_exe().expect("an own path"));
        command.args(["--ignored", "--nocapture", "--exact", "fix::machine::affinity::tests::grows_when_it_is_told"]);
        command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("it starts");
        let pid = child.id();
        let mut lines = std::io::BufReader::new(child.stderr.take().expect("its output")).lines();
        let mut input = child.stdin.take().expect("its input");
        let mut grow = move || {
            writeln!(input, "more").expect("it listens");
            assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("born")));
        };
        (0..40).for_each(|_| grow());
        let list = first.to_string();
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten() {
            let tid = task.file_name().to_str().and_then(|tid| tid.parse().ok()).expect("a number");
            super::set_affinity(tid, &topotop_model::IdSet::from_ids([first])).expect("pinned");
        }
        let before = masks(pid);
        assert!(before.len() > 40 && before.iter().all(|mask| *mask == list), "{before:?}");
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("read");
        let starttime = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a field");
        let starttime = starttime.parse().expect("a number");
        let mut plan = empty();
        plan.identity = vec![Identity::Process { pid, starttime, comm: String::new() }];
        plan.steps = vec![Step::new("CPUs", Target::Affinity { pid, starttime }, cpus.to_string())];
        plan.kept.clear();
        let kernel = Kernel::new(Arc::new(Root::live().expect("a root")));
        let mut machine = Growing { kernel, writes: 0, grow };
        let mut paper = Paper::default();
        let mut tell = |_: ApplyEvent| ControlFlow::Continue(());
        let proposal = resolve(&machine, &plan);
        let done = Applier::new(&mut machine, &mut paper, &mut tell).apply(&proposal, "test", None).expect("applied");
        assert_eq!(done.state, Applied::Applied, "{done:?}");
        let during = masks(pid);
        assert_eq!(during.len(), before.len() + 1, "one was born");
        assert!(during.iter().all(|mask| *mask == cpus.to_string()), "{during:?}");
        let journal = paper.read().expect("a journal");
        let application = journal.applications.iter().find(|known| known.number == done.number).expect("journaled");
        let undone = Applier::new(&mut machine, &mut paper, &mut tell)
            .undo(application, &journal::Because::Asked, false)
            .expect("undone");
        assert!(undone.whole, "{undone:?}");
        assert!(masks(pid).iter().all(|mask| *mask == list), "{:?}", masks(pid));
        child.kill().expect("killed");
        child.wait().expect("ended");
    }

    /// A process of several threads: this one has some, and each is put back.
    #[test]
    fn a_thread_is_written_read_back_and_put_back() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (reported, tid) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            reported.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("told");
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
        assert_eq!(gone.message, format!("thread {tid} has exited"));
        // A thread of another process is none of this one.
        assert!(write(&mut machine, "1@0", "0").is_err());
        let nowhere = write(&mut machine, &key, "8000").expect_err("no such CPU");
        assert_eq!((nowhere.errno, nowhere.message.as_str()), (Some(22), "Invalid argument"));
        assert_eq!(value(&machine).1, before);
        done.send(()).expect("sent");
        thread.join().expect("ends");
    }
}
