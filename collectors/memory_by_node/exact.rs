//! The memory of a process by node, to the byte, and the nodes it may use: for moving pages.

use super::ask::huge_page;
use super::numa_maps::{self, PageSizes};
use super::vmas::{self, MemoryFs};
use crate::Root;
use crate::processes::stat;
use topotop_model::Reason;

/// Anonymous and shared bytes of a process by node, lowest node first.
pub fn bytes_by_node(root: &Root, pid: u32, starttime: u64) -> Result<Vec<(u32, u64)>, Reason> {
    let mut buf = Vec::new();
    is_still(root, pid, starttime, &mut buf)?;
    let huge = root.read("proc/meminfo", &mut buf).ok().and_then(|()| huge_page(&buf)).unwrap_or(2 << 20);
    let base = if root.is_live() { rustix::param::page_size() as u64 } else { 4096 };
    root.read(format!("proc/{pid}/numa_maps"), &mut buf)?;
    if buf.is_empty() {
        return Err(Reason::Vanished);
    }
    let found = numa_maps::parse(&buf, PageSizes { base, huge }).ok_or(Reason::Malformed)?;
    Ok(found.anon.into_iter().filter(|(_, bytes)| *bytes > 0).collect())
}

/// Where a process may have pages of its own or shared with others: first address and bytes of each mapping, huge page
/// pools left out.
pub fn areas(root: &Root, pid: u32, starttime: u64) -> Result<Vec<(u64, u64)>, Reason> {
    let mut buf = Vec::new();
    is_still(root, pid, starttime, &mut buf)?;
    root.read(format!("proc/{pid}/maps"), &mut buf)?;
    let vmas = vmas::parse(&buf, &MemoryFs::default()).ok_or(Reason::Malformed)?;
    Ok(vmas.into_iter().filter(|vma| vma.kind != vmas::Kind::Huge).map(|vma| (vma.start, vma.len)).collect())
}

fn is_still(root: &Root, pid: u32, starttime: u64, buf: &mut Vec<u8>) -> Result<(), Reason> {
    root.read(format!("proc/{pid}/stat"), buf)?;
    let stat = stat::parse(buf).ok_or(Reason::Malformed)?;
    if stat.starttime == starttime { Ok(()) } else { Err(Reason::Vanished) }
}
