//! Who does the work: run, run queue and blocked time of processes, and which of them bear the load.

use super::{State, sections};
use crate::frame::{Frame, Process};
use crate::rules::parts::is_below;
use std::collections::HashMap;
use std::sync::Arc;

/// Share of all demand from which on an application counts as loaded.
pub(super) const BEARS: f64 = 0.1;
/// Cores below which a process does not count.
const LEAST: f64 = 0.002;

/// A process that wants something.
#[derive(Clone, Debug)]
pub(super) struct Task<'a> {
    pub(super) process: &'a Process,
    /// Cores used.
    pub(super) run: f64,
    /// Cores' worth of waiting for a CPU, throttled time included; none if unknown.
    pub(super) wait: Option<f64>,
    /// Cores' worth of uninterruptible sleep.
    pub(super) blocked: f64,
    /// Its application is loaded.
    pub(super) bears: bool,
}

impl Task<'_> {
    pub(super) fn demand(&self) -> f64 {
        self.run + self.wait.unwrap_or(0.0) + self.blocked
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Demand<'a> {
    pub(super) tasks: Vec<Task<'a>>,
    /// Cores: of all tasks, and at least what the CPUs were busy with.
    pub(super) total: f64,
    /// Tasks in uninterruptible sleep; none if unknown.
    pub(super) blocked: Option<f64>,
    /// True if the run queue wait of some load-bearing task is known.
    pub(super) waits_known: bool,
}

impl<'a> Demand<'a> {
    pub(super) fn of(frame: &'a Frame, state: &State) -> Self {
        let mut tasks: Vec<Task<'a>> =
            frame.processes.iter().filter_map(|process| task(frame, process, state)).collect();
        share_stall(frame, &mut tasks);
        let busy: f64 = frame.cpus.iter().filter_map(|cpu| cpu.shares).map(|shares| shares.busy).sum();
        let known: f64 = tasks.iter().map(Task::demand).sum();
        let waited: f64 = tasks.iter().map(|task| task.wait.unwrap_or(0.0) + task.blocked).sum();
        let total = known.max(busy + waited);
        let mut applications: HashMap<(&str, &str), f64> = HashMap::new();
        for task in &tasks {
            *applications.entry((&task.process.cgroup, &task.process.comm)).or_default() += task.demand();
        }
        let bears: Vec<bool> = tasks
            .iter()
            .map(|task| applications.get(&(&*task.process.cgroup, &*task.process.comm)).copied().unwrap_or(0.0))
            .map(|demand| demand >= BEARS * total)
            .collect();
        for (task, bears) in tasks.iter_mut().zip(bears) {
            task.bears = bears;
        }
        let waits_known = tasks.iter().any(|task| task.bears && task.wait.is_some());
        let in_sleep: f64 = tasks.iter().map(|task| task.blocked).sum();
        let blocked = frame.host.blocked.value().map(|_| state.blocked_host.max(in_sleep));
        let blocked = blocked.or_else(|| sections::processes(frame).then_some(in_sleep));
        Self { tasks, total, blocked, waits_known }
    }

    /// Those that bear load.
    pub(super) fn bearing(&self) -> impl Iterator<Item = &Task<'a>> {
        self.tasks.iter().filter(|task| task.bears)
    }

    /// Those in a group or below it.
    pub(super) fn within(&self, path: &str, group: fn(&Process) -> &Arc<str>) -> Sum {
        let inside = |task: &&Task<'_>| {
            let own = group(task.process);
            **own == *path || is_below(own, path)
        };
        self.tasks.iter().filter(inside).fold(Sum::default(), Sum::add)
    }

    /// The load-bearing application that waits most for disks: the share of its time, and its demand.
    pub(super) fn io_wait(&self) -> Option<(f64, f64)> {
        let mut applications: HashMap<(&str, &str), Sum> = HashMap::new();
        for task in self.bearing() {
            let sum = applications.entry((&task.process.cgroup, &task.process.comm)).or_default();
            *sum = std::mem::take(sum).add(task);
        }
        let most =
            applications.values().filter(|sum| sum.demand() > 0.0).max_by(|a, b| a.blocked.total_cmp(&b.blocked));
        self.blocked.map(|_| most.map_or((0.0, 0.0), |sum| (sum.blocked / sum.demand(), sum.demand())))
    }
}

/// Tasks together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) run: f64,
    pub(super) wait: f64,
    pub(super) blocked: f64,
    pub(super) waits_known: bool,
    pub(super) bears: bool,
}

impl Sum {
    fn add(mut self, task: &Task<'_>) -> Self {
        self.run += task.run;
        self.wait += task.wait.unwrap_or(0.0);
        self.blocked += task.blocked;
        self.waits_known |= task.wait.is_some();
        self.bears |= task.bears;
        self
    }

    pub(super) fn demand(&self) -> f64 {
        self.run + self.wait + self.blocked
    }
}

/// Waiting for disks that samples of states miss, since each wait is shorter than they are apart, to those that read and
/// write, by their bytes.
fn share_stall(frame: &Frame, tasks: &mut [Task<'_>]) {
    let iowait: f64 = frame.cpus.iter().filter_map(|cpu| cpu.shares).map(|shares| shares.iowait).sum();
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio).unwrap_or(0.0);
    let missed = iowait.max(pressure) - tasks.iter().map(|task| task.blocked).sum::<f64>();
    let bytes = |process: &Process| {
        process.read_bytes_per_second.unwrap_or(0.0) + process.write_bytes_per_second.unwrap_or(0.0)
    };
    let all: f64 = tasks.iter().map(|task| bytes(task.process)).sum();
    if missed > 0.02 && missed.is_finite() && all > 0.0 && all.is_finite() {
        for task in tasks {
            task.blocked += missed * bytes(task.process) / all;
        }
    }
}

fn task<'a>(frame: &Frame, process: &'a Process, state: &State) -> Option<Task<'a>> {
    if process.kernel {
        return None;
    }
    let run = process.cpu_cores.filter(|cores| cores.is_finite()).unwrap_or(0.0);
    let wait = run_wait(frame, process, run);
    let blocked = state.blocked(process);
    let counts = run + wait.unwrap_or(0.0) + blocked >= LEAST;
    counts.then_some(Task { process, run, wait, blocked, bears: false })
}

/// Cores' worth of waiting for a CPU.
fn run_wait(frame: &Frame, process: &Process, run: f64) -> Option<f64> {
    if process.run_wait_cores.is_some() {
        return process.run_wait_cores;
    }
    let threads = frame.threads_of(process.pid).iter();
    let waits = threads.filter_map(|thread| Some((thread.demand_cores? - thread.cpu_cores?).max(0.0)));
    let threads = waits.reduce(|sum, wait| sum + wait);
    // A process that only waited has no share of what it ran.
    let share = process.wait_share.filter(|share| (0.0..0.98).contains(share));
    let whole = share.map(|share| run * share / (1.0 - share));
    whole.into_iter().chain(threads).reduce(f64::max)
}
