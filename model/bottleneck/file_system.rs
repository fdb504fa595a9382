//! File systems: space and inodes. Who is refused is not counted, so one that is full never limits.

use super::resource::Member;
use super::{Inputs, ResourceKind, sections};
use crate::frame::Mount;
use crate::locale::resource::note;
use crate::rules::Subject;
use crate::rules::file_system_full::is_made_full;
use std::sync::Arc;

const KIND: ResourceKind = ResourceKind::FileSystem;
/// Share at which nothing more can be written, and still nothing.
const FULL: (f64, f64) = (0.999, 0.995);

pub(super) fn file_system(inputs: &Inputs<'_>) -> Vec<Member> {
    let disks = inputs.frame.disks.iter();
    let mounts = disks.flat_map(|disk| disk.mounts.iter().map(move |mount| (&disk.name, mount)));
    let writable = mounts.filter(|(_, mount)| !is_made_full(&mount.fs));
    let members: Vec<Member> = writable.filter_map(|(disk, mount)| one(disk, mount)).collect();
    match () {
        () if !members.is_empty() => members,
        () if !inputs.frame.sections.mounts.is_read() || !sections::disks(inputs.frame) => {
            vec![Member::unknown(KIND, note::NOT_READABLE, false)]
        }
        () => vec![Member::absent(KIND, note::NO_FILE_SYSTEM)],
    }
}

fn one(disk: &Arc<str>, mount: &Mount) -> Option<Member> {
    let space = mount.full()?;
    let inodes = mount.inodes_full().filter(|inodes| *inodes > space);
    let mut member = Member::between(KIND, inodes.unwrap_or(space), FULL.0, FULL.1);
    (member.lasts, member.scales) = (true, false);
    let member = member.about(Subject::Disk(Arc::clone(disk)), &mount.path);
    let count = |value: u64| value as f64;
    Some(match inodes {
        Some(_) => {
            let total = mount.inodes_total.value();
            let used = total.zip(mount.inodes_free.value()).map(|(total, free)| total.saturating_sub(free));
            member.of(used.map(count), total.map(count), "inodes").note(note::INODES)
        }
        None => member.of(mount.used_bytes.value().map(count), mount.total_bytes.value().map(count), "bytes"),
    })
}
