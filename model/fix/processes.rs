//! Shared by fixes of processes: identity, allowed CPUs, systemd unit and container.

use super::{Case, Identity, Need};
use crate::IdSet;
use crate::diff::{Subject as Of, Watch};
use crate::frame::{Frame, Process};
use crate::locale::Text;
use crate::rules::{Subject, parts};

/// The finding's process, if it is about a process that still runs.
pub(super) fn subject<'a>(case: &Case<'a>) -> Option<&'a Process> {
    let Subject::Process(pid, starttime) = case.finding.subject else { return None };
    case.frame.process(pid).filter(|process| process.starttime == starttime)
}

/// The identity of a process.
pub(super) fn identity(process: &Process) -> Identity {
    Identity::Process { pid: process.pid, starttime: process.starttime, comm: process.comm.to_string() }
}

/// `beam.smp (4121)`.
pub(super) fn named(process: &Process) -> String {
    format!("{} ({})", process.comm, process.pid)
}

/// The CPUs that a process may use: the online CPUs of its cpuset, without isolated ones where others remain.
pub(super) fn allowed(frame: &Frame, process: &Process) -> IdSet {
    let allowed = parts::cpuset(frame, process).intersection(&frame.topology.cpus_online);
    let isolated = IdSet::from_ids(frame.topology.cpus.iter().filter(|cpu| cpu.isolated).map(|cpu| cpu.id));
    // Who was put on CPUs that are kept for some tasks is one of those.
    let kept = parts::kept_alone(frame);
    let is_kept = process.affinity.as_deref().is_some_and(|own| own.is_subset(&kept));
    let kept = if is_kept { isolated } else { kept };
    let free = IdSet::from_ids(allowed.iter().filter(|cpu| !kept.contains(*cpu)));
    if free.is_empty() { allowed } else { free }
}

/// The capability to change processes; none for the user's own.
pub(super) fn needs(case: &Case<'_>, processes: &[&Process], what: Text) -> Vec<Need> {
    let own = |process: &&Process| process.uid.value() == Some(case.surroundings.uid);
    let need = Need { capability: "CAP_SYS_NICE".to_owned(), what: what.to_string() };
    if processes.iter().all(own) { Vec::new() } else { vec![need] }
}

/// A metric of a process.
pub(super) fn watch(frame: &Frame, process: &Process, metric: &'static str) -> Watch {
    Watch { subject: Of::of_process(frame, process), metric }
}

/// The systemd unit that a control group is: its last part, where systemd made it.
pub(super) fn unit(path: &str) -> Option<&str> {
    let last = path.rsplit('/').next()?;
    // systemd puts an underscore before names that the kernel might take for files of its own.
    let name = last.strip_prefix('_').unwrap_or(last);
    [".service", ".scope", ".slice"].iter().any(|suffix| name.ends_with(suffix)).then_some(name)
}

/// The system's service that a process's group belongs to. Groups below the manager of a user or within a container have
/// any names, those of the system's services too.
pub(super) fn service(path: &str) -> Option<&str> {
    let of_system = parts::above(path).filter(|path| super::group::is_unit(path));
    of_system.filter_map(unit).find(|unit| unit.ends_with(".service") && !unit.starts_with("user@"))
}

/// The container of a process, where its cgroup or an ancestor is one.
pub(super) fn container<'a>(frame: &'a Frame, process: &'a Process) -> Option<&'a crate::frame::Container> {
    let mut groups = parts::above(&process.cgroup).filter_map(|path| frame.cgroup(path)?.container.as_ref());
    groups.find(|container| !container.id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{service, unit};

    #[test]
    fn units_are_told_by_their_paths() {
        assert_eq!(unit("/system.slice/rabbitmq.service"), Some("rabbitmq.service"));
        assert_eq!(unit("/system.slice/_cpu.service"), Some("cpu.service"));
        assert_eq!(unit("/system.slice/x.service/payload"), None);
        assert_eq!(service("/system.slice/x.service/payload"), Some("x.service"));
        assert_eq!((unit("/"), unit(""), service("/mq")), (None, None, None));
        for path in [
            "/user.slice/user-1000.slice/user@1000.service/app.slice/postgresql.service",
            "/docker/a/system.slice/b.service",
        ] {
            assert_eq!(service(path), None, "{path}");
        }
    }
}
