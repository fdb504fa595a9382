//! Java virtual machines: `tmp/hsperfdata_USER/PID` below the process's own root, named by the pid that it has there.
//! Their memory is never asked for anything; the file is theirs and so hostile, and so may be the file system that it is on:
//! a thread that does not come back from there is left behind.

mod perfdata;

use crate::rights::{self, Needs};
use crate::root::Local;
use crate::worker::Worker;
use crate::{Collector, Cx, Root};
use perfdata::{Jvm, MOST_BYTES};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use topotop_model::tables::jvm::Jvms;
use topotop_model::{Draft, Gaps, Reason, Slots, State, Table as _};

/// Time between two rounds, and to the second one, in ns.
const PERIOD_NS: u64 = 5_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How long a complete reading waits.
const PATIENCE: Duration = Duration::from_millis(300);
/// After which a thread is left behind, and how many may be.
const LATE_NS: u64 = 10_000_000_000;
const LEFT_BEHIND: usize = 4;
/// The most virtual machines, and the most directories of users in one `/tmp`.
const MOST: usize = 256;
const MOST_USERS: usize = 64;
/// Where they are.
const PATTERN: &str = "proc/*/root/tmp/hsperfdata_*/*";

type Process = (u32, u64);

/// A process that may be one.
#[derive(Clone, Copy, Debug)]
struct Target {
    process: Process,
    /// Its pid in its own pid namespace.
    inner: Option<u64>,
}

/// What became of looking: a virtual machine, or why it could not be seen. Nothing where it has no such file.
type Seen = Vec<(Process, Result<Jvm, Reason>)>;

type Asked = Worker<Vec<Target>, (u64, Seen)>;
type At = Arc<Mutex<Option<Process>>>;

/// Looks for Java virtual machines.
#[derive(Debug, Default)]
pub(crate) struct JvmCollector {
    worker: Option<Asked>,
    /// The process that is looked at now.
    at: At,
    stuck: Vec<Asked>,
    /// Processes whose file systems did not answer.
    hung: HashSet<Process>,
    asked_ns: Option<u64>,
    rounds: u64,
    slots: Slots<Process>,
}

impl Collector for JvmCollector {
    fn name(&self) -> &'static str {
        "jvms"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        while let Some(answer) = self.worker.as_mut().and_then(Worker::take) {
            self.publish(&answer, cx, draft);
        }
        let since = self.asked_ns.map(|asked| cx.now_ns.saturating_sub(asked));
        let wait = if self.rounds == 1 { SECOND_NS } else { PERIOD_NS };
        let due = since.is_none_or(|since| since >= wait) || cx.demand.complete;
        self.stuck.retain_mut(|worker| worker.take().is_none());
        if self.worker.as_ref().is_some_and(|worker| worker.pending() > 0)
            && since.is_some_and(|since| since >= LATE_NS)
        {
            self.hung.extend(self.at.lock().unwrap_or_else(PoisonError::into_inner).take());
            self.stuck.extend(self.worker.take());
        }
        let busy = self.worker.as_ref().is_some_and(|worker| worker.pending() > 0);
        if !due || busy || self.stuck.len() >= LEFT_BEHIND {
            return;
        }
        self.asked_ns = Some(cx.now_ns);
        let mut targets = targets(draft);
        self.hung.retain(|process| targets.iter().any(|target| target.process == *process));
        targets.retain(|target| !self.hung.contains(&target.process));
        if targets.is_empty() {
            return self.publish(&(cx.now_ns, Vec::new()), cx, draft);
        }
        if self.worker.is_none() {
            let (root, at) = (Arc::clone(cx.root), At::default());
            self.at = Arc::clone(&at);
            let mut homes = HashMap::new();
            self.worker =
                Worker::spawn("jvms", move |targets: Vec<Target>| round(&root, &targets, &mut homes, &at)).ok();
        }
        let Some(worker) = &mut self.worker else { return };
        worker.submit(targets);
        let patience = if cx.root.is_live() { PATIENCE } else { 10 * PATIENCE };
        if let Some(answer) = cx.demand.complete.then(|| worker.wait(patience)).flatten() {
            self.publish(&answer, cx, draft);
        }
    }
}

