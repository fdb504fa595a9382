//! Pages of a process moved to nodes (move_pages(2)).
#![expect(unsafe_code, reason = "no library wraps move_pages")]

use rustix::io::Errno;

/// MPOL_MF_MOVE: pages that other processes map as well stay.
const MOVE: libc::c_int = 2;

/// Moves the page at each address to the node beside it; answers where each is now, or the kernel's number, negative.
pub fn move_pages(pid: u32, pages: &[(u64, u32)]) -> Result<Vec<i32>, Errno> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Errno::SRCH)?;
    let addresses: Vec<*const libc::c_void> =
        pages.iter().map(|&(address, _)| std::ptr::without_provenance(address as usize)).collect();
    let nodes: Vec<libc::c_int> =
        pages.iter().map(|&(_, node)| libc::c_int::try_from(node).unwrap_or(libc::c_int::MAX)).collect();
    let mut states: Vec<libc::c_int> = vec![-libc::EBUSY; pages.len()];
    // SAFETY: the kernel reads `pages.len()` pointers, which it never follows in this process, and as many nodes, and
    // writes as many states.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            pages.len(),
            addresses.as_ptr(),
            nodes.as_ptr(),
            states.as_mut_ptr(),
            MOVE,
        )
    };
    if answer < 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        return Err(Errno::from_raw_os_error(errno));
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::move_pages;

    #[test]
    fn own_pages_move_to_where_they_are() {
        let page = vec![1u8; 1 << 16];
        let address = (page.as_ptr() as u64 + 0x1000) & !0xfff;
        // A sandbox may forbid the call, a kernel without NUMA lacks it.
        if let Ok(states) = move_pages(std::process::id(), &[(address, 0), (0, 0)]) {
            assert_eq!(states.len(), 2);
            assert!(states.get(1).is_some_and(|state| *state < 0), "{states:?}");
        }
        assert!(move_pages(u32::MAX, &[(0, 0)]).is_err());
    }
}
