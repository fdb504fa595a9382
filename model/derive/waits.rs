//! Waiting for CPUs and disks, summed up: threads to processes, processes to control groups, CPUs to the machine.

use crate::frame::{CpuShares, Frame, Process, Thread};
use std::collections::HashMap;
use std::sync::Arc;

/// The setting that turns delay accounting on; kernels without it (before Linux 5.14) have it on by default.
const DELAY_ACCOUNTING: &str = "kernel.task_delayacct";

pub(super) fn derive(frame: &mut Frame) {
    let waits = frame.cpus.iter().filter_map(|cpu| cpu.run_wait_cores);
    frame.host.run_wait_cores = waits.reduce(|sum, wait| sum + wait);
    let accounted = is_accounted(frame);
    let threads = std::mem::take(&mut frame.threads);
    let mut rest = threads.as_slice();
    for process in &mut frame.processes {
        let before = rest.partition_point(|thread| thread.pid < process.pid);
        rest = rest.get(before..).unwrap_or_default();
        let many = rest.partition_point(|thread| thread.pid == process.pid);
        sum_up(process, rest.get(..many).unwrap_or_default());
        process.io_delay_cores = process.io_delay_cores.filter(|_| accounted);
    }
    frame.threads = threads;
    for thread in frame.threads.iter_mut().filter(|_| !accounted) {
        thread.io_delay_cores = None;
    }
    groups(frame);
}

/// True where zero of a delay means that there was none.
fn is_accounted(frame: &Frame) -> bool {
    let setting = frame.sysctls.iter().find(|(name, _)| **name == *DELAY_ACCOUNTING);
    if let Some((_, value)) = setting {
        return &**value == "1";
    }
    // Where nothing tells, a delay does.
    let any = |cores: Option<f64>| cores.is_some_and(|cores| cores > 0.0);
    frame.threads.iter().any(|thread| any(thread.io_delay_cores))
        || frame.processes.iter().any(|process| any(process.io_delay_cores))
}

/// Of a process whose threads are looked at, what all of them waited.
fn sum_up(process: &mut Process, threads: &[Thread]) {
    if threads.len() < 2 {
        return;
    }
    let sum = |values: &mut dyn Iterator<Item = Option<f64>>| values.flatten().reduce(|sum, value| sum + value);
    process.run_wait_cores =
        sum(&mut threads.iter().map(|thread| Some((thread.demand_cores? - thread.cpu_cores?).max(0.0))));
    process.io_delay_cores = sum(&mut threads.iter().map(|thread| thread.io_delay_cores));
    process.context_switches_per_second = sum(&mut threads.iter().map(|thread| thread.slices_per_second));
    process.blocked_threads = threads.iter().filter(|thread| thread.state == 'D').count() as u32;
}

/// What processes waited, by the groups that they are in and all above those: version 1 has several of each.
fn groups(frame: &mut Frame) {
    let mut own: HashMap<Arc<str>, (Option<f64>, u32)> = HashMap::new();
    let waits = |process: &&Process| process.run_wait_cores.is_some() || process.blocked_threads > 0;
    for process in frame.processes.iter().filter(waits) {
        let mut paths: Vec<&str> = Vec::new();
        for group in process.groups() {
            let mut path = Some(&**group).filter(|path| !path.is_empty());
            while let Some(at) = path.filter(|at| !paths.contains(at)) {
                paths.push(at);
                path = super::cgroups::parent(at);
            }
        }
        for path in paths {
            let Some(cgroup) = frame.cgroup(path) else { continue };
            let sum = own.entry(Arc::clone(&cgroup.path)).or_default();
            sum.0 = match (sum.0, process.run_wait_cores) {
                (Some(sum), Some(more)) => Some(sum + more),
                (known, more) => known.or(more),
            };
            sum.1 += process.blocked_threads;
        }
    }
    let cpus: Vec<(u32, f64)> =
        frame.cpus.iter().filter_map(|cpu| Some((cpu.id, full(cpu.shares.as_ref()?)))).collect();
    let online = &frame.topology.cpus_online;
    for cgroup in &mut frame.cgroups {
        cgroup.cpuset_busy = cgroup.cpuset_cpus.as_ref().filter(|set| !online.is_within(set)).and_then(|set| {
            let busy: Vec<f64> = cpus.iter().filter(|(id, _)| set.contains(*id)).map(|(_, busy)| *busy).collect();
            (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64)
        });
        if let Some(&(wait, blocked)) = own.get(&cgroup.path) {
            (cgroup.run_wait_cores, cgroup.blocked_threads) = (wait, blocked);
        }
    }
}

