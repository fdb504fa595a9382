//! Which interface has an IPv4 address: no file of the kernel has it.
#![expect(unsafe_code, reason = "no library wraps getifaddrs")]

use std::ffi::CStr;
use std::net::Ipv4Addr;

/// IPv4 addresses of this network namespace with the interfaces that have them.
pub fn addresses() -> Vec<(Ipv4Addr, String)> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    let mut found = Vec::new();
    // SAFETY: the call fills in a list that stays until it is freed below, or fails and leaves it alone.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return found;
    }
    let mut next = list;
    while !next.is_null() {
        // SAFETY: not null, so an entry of the list.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        if entry.ifa_addr.is_null() || entry.ifa_name.is_null() {
            continue;
        }
        // SAFETY: an address that is not null begins with its family, and one of AF_INET is a sockaddr_in; the list
        // aligns them as the type needs, and they are read without relying on that.
        let address = unsafe {
            if i32::from(entry.ifa_addr.read_unaligned().sa_family) != libc::AF_INET {
                continue;
            }
            entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned()
        };
        // SAFETY: a name is a C string that lives as long as the list.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        // Labels of aliases are `eth0:1`.
        let name = name.split(':').next().unwrap_or_default().to_owned();
        found.push((Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()), name));
    }
    // SAFETY: the list that the call filled in, freed once.
    unsafe { libc::freeifaddrs(list) };
    found
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    #[test]
    fn the_loopback_is_known() {
        let found = super::addresses();
        // A new network namespace may have it down.
        assert!(
            found.is_empty() || found.iter().any(|(address, name)| *address == Ipv4Addr::LOCALHOST && name == "lo")
        );
    }
}
