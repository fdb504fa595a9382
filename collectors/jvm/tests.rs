//! Java virtual machines below their own roots, and threads that do not come back from there.

use super::perfdata::Jvm;
use super::perfdata::tests::{NUMBERS, file};
use super::{Asked, At, JvmCollector, LATE_NS, LEFT_BEHIND, PERIOD_NS, Process, Seen, put};
use crate::live::{Kernel, Live};
use crate::worker::Worker;
use crate::{Collector as _, Cx, Demand, Options, Root, Sampler};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use topotop_model::derive::Deriver;
use topotop_model::frame::Frame;
use topotop_model::{Draft, Reason, Table as _, Window};

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

/// A thread that hangs at a process until the sender is dropped, and has seen something then.
fn hanging(process: Process, seen: Seen) -> (Sender<()>, At, Asked) {
    let ((back, waits), at) = (channel::<()>(), At::default());
    let place = Arc::clone(&at);
    let hangs = move |_| {
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        let _ = waits.recv();
        seen.clone()
    };
    let mut worker = Worker::spawn("test", hangs).expect("started");
    assert!(worker.submit(Vec::new()));
    while at.lock().expect("no panic").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    (back, at, worker)
}

/// Java processes of these numbers.
fn java(pids: &[u32]) -> Draft {
    let mut draft = Draft::default();
    let table = draft.processes.data_mut();
    for pid in pids {
        let slot = table.insert();
        table.pid.set(slot, u64::from(*pid));
        table.starttime.set(slot, 5);
        table.comm.set(slot, "java");
    }
    draft
}

/// A sample of a tree without files; heaps by process, and what did not answer.
fn sample(collector: &mut JvmCollector, draft: &mut Draft, now_ns: u64) -> (Vec<(u64, Option<u64>)>, u64) {
    let dir = tempfile::tempdir().expect("a directory");
    let root = Arc::new(Root::at(dir.path()).expect("a root"));
    let live: Arc<dyn Live> = Arc::new(Kernel);
    let (demand, mut buf) = (Demand::default(), Vec::new());
    collector.collect(&mut Cx { root: &root, live: &live, now_ns, demand: &demand, buf: &mut buf }, draft);
    let table = draft.jvms.data();
    let row = |slot| (table.pid.id(slot).value().map_or(0, u64::from), table.heap_used_bytes.value(slot));
    let silent = draft.jvms.gaps.iter().filter(|gap| gap.reason == Reason::TimedOut).map(|gap| gap.count).sum();
    (table.rows().iter().map(row).collect(), silent)
}

fn used(heap: u64) -> Jvm {
    Jvm { heap_used: Some(heap), ..Jvm::default() }
}

#[test]
fn a_late_answer_counts_and_its_process_is_asked_again() {
    let (mut collector, mut draft) = (JvmCollector::default(), java(&[7]));
    let (process, second) = ((7, 5), 1_000_000_000);
    let (back, at, worker) = hanging(process, vec![(process, (LATE_NS + second, Ok(used(4096))))]);
    (collector.worker, collector.at, collector.asked_ns) = (Some(worker), at, Some(0));
    collector.learn(vec![(process, (0, Ok(used(1024))))]);
    assert_eq!(sample(&mut collector, &mut draft, LATE_NS), (Vec::new(), 1), "what hangs has no row");
    assert!(collector.worker.is_none() && collector.hung() == [process], "nobody asks it meanwhile");
    drop(back);
    let mut seen = (Vec::new(), 1);
    while !collector.stuck.is_empty() {
        std::thread::sleep(Duration::from_millis(1));
        seen = sample(&mut collector, &mut draft, LATE_NS + second);
    }
    assert_eq!(seen, (vec![(7, Some(4096))], 0));
    sample(&mut collector, &mut draft, LATE_NS + second + PERIOD_NS);
    assert!(collector.is_busy(), "it is asked again");
}

#[test]
fn what_is_newer_outlives_a_late_answer() {
    let mut collector = JvmCollector::default();
    let process = (7, 5);
    collector.learn(vec![(process, (20, Ok(used(2))))]);
    collector.learn(vec![(process, (10, Ok(used(1)))), ((8, 5), (10, Ok(used(3))))]);
    assert_eq!(collector.known, [(process, (20, Ok(used(2)))), ((8, 5), (10, Ok(used(3))))].into());
}

#[test]
fn while_as_many_hang_as_may_nothing_is_known_of_any() {
    let (mut collector, mut draft) = (JvmCollector::default(), java(&[7, 8]));
    let mut backs = Vec::new();
    for _ in 0..LEFT_BEHIND {
        let (back, at, worker) = hanging((7, 5), Vec::new());
        collector.stuck.push((at, worker));
        backs.push(back);
    }
    collector.learn(vec![((8, 5), (1, Ok(used(1024))))]);
    collector.slots.begin();
    let (slot, _) = collector.slots.slot(draft.jvms.data_mut(), &(8, 5));
    put(draft.jvms.data_mut(), slot, (8, 5), 1, &Jvm::default());
    for round in 1..4 {
        assert_eq!(sample(&mut collector, &mut draft, round * PERIOD_NS), (Vec::new(), 2), "round {round}");
        assert!(collector.worker.is_none());
    }
    drop(backs);
    while !collector.stuck.is_empty() {
        std::thread::sleep(Duration::from_millis(1));
        sample(&mut collector, &mut draft, 3 * PERIOD_NS);
    }
    sample(&mut collector, &mut draft, 4 * PERIOD_NS);
    assert!(collector.is_busy(), "they are asked again");
}
