//! Threads of a process whose mask may be changed, by `tid@starttime`, and the CPUs that each may run on.

use super::Unread;
use crate::Root;
use crate::processes::stat::{self, PF_KTHREAD};
use topotop_model::locale::fix::machine as errors;
use topotop_model::{Reason, text};

/// PF_NO_SETAFFINITY of include/linux/sched.h: the kernel keeps its mask.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
/// SCHED_FIFO, SCHED_RR and SCHED_DEADLINE: they run where they do on purpose.
const REAL_TIME: [u64; 3] = [1, 2, 6];

/// A thread that ordinary rules hold for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordinary {
    /// Its number.
    pub tid: u32,
    /// Ticks since boot when it started.
    pub starttime: u64,
    /// Its process, as `/proc/PID/task/TID`.
    pub directory: String,
}

impl Ordinary {
    /// `4122@88131`.
    pub fn key(&self) -> String {
        format!("{}@{}", self.tid, self.starttime)
    }
}

/// The ordinary threads of a process, if it is still that one: neither the kernel's own nor realtime ones.
pub fn ordinary(root: &Root, pid: u32, starttime: u64) -> Result<Vec<Ordinary>, Unread> {
    let same = |bytes: &[u8]| stat::parse(bytes).is_some_and(|stat| stat.starttime == starttime && stat.state != b'Z');
    let mut bytes = Vec::new();
    let read = root.read(format!("proc/{pid}/stat"), &mut bytes);
    if read.is_err() || !same(&bytes) {
        return Err(Unread::because(errors::ProcessExited { pid: &pid }.to_string()));
    }
    let mut tids = Vec::new();
    let task = format!("/proc/{pid}/task");
    root.numbers(format!("proc/{pid}/task"), &mut tids).map_err(|reason| Unread::file(&task, reason))?;
    tids.sort_unstable();
    let mut threads = Vec::with_capacity(tids.len());
    for tid in tids {
        match one(root, pid, tid, &mut bytes) {
            Ok(thread) => threads.extend(thread),
            // It ended since the directory was read.
            Err(Reason::NotFound | Reason::Vanished) => {}
            Err(reason) => return Err(Unread::file(&format!("{task}/{tid}/stat"), reason)),
        }
    }
    Ok(threads)
}

/// A thread under its process; none where its mask is not to be touched.
pub fn one(root: &Root, pid: u32, tid: u32, bytes: &mut Vec<u8>) -> Result<Option<Ordinary>, Reason> {
    root.read(format!("proc/{pid}/task/{tid}/stat"), bytes)?;
    let stat = stat::parse(bytes).ok_or(Reason::Malformed)?;
    let kept = stat.flags & (PF_NO_SETAFFINITY | PF_KTHREAD) != 0;
    let real_time = stat.policy.is_some_and(|policy| REAL_TIME.contains(&policy));
    let ended = matches!(stat.state, b'Z' | b'X');
    let directory = format!("/proc/{pid}/task/{tid}");
    Ok((!kept && !real_time && !ended).then_some(Ordinary { tid, starttime: stat.starttime, directory }))
}

/// What is read of each ordinary thread, by `tid@starttime`.
pub(super) fn values_of(
    root: &Root,
    pid: u32,
    starttime: u64,
    read: impl Fn(&Root, &Ordinary) -> Result<String, Reason>,
) -> Result<Vec<(String, String)>, Unread> {
    let threads = ordinary(root, pid, starttime)?;
    let mut values = Vec::with_capacity(threads.len());
    for thread in &threads {
        match read(root, thread) {
            Ok(value) => values.push((thread.key(), value)),
            // It ended since the directory was read.
            Err(Reason::NotFound | Reason::Vanished) => {}
            Err(reason) => return Err(Unread::file(&thread.directory, reason)),
        }
    }
    Ok(values)
}

/// The same of one thread, `tid@starttime`; none where it has exited or is not to be touched any more.
pub(super) fn value_of(
    root: &Root,
    pid: u32,
    key: &str,
    read: impl Fn(&Root, &Ordinary) -> Result<String, Reason>,
) -> Result<Option<String>, Unread> {
    let parts = key.split_once('@').and_then(|(tid, start)| Some((tid.parse().ok()?, start.parse::<u64>().ok()?)));
    let Some((tid, starttime)) = parts else { return Ok(None) };
    let read = match one(root, pid, tid, &mut Vec::new()) {
        Ok(Some(thread)) if thread.starttime == starttime => read(root, &thread).map(Some),
        Ok(_) => Ok(None),
        Err(reason) => Err(reason),
    };
    match read {
        Err(Reason::NotFound | Reason::Vanished) => Ok(None),
        read => read.map_err(|reason| Unread::file(&format!("/proc/{pid}/task/{tid}"), reason)),
    }
}

