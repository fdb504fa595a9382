//! Where the time of a process goes when it runs on no CPU, by samples of its threads.

use crate::document::{Absent, Text, absent};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// What threads were doing when sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum WaitClass {
    /// Running.
    Running,
    /// They waited for a CPU.
    RunQueue,
    /// They waited for a CPU in a group that was throttled at its quota.
    #[serde(rename = "cpu_quota")]
    Quota,
    /// They waited for a lock that another thread held (an untimed futex wait, several threads on the same futex).
    Lock,
    /// They waited for a disk: uninterruptible sleep, or a call that waits for I/O.
    Disk,
    /// They waited for a response from a network peer.
    Peer,
    /// They waited for another process on this machine: a Unix socket or a pipe.
    #[serde(rename = "local_process")]
    Local,
    /// They waited for requests: nothing was outstanding.
    Requests,
    /// Connections waited to be accepted: all workers were busy.
    #[serde(rename = "accept_queue")]
    Accept,
    /// They waited for another thread of the same process: a condition, a semaphore.
    #[serde(rename = "own_thread")]
    Thread,
    /// They waited for a child.
    Child,
    /// They slept until a timer fired.
    Sleep,
    /// They waited in another system call.
    #[default]
    Other,
    /// What they waited for could not be read.
    Unread,
}

impl Absent for WaitClass {}

/// A part of the samples.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitShare {
    /// What they were doing.
    pub class: WaitClass,
    /// Share of all samples of the process.
    pub share: f64,
    /// Detail: the peer `10.0.0.5:5432`, the kernel function of a disk wait, or the system call; may be empty. Untrusted text.
    pub what: Arc<str>,
}

/// Samples of a process's threads over the last ten seconds.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OffCpu {
    /// How many.
    pub samples: u64,
    /// Number of threads sampled: those that ran recently.
    pub threads: u64,
    /// Length of the sampling window in seconds.
    pub seconds: f64,
    /// What they were doing, the largest share first; shares sum to 1.
    pub shares: Vec<WaitShare>,
}

impl OffCpu {
    /// The share of a class.
    pub fn share(&self, class: WaitClass) -> f64 {
        self.shares.iter().filter(|share| share.class == class).map(|share| share.share).sum()
    }

    /// What it waits for most, running and what could not be read left out.
    pub fn longest(&self) -> Option<&WaitShare> {
        self.shares.iter().find(|share| !matches!(share.class, WaitClass::Running | WaitClass::Unread))
    }
}
