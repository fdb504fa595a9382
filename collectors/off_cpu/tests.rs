use super::OffCpuCollector;
use crate::live::{Kernel, Live};
use crate::sockets::Connections;
use crate::{Collector as _, Cx, Demand, Root};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use topotop_model::{Draft, State, Table as _};

fn collect(collector: &mut OffCpuCollector, draft: &mut Draft, root: &Arc<Root>, now_ns: u64) {
    let live: Arc<dyn Live> = Arc::new(Kernel);
    let mut cx = Cx { root, live: &live, now_ns, demand: &Demand::default(), buf: &mut Vec::new() };
    collector.collect(&mut cx, draft);
}

#[test]
fn a_captured_machine_is_not_sampled() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = Arc::new(Root::at(dir.path()).expect("a root"));
    let mut draft = Draft::default();
    collect(&mut OffCpuCollector::new(Connections::default()), &mut draft, &root, 1);
    assert_eq!((draft.off_cpu.state, draft.waits.state), (State::NotCollected, State::NotCollected));
}

/// Threads of this process that wait for a lock that another one has, and one that sleeps.
#[test]
fn threads_of_this_machine_are_found_at_what_they_wait_for() {
    let (lock, ready) = (Arc::new(Mutex::new(())), Arc::new(Barrier::new(4)));
    let held = lock.lock().expect("free");
    let waiter = |lock: Arc<Mutex<()>>, ready: Arc<Barrier>, tids: Arc<Mutex<Vec<u32>>>| {
        std::thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            tids.lock().expect("free").push(tid);
            ready.wait();
            drop(lock.lock());
        })
    };
    let tids = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..3).map(|_| waiter(Arc::clone(&lock), Arc::clone(&ready), Arc::clone(&tids))).collect();
    ready.wait();
    std::thread::sleep(Duration::from_millis(50));
    let pid = std::process::id();
    let tids = tids.lock().expect("free").clone();
    let targets = tids.iter().map(|&tid| super::choose::Target { process: (pid, 1), tid, titled: false }).collect();
    let root = Arc::new(Root::live().expect("a root"));
    let job = super::Job { targets, connections: Arc::default(), looks: 2, gap: Duration::from_millis(5) };
    let answer = super::Looker::new(root).round(&job);
    drop(held);
    for thread in threads {
        thread.join().expect("ended");
    }
    assert_eq!(answer.processes.get(&(pid, 1)).map(|total| (total.samples, total.threads)), Some((6, 3)));
    // Where nobody may look there is no call.
    let futex = answer.found.iter().find(|(at, _)| at.call == Some("futex"));
    if let Some((at, count)) = futex {
        assert!(!at.timed && at.object.is_some());
        assert_eq!((count.samples, count.threads, count.together), (6, 3, 3), "{:?}", answer.found);
    }
}

#[test]
fn what_was_found_counts_for_a_while() {
    let mut collector = OffCpuCollector::new(Connections::default());
    let mut draft = Draft::default();
    let at = super::At {
        process: (7, 1),
        state: b'S',
        call: Some("futex"),
        wchan: None,
        target: "",
        object: Some(0x7f00),
        operation: Some(0),
        timed: false,
        peer: None,
        outstanding: None,
    };
    for second in 1..=3 {
        let mut answer = super::Answer::default();
        answer.processes.insert((7, 1), super::Total { samples: 10, denied: 1, threads: 2 });
        answer.found.insert(at.clone(), super::Count { samples: 9, threads: 2, together: 2 });
        collector.rounds.push_back((second * 1_000_000_000, answer));
    }
    let dir = tempfile::tempdir().unwrap();
    collector.publish(&Root::at(dir.path()).unwrap(), 3_000_000_000, &mut draft);
    let (totals, waits) = (draft.off_cpu.data(), draft.waits.data());
    assert_eq!(
        (totals.samples.value(0), totals.denied.value(0), totals.threads.value(0)),
        (Some(30), Some(3), Some(2))
    );
    assert_eq!((waits.samples.value(0), waits.together.value(0)), (Some(27), Some(2)));
    assert_eq!(draft.waits.gaps.iter().map(|gap| gap.count).sum::<u64>(), 1, "one process");
    let root = Arc::new(Root::live().expect("a root"));
    collect(&mut collector, &mut draft, &root, 60_000_000_000);
    assert!(draft.off_cpu.data().rows().is_empty() && draft.waits.data().rows().is_empty());
}

#[test]
fn a_budget_is_kept() {
    let mut collector = OffCpuCollector::new(Connections::default());
    let mut answer = super::Answer { cpu_ns: 50_000_000, ..super::Answer::default() };
    answer.processes.insert((7, 1), super::Total { samples: 500, denied: 0, threads: 100 });
    for _ in 0..10 {
        collector.spend(&answer);
    }
    assert_eq!(collector.most, super::LEAST, "a tenth of a millisecond each is dear");
    answer.cpu_ns = 1_000_000;
    for _ in 0..10 {
        collector.spend(&answer);
    }
    assert!(collector.most > 90);
}
