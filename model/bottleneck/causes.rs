//! Which saturated resources are the effect of others.

use super::demand::Task;
use super::resource::Member;
use super::{Inputs, ResourceKind};
use crate::frame::{Cgroup, Listener, Process};
use crate::rules::Subject;
use crate::rules::parts::is_below;

/// Share of an effect that a cause has to explain.
const EXPLAINED: f64 = 0.5;

/// Utilisation of a device from which on an I/O limit does not explain it.
const DEVICE: f64 = 0.5;

/// True if one saturated resource explains another one.
pub(super) fn explains(inputs: &Inputs<'_>, cause: &Member, effect: &Member) -> bool {
    match (cause.resource.kind, effect.resource.kind) {
        // What the hypervisor takes is missing to all that run.
        (ResourceKind::Steal, ResourceKind::Cpus | ResourceKind::Core | ResourceKind::Thread) => {
            let stolen = cause.resource.waits.map_or(0.0, |waits| waits.value);
            let queued = effect.resource.wait.unwrap_or(0.0) * effect.demand;
            stolen >= EXPLAINED * (stolen + queued)
        }
        // Where every CPU is full, each core and thread is.
        (ResourceKind::Cpus, ResourceKind::Core | ResourceKind::Thread | ResourceKind::Cpuset)
        // Who accepts too late waits for something else.
        | (
            ResourceKind::Cpus
            | ResourceKind::Core
            | ResourceKind::Thread
            | ResourceKind::Quota
            | ResourceKind::Cpuset
            | ResourceKind::Conntrack
            | ResourceKind::Ports
            | ResourceKind::Pids,
            ResourceKind::Tcp,
        )
        | (ResourceKind::Memory, ResourceKind::Swap) => true,
        (ResourceKind::Files, ResourceKind::Tcp) => accepts(inputs, cause, effect),
        (ResourceKind::Cpus, ResourceKind::Softirq) => !is_uneven(inputs, effect),
        // What encrypts or compresses on the way to a disk needs CPUs.
        (ResourceKind::Cpus, ResourceKind::Disk) => is_on_top(inputs, effect),
        // A core full of interrupts is full.
        (ResourceKind::Softirq, ResourceKind::Core) => cause.resource.subject == effect.resource.subject,
        // A core that is crowded, or a group that is held, is why its threads do not get on.
        (ResourceKind::Quota | ResourceKind::Cpuset, ResourceKind::Thread)
        | (ResourceKind::Memory, ResourceKind::Thread | ResourceKind::Core) => belongs(inputs, effect, cause),
        // What a limit drives out has to be read again.
        (ResourceKind::Memory, ResourceKind::Disk) => {
            refaulted(inputs, cause) >= EXPLAINED * disk_bytes(inputs, effect)
        }
        (ResourceKind::Memory, ResourceKind::IoThrottle) => has_tasks_of(inputs, cause, effect),
        // What is held back from a full device would wait for it.
        (ResourceKind::Disk, ResourceKind::IoThrottle) => is_device_of(inputs, cause, effect),
        // What an I/O limit holds back never reaches the device.
        (ResourceKind::IoThrottle, ResourceKind::Disk) => effect.resource.share.is_none_or(|share| share < DEVICE),
        (ResourceKind::Memory, ResourceKind::Memory) => {
            cause.resource.subject != Some(Subject::Host) && effect.resource.subject == Some(Subject::Host)
                || is_inside(cause, effect)
        }
        _ => false,
    }
}

/// True for a full device that an I/O limit is on.
fn is_device_of(inputs: &Inputs<'_>, disk: &Member, throttle: &Member) -> bool {
    let (Some(Subject::Disk(name)), Some(Subject::Cgroup(path))) = (&disk.resource.subject, &throttle.resource.subject)
    else {
        return false;
    };
    let device = inputs.frame.disks.iter().find(|disk| disk.name == *name);
    let limited = inputs.frame.cgroup(path).and_then(Cgroup::io_throttle);
    device.zip(limited).is_some_and(|(device, (io, _))| {
        device.dev == io.dev && device.utilisation.is_some_and(|share| share >= super::io_throttle::DEVICE)
    })
}

/// True for a device on top of others, such as an encrypted one.
fn is_on_top(inputs: &Inputs<'_>, disk: &Member) -> bool {
    let Some(Subject::Disk(name)) = &disk.resource.subject else { return false };
    inputs.frame.disks.iter().any(|disk| disk.name == *name && !disk.lower.is_empty())
}

/// True for interrupts that other CPUs have much less of.
fn is_uneven(inputs: &Inputs<'_>, softirq: &Member) -> bool {
    let Some(Subject::Cpu(id)) = softirq.resource.subject else { return false };
    let others = inputs.frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated && cpu.id != id);
    let others: Vec<f64> = others.map(|cpu| inputs.interrupts(cpu.id)).collect();
    let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
    softirq.resource.share.is_some_and(|share| share >= 2.0 * mean)
}