/// The mask of each ordinary thread, as lists.
pub(super) fn masks(root: &Root, pid: u32, starttime: u64) -> Result<Vec<(String, String)>, Unread> {
    let masks = values_of(root, pid, starttime, mask)?;
    if masks.is_empty() { Err(Unread::because(errors::NoMovableThread { pid: &pid }.to_string())) } else { Ok(masks) }
}

/// What the kernel lets a thread run on: `Cpus_allowed_list` of its status.
pub(super) fn mask(root: &Root, thread: &Ordinary) -> Result<String, Reason> {
    let status = root.read_text(thread.directory.trim_start_matches('/').to_owned() + "/status")?;
    let line = status.lines().rfind(|line| line.starts_with("Cpus_allowed_list:")).ok_or(Reason::Malformed)?;
    let list = line.split_once(':').map_or("", |(_, list)| list.trim());
    // A cut line would be another mask.
    let whole = status.contains(&format!("{line}\n")) && topotop_model::IdSet::parse_list(list).is_some();
    if whole { Ok(text::printable(list).into_owned()) } else { Err(Reason::Malformed) }
}

#[cfg(test)]
mod tests {
    use super::super::values;
    use crate::Root;
    use crate::testing::put;
    use std::path::Path;
    use topotop_model::fix::Target;

    fn thread(dir: &Path, tid: u32, flags: u32, policy: u32, list: &str) {
        let rest = "0 0 0 0 1 1 0 0 20 0 1 0";
        let tail = format!("880 1 1 {} 0 0 {policy} 0", "0 ".repeat(14).trim());
        put(dir, format!("proc/7/task/{tid}/stat"), format!("{tid} (a) b) S 1 7 7 0 -1 {flags} {rest} {tail}\n"));
        put(dir, format!("proc/7/task/{tid}/status"), format!("Name:\ta\nCpus_allowed_list:\t{list}\nx:\ty\n"));
    }

    #[test]
    fn ordinary_threads_are_told_by_their_masks() {
        let dir = tempfile::tempdir().expect("a directory");
        let stat = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 880 1 1 1 1\n";
        put(dir.path(), "proc/7/stat", stat);
        thread(dir.path(), 7, 0, 0, "0-3,8");
        thread(dir.path(), 8, 0, 0, "0");
        thread(dir.path(), 9, 0x0400_0000, 0, "1");
        thread(dir.path(), 10, 0, 1, "2");
        thread(dir.path(), 11, 0, 6, "2");
        std::fs::create_dir_all(dir.path().join("proc/7/task/12")).expect("made");
        let root = Root::at(dir.path()).expect("a root");
        let target = |starttime| Target::Affinity { pid: 7, starttime };
        let reported = values(&root, &target(880)).expect("values");
        assert_eq!(reported, [("7@880".to_owned(), "0-3,8".to_owned()), ("8@880".to_owned(), "0".to_owned())]);
        assert_eq!(values(&root, &target(881)).expect_err("another one").why, "process 7 has exited");
    }

    #[test]
    fn one_thread_is_told_by_itself() {
        let dir = tempfile::tempdir().expect("a directory");
        thread(dir.path(), 8, 0, 0, "0");
        thread(dir.path(), 10, 0, 1, "2");
        let root = Root::at(dir.path()).expect("a root");
        let target = Target::Affinity { pid: 7, starttime: 880 };
        for (key, mask) in [("8@880", Some("0")), ("8@881", None), ("9@880", None), ("10@880", None), ("x", None)] {
            assert_eq!(super::super::value(&root, &target, key), Ok(mask.map(str::to_owned)), "{key}");
        }
    }

    #[test]
    fn own_threads_are_told() {
        let root = Root::live().expect("a root");
        let mut bytes = Vec::new();
        root.read("proc/self/stat", &mut bytes).expect("read");
        let starttime = crate::processes::stat::parse(&bytes).expect("a line").starttime;
        let reported = values(&root, &Target::Affinity { pid: std::process::id(), starttime }).expect("values");
        assert!(reported.iter().any(|(key, _)| key.starts_with(&format!("{}@", std::process::id()))), "{reported:?}");
    }
}
