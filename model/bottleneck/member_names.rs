//! The names of groups and processes.

use crate::frame::{Cgroup, Frame};
use std::sync::Arc;

/// The name of a control group: its pod or container, else the last part of its path.
pub(super) fn group_name(cgroup: &Cgroup) -> Arc<str> {
    let container = cgroup.container.as_ref();
    let mut named = container.into_iter().flat_map(|container| [&container.pod_name, &container.container_name]);
    named.find(|name| !name.is_empty()).map_or_else(
        || Arc::from(cgroup.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&cgroup.path)),
        Arc::clone,
    )
}

pub(super) fn process_name(frame: &Frame, pid: u32) -> Arc<str> {
    frame.process(pid).map_or_else(Arc::default, |process| Arc::clone(&process.comm))
}
