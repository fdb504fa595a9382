//! NUMA nodes of the pages of a process: read, and changed (move_pages(2)).
#![expect(unsafe_code, reason = "no library wraps move_pages")]

use super::last_errno;
use crate::root::reason;
use rustix::io::Errno;
use topotop_model::Reason;

/// MPOL_MF_MOVE: pages that other processes map as well stay.
const MOVE: libc::c_int = 2;

/// The node of the page at each address of a process: negative where no page is resident.
pub fn page_nodes(pid: u32, addresses: &[u64]) -> Result<Vec<i32>, Reason> {
    call(pid, addresses.iter().copied(), None).map_err(|errno| match errno {
        Errno::NOSYS => Reason::NotSupported,
        // No process has such a number.
        Errno::SRCH if libc::pid_t::try_from(pid).is_err() => Reason::NotFound,
        errno => reason(errno),
    })
}

/// Moves the page at each address to the node beside it; returns where each is now, or the kernel's errno, negative.
pub fn move_pages(pid: u32, pages: &[(u64, u32)]) -> Result<Vec<i32>, Errno> {
    let nodes: Vec<libc::c_int> =
        pages.iter().map(|&(_, node)| libc::c_int::try_from(node).unwrap_or(libc::c_int::MAX)).collect();
    call(pid, pages.iter().map(|page| page.0), Some(&nodes))
}

/// Without nodes nothing is moved; with them there are as many as addresses.
fn call(
    pid: u32,
    addresses: impl ExactSizeIterator<Item = u64>,
    nodes: Option<&[libc::c_int]>,
) -> Result<Vec<i32>, Errno> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Errno::SRCH)?;
    let pages: Vec<*const libc::c_void> =
        addresses.map(|address| std::ptr::without_provenance(address as usize)).collect();
    if nodes.is_some_and(|nodes| nodes.len() != pages.len()) {
        return Err(Errno::INVAL);
    }
    let (targets, flags) = nodes.map_or((std::ptr::null(), 0), |nodes| (nodes.as_ptr(), MOVE));
    let mut states: Vec<libc::c_int> = vec![-libc::ENOENT; pages.len()];
    // SAFETY: the kernel reads `pages.len()` pointers, which it never follows in this process, and as many nodes unless
    // there are none, and writes as many states.
    let done = unsafe {
        libc::syscall(libc::SYS_move_pages, pid, pages.len(), pages.as_ptr(), targets, states.as_mut_ptr(), flags)
    };
    if done < 0 { Err(last_errno()) } else { Ok(states) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn own_pages_are_on_a_node_or_nowhere() {
        let page = vec![1u8; 1 << 16];
        let address = (page.as_ptr() as u64 + 0x1000) & !0xfff;
        // A sandbox may forbid the call, a kernel without NUMA lacks it.
        if let Ok(nodes) = super::page_nodes(std::process::id(), &[address, 0]) {
            assert!(nodes.first().is_some_and(|&node| node >= 0));
            assert!(nodes.get(1).is_some_and(|&node| node < 0));
        }
        assert!(super::page_nodes(u32::MAX, &[0]).is_err());
    }

    #[test]
    fn own_pages_move_to_where_they_are() {
        let page = vec![1u8; 1 << 16];
        let address = (page.as_ptr() as u64 + 0x1000) & !0xfff;
        // A sandbox may forbid the call, a kernel without NUMA lacks it.
        if let Ok(states) = super::move_pages(std::process::id(), &[(address, 0), (0, 0)]) {
            assert_eq!(states.len(), 2);
            assert!(states.get(1).is_some_and(|state| *state < 0), "{states:?}");
        }
        assert!(super::move_pages(u32::MAX, &[(0, 0)]).is_err());
    }
}