impl JvmCollector {
    fn publish(&mut self, (at_ns, seen): &(u64, Seen), cx: &Cx<'_>, draft: &mut Draft) {
        self.rounds += 1;
        // Where there never was one there is nothing to say, sample by sample.
        let none = seen.is_empty() && self.hung.is_empty();
        if none && draft.jvms.state == State::Read && draft.jvms.data().rows().is_empty() {
            return;
        }
        draft.jvms.begin(cx.now_ns);
        let mut gaps = Gaps::default();
        let table = draft.jvms.data_mut();
        self.slots.begin();
        for (process, found) in seen {
            match found {
                Ok(jvm) => {
                    let (slot, _) = self.slots.slot(table, process);
                    put(table, slot, *process, *at_ns, jvm);
                }
                Err(reason @ Reason::PermissionDenied) => {
                    gaps.add(PATTERN, *reason, &rights::needs(cx.root, Needs::PtraceAndFiles));
                }
                Err(reason @ Reason::NotFound) => gaps.add(PATTERN, *reason, "a JVM started with -XX:+UsePerfData"),
                Err(reason) => gaps.add(PATTERN, *reason, ""),
            }
        }
        self.slots.finish(table, |_, _| {});
        if !self.hung.is_empty() {
            gaps.add_many(PATTERN, Reason::TimedOut, "", self.hung.len() as u64);
        }
        draft.jvms.gaps = gaps;
    }
}

fn put(table: &mut Jvms, slot: usize, process: Process, at_ns: u64, jvm: &Jvm) {
    table.pid.set(slot, u64::from(process.0));
    table.starttime.set(slot, process.1);
    table.read_at_ns.set(slot, at_ns);
    table.gc_time_ns.set_or_clear(slot, jvm.gc_time_ns);
    table.gc_count.set_or_clear(slot, jvm.gc_count);
    table.safepoint_time_ns.set_or_clear(slot, jvm.safepoint_time_ns);
    table.safepoints.set_or_clear(slot, jvm.safepoints);
    table.contended_locks.set_or_clear(slot, jvm.contended_locks);
    table.heap_used_bytes.set_or_clear(slot, jvm.heap_used);
    table.heap_capacity_bytes.set_or_clear(slot, jvm.heap_capacity);
    table.heap_max_bytes.set_or_clear(slot, jvm.heap_max);
    table.collectors.set(slot, &jvm.collectors);
    table.version.set(slot, &jvm.version);
}

/// Processes that look like Java: by their name, or by the program they started.
fn targets(draft: &Draft) -> Vec<Target> {
    let table = draft.processes.data();
    let is_java = |slot: usize| {
        let cmdline = table.cmdline.or_empty(slot);
        let program = cmdline.split(' ').next().unwrap_or_default();
        &*table.comm.or_empty(slot) == "java" || program.rsplit('/').next() == Some("java")
    };
    let target = |slot: usize| {
        let process = (table.pid.id(slot).value()?, table.starttime.value(slot).unwrap_or_default());
        Some(Target { process, inner: table.inner_pid.value(slot) })
    };
    table.rows().iter().filter(|&slot| is_java(slot)).filter_map(target).take(MOST).collect()
}

fn round(
    root: &Root,
    targets: &[Target],
    homes: &mut HashMap<Process, String>,
    at: &Mutex<Option<Process>>,
) -> (u64, Seen) {
    homes.retain(|process, _| targets.iter().any(|target| target.process == *process));
    let mut buf = Vec::new();
    let mut seen = Vec::with_capacity(targets.len());
    let is_at = |process| *at.lock().unwrap_or_else(PoisonError::into_inner) = process;
    let top = root.local();
    for target in targets {
        is_at(Some(target.process));
        let inside = top.as_ref().map_err(|reason| *reason).and_then(|top| root.local_of(target.process.0, top));
        seen.push((target.process, inside.and_then(|inside| look(&inside, *target, homes, &mut buf))));
    }
    is_at(None);
    (root.monotonic_ns(), seen)
}

