//! The node of each page of a process (move_pages(2) without moving anything).
#![expect(unsafe_code, reason = "no library wraps move_pages")]

use crate::root::reason;
use rustix::io::Errno;
use topotop_model::Reason;

/// The node of the page at each address of a process: negative where no page is resident.
pub fn page_nodes(pid: u32, addresses: &[u64]) -> Result<Vec<i32>, Reason> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Reason::NotFound)?;
    let pages: Vec<*const libc::c_void> =
        addresses.iter().map(|&address| std::ptr::without_provenance(address as usize)).collect();
    let mut nodes: Vec<libc::c_int> = vec![-libc::ENOENT; pages.len()];
    let no_target: *const libc::c_int = std::ptr::null();
    // SAFETY: the kernel reads `pages.len()` pointers, which it never follows in this process, and writes as many
    // ints; without target nodes it moves nothing.
    let answer = unsafe {
        libc::syscall(libc::SYS_move_pages, pid, pages.len(), pages.as_ptr(), no_target, nodes.as_mut_ptr(), 0)
    };
    if answer < 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        return Err(match Errno::from_raw_os_error(errno) {
            Errno::NOSYS => Reason::NotSupported,
            errno => reason(errno),
        });
    }
    Ok(nodes)
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
}
