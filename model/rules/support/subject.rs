//! The subject of a finding.

use crate::locale::subject as text;
use std::fmt;
use std::sync::Arc;

/// A part of the machine, by the identity that scripts use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The machine.
    Host,
    /// A CPU.
    Cpu(u32),
    /// A node.
    Node(u32),
    /// A device interrupt.
    Irq(u32),
    /// An interface by name.
    Nic(Arc<str>),
    /// A disk by name.
    Disk(Arc<str>),
    /// A GPU or another accelerator by name.
    Accelerator(Arc<str>),
    /// A control group by path; hostile.
    Cgroup(Arc<str>),
    /// A process: pid and starttime.
    Process(u32, u64),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Cpu(id) => write!(f, "cpu:{id}"),
            Self::Node(id) => write!(f, "node:{id}"),
            Self::Irq(irq) => write!(f, "irq:{irq}"),
            Self::Nic(name) => write!(f, "nic:{name}"),
            Self::Disk(name) => write!(f, "disk:{name}"),
            Self::Accelerator(name) => write!(f, "accelerator:{name}"),
            Self::Cgroup(path) => write!(f, "cgroup:{path}"),
            Self::Process(pid, starttime) => write!(f, "pid:{pid}@{starttime}"),
        }
    }
}

/// A subject as people read it; names in it are as hostile as they were read.
pub struct Named<'a>(&'a Subject);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Subject::Host => write!(f, "{}", text::HOST),
            Subject::Cpu(id) => write!(f, "CPU {id}"),
            Subject::Node(id) => write!(f, "{}", text::Node { id }),
            Subject::Irq(irq) => write!(f, "IRQ {irq}"),
            Subject::Nic(name) | Subject::Disk(name) | Subject::Accelerator(name) => f.write_str(name),
            Subject::Cgroup(path) => f.write_str(path),
            Subject::Process(pid, _) => write!(f, "{pid}"),
        }
    }
}

impl Subject {
    /// As people read it: `CPU 3`, `eth0`, the pid of a process.
    pub fn named(&self) -> Named<'_> {
        Named(self)
    }

    /// Parses the text of a subject; none if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let number = || name.parse().ok();
        match kind {
            "host" if name.is_empty() => Some(Self::Host),
            "cpu" => Some(Self::Cpu(number()?)),
            "node" => Some(Self::Node(number()?)),
            "irq" => Some(Self::Irq(number()?)),
            "nic" => Some(Self::Nic(name.into())),
            "disk" => Some(Self::Disk(name.into())),
            "accelerator" => Some(Self::Accelerator(name.into())),
            "cgroup" => Some(Self::Cgroup(name.into())),
            "pid" => {
                let (pid, starttime) = name.split_once('@')?;
                Some(Self::Process(pid.parse().ok()?, starttime.parse().ok()?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::Subject;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn subjects_are_read_back(id: u32, time: u64, name in "[^\u{0}]{1,20}") {
            let named = [Subject::Nic, Subject::Disk, Subject::Accelerator, Subject::Cgroup].map(|make| make(name.as_str().into()));
            let counted = [Subject::Cpu, Subject::Node, Subject::Irq].map(|make| make(id));
            for subject in named.into_iter().chain(counted).chain([Subject::Host, Subject::Process(id, time)]) {
                prop_assert_eq!(Subject::parse(&subject.to_string()), Some(subject));
            }
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = Subject::parse(&text);
        }
    }
}