/// True for the machine, and for a process that accepts the connections of the queue's namespace; where its sockets are not
/// known, for one of the program that does, and where nobody is known to, for any.
fn accepts(inputs: &Inputs<'_>, files: &Member, queue: &Member) -> bool {
    let Some(Subject::Process(pid, _)) = files.resource.subject else { return true };
    let Some(process) = inputs.frame.process(pid) else { return false };
    let through = match queue.resource.subject {
        Some(Subject::Process(pid, _)) => Some(pid),
        _ => None,
    };
    let mut namespaces = inputs.frame.net_namespaces.iter();
    let here = namespaces.find(|namespace| namespace.pid.value() == through).map_or(0, |namespace| namespace.netns);
    // A namespace whose number is not known may be any.
    let is_here = |listener: &Listener| here == 0 || listener.netns == 0 || listener.netns == here;
    let listens = |process: &&Process| process.listen.iter().flatten().chain(&process.listen_local).any(is_here);
    let mut listening = inputs.frame.processes.iter().filter(listens).peekable();
    match &process.listen {
        _ if through == Some(pid) => true,
        Some(_) => listens(&process),
        None => listening.peek().is_none() || listening.any(|other| other.comm == process.comm),
    }
}

/// True for a thread or core of a process that belongs to the group or process of another resource.
fn belongs(inputs: &Inputs<'_>, effect: &Member, cause: &Member) -> bool {
    let process = match &effect.resource.subject {
        Some(Subject::Process(pid, _)) => inputs.frame.process(*pid),
        // The one that uses most of a core.
        Some(Subject::Cpu(id)) => {
            let here = |process: &&Process| process.last_cpu.value() == Some(*id) && !process.kernel;
            let cores = |process: &Process| process.cpu_cores.unwrap_or(0.0);
            inputs.frame.processes.iter().filter(here).max_by(|a, b| cores(a).total_cmp(&cores(b)))
        }
        _ => None,
    };
    match (process, &cause.resource.subject) {
        (Some(process), Some(Subject::Cgroup(path))) => {
            process.groups().iter().any(|group| ***group == **path || is_below(group, path))
        }
        (Some(process), Some(Subject::Process(pid, _))) => process.pid == *pid,
        (Some(_), Some(Subject::Host)) => cause.resource.kind == ResourceKind::Memory,
        _ => false,
    }
}

/// True if the group of one is below the group of the other: the inner limit is the narrower cause.
fn is_inside(inner: &Member, outer: &Member) -> bool {
    match (&inner.resource.subject, &outer.resource.subject) {
        (Some(Subject::Cgroup(inner)), Some(Subject::Cgroup(outer))) => is_below(inner, outer),
        _ => false,
    }
}

/// True if most of what an I/O limit holds back are tasks of a memory limit's group: of version 1, groups of the same tasks
/// may have different paths. By path where none is known.
fn has_tasks_of(inputs: &Inputs<'_>, memory: &Member, throttle: &Member) -> bool {
    let (Some(Subject::Cgroup(memory)), Some(Subject::Cgroup(throttle))) =
        (&memory.resource.subject, &throttle.resource.subject)
    else {
        return false;
    };
    let is_in = |group: &str, path: &str| group == path || is_below(group, path);
    let held = || inputs.demand.tasks.iter().filter(|task| is_in(task.process.io_group(), throttle));
    let all: f64 = held().map(Task::demand).sum();
    let both: f64 = held().filter(|task| is_in(&task.process.cgroup, memory)).map(Task::demand).sum();
    if all > 0.0 { both >= EXPLAINED * all } else { is_in(throttle, memory) }
}

/// Bytes per second that memory lost and had to read again.
fn refaulted(inputs: &Inputs<'_>, memory: &Member) -> f64 {
    let page = inputs.frame.memory.page_bytes.value().unwrap_or(4096) as f64;
    let swapped = inputs.frame.memory.pswpin_per_second.unwrap_or(0.0);
    (memory.resource.waits.map_or(0.0, |waits| waits.value) + swapped) * page
}

fn disk_bytes(inputs: &Inputs<'_>, disk: &Member) -> f64 {
    let Some(Subject::Disk(name)) = &disk.resource.subject else { return f64::MAX };
    let disk = inputs.frame.disks.iter().find(|disk| disk.name == *name);
    let bytes = |disk: &crate::frame::Disk| {
        disk.read_bytes_per_second.unwrap_or(0.0) + disk.write_bytes_per_second.unwrap_or(0.0)
    };
    disk.map_or(f64::MAX, bytes)
}