fn look(
    inside: &Local<'_>,
    target: Target,
    homes: &mut HashMap<Process, String>,
    buf: &mut Vec<u8>,
) -> Result<Jvm, Reason> {
    let read = |path: &str, buf: &mut Vec<u8>| -> Result<Jvm, Reason> {
        inside.read_start(path, buf, MOST_BYTES)?;
        let jvm = perfdata::parse(buf).ok_or(Reason::Malformed)?;
        inside.keep(path, || buf.clone());
        Ok(jvm)
    };
    if let Some(known) = homes.get(&target.process) {
        return read(known, buf);
    }
    let pid = target.inner.unwrap_or_else(|| u64::from(target.process.0));
    let users = inside.names_with("tmp", "hsperfdata_", MOST_USERS)?;
    let mut last = Reason::NotFound;
    for user in users {
        let path = format!("tmp/{user}/{pid}");
        match read(&path, buf) {
            Ok(jvm) => {
                homes.insert(target.process, path);
                return Ok(jvm);
            }
            Err(Reason::NotFound) => {}
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::perfdata::tests::{NUMBERS, file};
    use crate::{Demand, Options, Root, Sampler};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use topotop_model::derive::Deriver;
    use topotop_model::frame::Frame;
    use topotop_model::{Reason, Window};

    /// A captured machine with a Java process that is 1 in its own pid namespace.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        let stat = "7 (java) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 0\n";
        let put = |path: &str, bytes: &[u8]| crate::testing::put(dir.path(), path, bytes);
        put("proc/7/stat", stat.as_bytes());
        put("proc/7/status", b"Name:\tjava\nUid:\t0\t0\t0\t0\nNSpid:\t7\t1\n");
        put("proc/7/root/tmp/hsperfdata_app/1", &file(&NUMBERS, &[], true));
        dir
    }

    fn sampled(dir: &Path) -> Frame {
        let mut sampler = Sampler::new(Root::at(dir).expect("a root"), &Options::default());
        sampler.demand(Demand { complete: true, process: None });
        let mut window = Window::default();
        window.push(sampler.sample());
        Deriver::default().frame(&window)
    }

    #[test]
    fn a_virtual_machine_is_found_below_its_own_root() {
        let dir = tree();
        let frame = sampled(dir.path());
        let jvm = frame.process(7).and_then(|process| process.jvm.as_ref()).expect("a virtual machine");
        assert_eq!(jvm.heap_capacity_bytes.value(), Some(64 << 20));
        assert_eq!(jvm.gc_time_ratio, None, "one sample has no rate");
    }

    #[test]
    fn no_link_leads_elsewhere() {
        let dir = tree();
        let data = dir.path().join("proc/7/root/tmp/hsperfdata_app/1");
        let elsewhere = dir.path().join("elsewhere");
        std::fs::rename(&data, &elsewhere).expect("moved");
        symlink("../../../../../elsewhere", &data).expect("linked");
        let frame = sampled(dir.path());
        assert!(frame.process(7).expect("a process").jvm.is_none());
        assert!(frame.gaps.iter().any(|gap| gap.path.contains("hsperfdata")), "{:?}", frame.gaps);
    }

    #[test]
    fn a_file_that_is_none_is_a_gap() {
        let dir = tree();
        std::fs::write(dir.path().join("proc/7/root/tmp/hsperfdata_app/1"), [0xff; 5000]).expect("written");
        let frame = sampled(dir.path());
        let gap = frame.gaps.iter().find(|gap| gap.path.contains("hsperfdata")).expect("a gap");
        assert_eq!((gap.reason, frame.process(7).expect("a process").jvm.is_none()), (Reason::Malformed, true));
        std::fs::remove_dir_all(dir.path().join("proc/7/root")).expect("removed");
        assert!(sampled(dir.path()).gaps.iter().any(|gap| gap.path.contains("hsperfdata")));
    }
}
