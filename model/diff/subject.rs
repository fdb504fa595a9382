//! What is compared with what: subjects by what stays the same from one recording to the next.

use crate::frame::{Cgroup, Frame, Process};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Something that metrics are of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// The machine.
    Host,
    /// A CPU by its number.
    Cpu(u32),
    /// A node by its number.
    Node(u32),
    /// An interface by its name.
    Nic(Arc<str>),
    /// A queue of an interface.
    Queue {
        /// The interface.
        nic: Arc<str>,
        /// `rx`, `tx` or `rxtx`.
        direction: Arc<str>,
        /// Its number.
        queue: u32,
    },
    /// A device interrupt by its actions: its number changes with boots and reloads.
    Irq(Arc<str>),
    /// A softirq type.
    Softirq(Arc<str>),
    /// Pressure on a resource.
    Pressure(Arc<str>),
    /// A disk by its name.
    Disk(Arc<str>),
    /// A control group by its path; containers by the names that outlive them.
    Cgroup(Arc<str>),
    /// Processes of one name in one control group: pids change.
    Process {
        /// Its name.
        comm: Arc<str>,
        /// Its control group, as for [`Subject::Cgroup`].
        cgroup: Arc<str>,
    },
    /// The application's own number, by the name that the user gave it.
    Metric(Arc<str>),
}

/// `cpu:17`, `nic:eth0`, `queue:eth0/rx-3`, `process:java@/system.slice/x.service`; names as they are, hostile.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Cpu(id) => write!(f, "cpu:{id}"),
            Self::Node(id) => write!(f, "node:{id}"),
            Self::Nic(name) => write!(f, "nic:{name}"),
            Self::Queue { nic, direction, queue } => write!(f, "queue:{nic}/{direction}-{queue}"),
            Self::Irq(name) => write!(f, "irq:{name}"),
            Self::Softirq(name) => write!(f, "softirq:{name}"),
            Self::Pressure(resource) => write!(f, "pressure:{resource}"),
            Self::Disk(name) => write!(f, "disk:{name}"),
            Self::Cgroup(path) => write!(f, "cgroup:{path}"),
            Self::Process { comm, cgroup } => write!(f, "process:{comm}@{cgroup}"),
            Self::Metric(name) => write!(f, "metric:{name}"),
        }
    }
}

impl Subject {
    /// What metrics of a process of a frame are of: processes of its name in its group.
    pub fn of_process(frame: &Frame, process: &Process) -> Self {
        let Self::Cgroup(cgroup) = Self::of_group(frame, &process.cgroup) else { return Self::Host };
        Self::Process { comm: Names::comm(&process.comm, process.kernel), cgroup }
    }

    /// What metrics of a control group of a frame are of: its name that lasts.
    pub fn of_group(frame: &Frame, path: &Arc<str>) -> Self {
        let mut names = Names::default();
        names.learn(frame);
        Self::Cgroup(names.group(path))
    }
}

/// Names of control groups that are worth remembering.
const REMEMBERED: usize = 16_384;

/// Names that outlive their bearers; remembers what it worked out.
#[derive(Debug, Default)]
pub(super) struct Names {
    groups: HashMap<Arc<str>, Arc<str>>,
}

impl Names {
    /// Learns the containers of a frame.
    pub(super) fn learn(&mut self, frame: &Frame) {
        if self.groups.len() > REMEMBERED {
            self.groups.clear();
        }
        for cgroup in &frame.cgroups {
            if let Some(name) = named(cgroup) {
                // A container's name may become known later than its path.
                self.groups.insert(Arc::clone(&cgroup.path), name.into());
            }
        }
    }

    /// The lasting name of a control group.
    pub(super) fn group(&mut self, path: &Arc<str>) -> Arc<str> {
        if let Some(name) = self.groups.get(path) {
            return Arc::clone(name);
        }
        let name: Arc<str> = match lasting(path) {
            Some(name) => name.into(),
            None => Arc::clone(path),
        };
        self.groups.insert(Arc::clone(path), Arc::clone(&name));
        name
    }