/// What of a CPU nobody else can have.
fn full(shares: &CpuShares) -> f64 {
    (shares.busy + shares.steal).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::derive;
    use crate::frame::{Cgroup, Cpu, CpuShares, Frame, Process, Thread, Topology};
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn cpu(id: u32, busy: f64, wait: Option<f64>) -> Cpu {
        let shares = CpuShares { busy, steal: 0.1, ..CpuShares::default() };
        Cpu { id, online: true, shares: Some(shares), run_wait_cores: wait, ..Cpu::default() }
    }

    fn group(path: &str, cpus: &str) -> Cgroup {
        let cpus = IdSet::parse_list(cpus).map(Arc::new);
        Cgroup { path: path.into(), cpuset_cpus: cpus, ..Cgroup::default() }
    }

    fn process(pid: u32, wait: Option<f64>, threads: u64) -> Process {
        Process {
            pid,
            run_wait_cores: wait,
            threads: threads.into(),
            cgroup: "/a/b".into(),
            cpuset_cgroup: "/set".into(),
            io_cgroup: "/io".into(),
            ..Process::default()
        }
    }

    fn thread(pid: u32, tid: u32, ran: f64, wanted: Option<f64>, state: char) -> Thread {
        let io_delay_cores = Some(0.25);
        Thread { pid, tid, cpu_cores: Some(ran), demand_cores: wanted, state, io_delay_cores, ..Thread::default() }
    }

    fn machine(accounting: &str) -> Frame {
        let topology = Topology { cpus_online: IdSet::from_ids(0..2), ..Topology::default() };
        let mut frame = Frame {
            topology: Arc::new(topology),
            cpus: vec![cpu(0, 0.5, Some(0.75)), cpu(1, 0.7, Some(0.5))],
            cgroups: vec![
                group("/", "0-1"),
                group("/a", "0-1"),
                group("/a/b", "0-1"),
                group("/ab", "0"),
                group("/io", "0-1"),
                group("/set", "1"),
            ],
            processes: vec![process(7, Some(0.5), 1), process(8, None, 2), process(9, None, 4)],
            threads: vec![thread(8, 8, 0.2, Some(0.5), 'D'), thread(8, 80, 0.1, Some(0.1), 'S')],
            sysctls: vec![("kernel.task_delayacct".into(), accounting.into())],
            ..Frame::default()
        };
        derive(&mut frame);
        frame
    }

    #[test]
    fn waits_are_summed_over_threads_groups_and_cpus() {
        let frame = machine("1");
        assert_eq!(frame.host.run_wait_cores, Some(1.25));
        let rounded = |cores: f64| (cores * 1000.0).round() / 1000.0;
        let waits: Vec<_> = frame.processes.iter().map(|process| process.run_wait_cores.map(rounded)).collect();
        assert_eq!(waits, [Some(0.5), Some(0.3), None], "nobody looked at the threads of the last one");
        assert_eq!((frame.processes[1].blocked_threads, frame.processes[1].io_delay_cores), (1, Some(0.5)));
        let groups: Vec<_> =
            frame.cgroups.iter().map(|group| (&*group.path, group.run_wait_cores.map(rounded))).collect();
        let all = Some(0.8);
        let expected = [("/", all), ("/a", all), ("/a/b", all), ("/ab", None), ("/io", all), ("/set", all)];
        assert_eq!(groups, expected);
        for path in ["/a", "/io"] {
            assert_eq!(frame.cgroup(path).map(|group| group.blocked_threads), Some(1), "{path}");
        }
    }

    #[test]
    fn a_cpuset_is_as_busy_as_its_cpus() {
        let frame = machine("1");
        let busy: Vec<_> =
            frame.cgroups.iter().map(|group| group.cpuset_busy.map(|busy| (busy * 100.0).round())).collect();
        assert_eq!(busy, [None, None, None, Some(60.0), None, Some(80.0)], "all CPUs are the machine's");
    }

    #[test]
    fn zero_means_nothing_while_delays_are_not_counted() {
        let frame = machine("0");
        assert_eq!(frame.processes[1].io_delay_cores, None);
        assert_eq!(frame.threads[0].io_delay_cores, None);
        assert_eq!(frame.processes[2].threads, Known::Value(4));
    }
}
