//! Where the time of a process goes when it runs on no CPU, by samples of its threads.

use crate::document::{Absent, Text, absent};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// What threads were found at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum WaitClass {
    /// They ran.
    Running,
    /// They waited for a CPU.
    RunQueue,
    /// They waited for a CPU in a group that was throttled at its quota.
    #[serde(rename = "cpu_quota")]
    Quota,
    /// They waited for a lock that another thread had (an untimed futex, the same of several threads).
    Lock,
    /// They waited for a disk: uninterruptible sleep, or a call that waits for I/O.
    Disk,
    /// They waited for the answer of a network peer.
    Peer,
    /// They waited for another process of this machine: a Unix socket or a pipe.
    #[serde(rename = "local_process")]
    Local,
    /// They waited for requests: nothing was outstanding.
    Requests,
    /// Connections waited for them, to be accepted: all that serve were taken.
    #[serde(rename = "accept_queue")]
    Accept,
    /// They waited for another thread of the same process: a condition, a semaphore.
    #[serde(rename = "own_thread")]
    Thread,
    /// They waited for a child.
    Child,
    /// They waited for time to pass.
    Sleep,
    /// They waited in another call.
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
    /// What they were found at.
    pub class: WaitClass,
    /// Of all samples of the process.
    pub share: f64,
    /// More of it: the peer `10.0.0.5:5432`, the kernel function of a disk wait, the call; may be empty. Hostile.
    pub what: Arc<str>,
}

/// Samples of a process's threads over the last ten seconds.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OffCpu {
    /// How many.
    pub samples: u64,
    /// Of so many threads: those that were given a CPU lately.
    pub threads: u64,
    /// Seconds over which they go.
    pub seconds: f64,
    /// What they were found at, the largest share first; shares sum to 1.
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
