//! Which parts of a sample were read.

use crate::frame::Frame;

pub(super) fn cpu_times(frame: &Frame) -> bool {
    frame.sections.cpu_times.is_read()
}

pub(super) fn processes(frame: &Frame) -> bool {
    frame.sections.processes.is_read()
}

pub(super) fn disks(frame: &Frame) -> bool {
    frame.sections.disks.is_read()
}

pub(super) fn nics(frame: &Frame) -> bool {
    frame.sections.nics.is_read()
}

pub(super) fn nodes(frame: &Frame) -> bool {
    frame.sections.node_topology.is_read()
}

pub(super) fn cgroups(frame: &Frame) -> bool {
    frame.sections.cgroups.is_read()
}