    /// The lasting name of a control group as far as it was met; its path otherwise.
    pub(super) fn known(&self, path: &Arc<str>) -> Arc<str> {
        Arc::clone(self.groups.get(path).unwrap_or(path))
    }

    /// The name of a process: kernel workers change theirs with what they do.
    pub(super) fn comm(comm: &Arc<str>, kernel: bool) -> Arc<str> {
        let stem = comm.split_once('/').filter(|_| kernel).map(|(stem, _)| stem);
        stem.map_or_else(|| Arc::clone(comm), Arc::from)
    }
}

/// `namespace/pod/container`, where something tells the names.
fn named(cgroup: &Cgroup) -> Option<String> {
    let container = cgroup.container.as_ref()?;
    let parts = [&container.namespace, &container.pod_name, &container.container_name];
    let parts: Vec<&str> = parts.into_iter().map(|part| &**part).filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// A path with what systemd numbers anew each time replaced by a star; none when there is nothing of that.
fn lasting(path: &str) -> Option<String> {
    let star = |part: &str| {
        let (stem, suffix) = part.rsplit_once('.').filter(|(_, suffix)| ["scope", "service"].contains(suffix))?;
        let numbered = |prefix: &str, digits: fn(char) -> bool| {
            stem.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(digits))
        };
        let decimal = |c: char| c.is_ascii_digit();
        let hex = |c: char| c.is_ascii_hexdigit();
        let prefix = match stem {
            _ if numbered("session-", decimal) || numbered("session-c", decimal) => "session-",
            _ if numbered("run-u", decimal)
                || numbered("run-r", hex)
                || numbered("run-p", |c| c.is_ascii_digit() || c == '-' || c == 'i') =>
            {
                "run-"
            }
            _ => return None,
        };
        Some(format!("{prefix}*.{suffix}"))
    };
    let mut changed = false;
    let parts: Vec<String> =
        path.split('/').map(|part| star(part).inspect(|_| changed = true).unwrap_or_else(|| part.to_owned())).collect();
    changed.then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Names, Subject, lasting};
    use crate::frame::{Cgroup, Container, Frame};
    use std::sync::Arc;

    #[test]
    fn what_systemd_numbers_lasts() {
        assert_eq!(
            lasting("/user.slice/user-1000.slice/session-42.scope").as_deref(),
            Some("/user.slice/user-1000.slice/session-*.scope")
        );
        assert_eq!(lasting("/system.slice/run-u17.service").as_deref(), Some("/system.slice/run-*.service"));
        assert_eq!(lasting("/system.slice/run-r0a1b2c.scope").as_deref(), Some("/system.slice/run-*.scope"));
        assert_eq!(lasting("/system.slice/run-parts.service"), None);
        assert_eq!(lasting("/kubepods/pod0f3e/8a9b"), None);
        assert_eq!(lasting("/"), None);
    }

    #[test]
    fn containers_are_known_by_pod_and_name() {
        let container =
            |name: &str| Container { pod_name: "db-0".into(), container_name: name.into(), ..Container::default() };
        let cgroup = |path: &str| Cgroup { path: path.into(), container: Some(container("pg")), ..Cgroup::default() };
        let mut names = Names::default();
        names.learn(&Frame {
            cgroups: vec![cgroup("/kubepods/pod1/abc"), cgroup("/kubepods/pod2/def")],
            ..Frame::default()
        });
        assert_eq!(&*names.group(&Arc::from("/kubepods/pod1/abc")), "db-0/pg");
        assert_eq!(&*names.group(&Arc::from("/kubepods/pod2/def")), "db-0/pg");
        assert_eq!(&*names.group(&Arc::from("/x")), "/x");
    }

    #[test]
    fn subjects_have_the_names_of_the_interface() {
        let queue = Subject::Queue { nic: "eth0".into(), direction: "rx".into(), queue: 3 };
        assert_eq!(queue.to_string(), "queue:eth0/rx-3");
        assert_eq!(Subject::Cpu(17).to_string(), "cpu:17");
        assert_eq!(&*Names::comm(&Arc::from("kworker/3:1-events"), true), "kworker");
        assert_eq!(&*Names::comm(&Arc::from("a/b"), false), "a/b");
    }
}
