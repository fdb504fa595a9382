//! Sets what drivers keep of their interfaces (SIOCETHTOOL): for kernels that do not take it by netlink, and for the RSS
//! table. Every call takes rtnl and may wait for it.
#![expect(unsafe_code, reason = "no library wraps SIOCETHTOOL")]

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::os::fd::AsRawFd as _;

const SIOCETHTOOL: u64 = 0x8946;
const GRINGPARAM: u32 = 0x10;
const SRINGPARAM: u32 = 0x11;
const SRXFHINDIR: u32 = 0x39;
const GCHANNELS: u32 = 0x3c;
const SCHANNELS: u32 = 0x3d;
/// Entries of an indirection table at most; the widest cards have some thousand.
const MAX_INDIRECTION: usize = 1 << 16;

/// Counts to set; none stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Receiving.
    pub rx: Option<u32>,
    /// Sending.
    pub tx: Option<u32>,
    /// Both; of rings there are none.
    pub combined: Option<u32>,
}

/// Sets how many channels an interface has (struct ethtool_channels).
pub fn set_channels(nic: &str, counts: Counts) -> Result<(), Errno> {
    let mut words = [0u32; 9];
    call(nic, GCHANNELS, &mut words)?;
    let [.., rx, tx, _, combined] = &mut words;
    *rx = counts.rx.unwrap_or(*rx);
    *tx = counts.tx.unwrap_or(*tx);
    *combined = counts.combined.unwrap_or(*combined);
    call(nic, SCHANNELS, &mut words)
}

/// Sets how many entries an interface's rings have (struct ethtool_ringparam).
pub fn set_rings(nic: &str, counts: Counts) -> Result<(), Errno> {
    let mut words = [0u32; 9];
    call(nic, GRINGPARAM, &mut words)?;
    let [.., rx, _, _, tx] = &mut words;
    *rx = counts.rx.unwrap_or(*rx);
    *tx = counts.tx.unwrap_or(*tx);
    call(nic, SRINGPARAM, &mut words)
}

/// Sets the receive queue of each entry of an interface's RSS table; an empty one gives the driver's own back (struct
/// ethtool_rxfh_indir).
pub fn set_indirection(nic: &str, table: &[u32]) -> Result<(), Errno> {
    if table.len() > MAX_INDIRECTION {
        return Err(Errno::INVAL);
    }
    let mut words = vec![SRXFHINDIR, table.len() as u32];
    words.extend_from_slice(table);
    call(nic, SRXFHINDIR, &mut words)
}

/// struct ifreq as this request uses it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut libc::c_void,
    rest: [u8; 16],
}

fn call(nic: &str, command: u32, words: &mut [u32]) -> Result<(), Errno> {
    if let Some(first) = words.first_mut() {
        *first = command;
    }
    let mut name = [0; libc::IFNAMSIZ];
    let place = name.get_mut(..nic.len()).filter(|_| nic.len() < libc::IFNAMSIZ).ok_or(Errno::NODEV)?;
    place.copy_from_slice(nic.as_bytes());
    let mut request = Request { name, data: words.as_mut_ptr().cast(), rest: [0; 16] };
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: the request and the words that it points at live through the call; each command reads and writes a
    // structure of a size that is fixed or stands in its second word, which `words` holds.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { Err(last()) } else { Ok(()) }
}

fn last() -> Errno {
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
    Errno::from_raw_os_error(errno)
}

/// Has a netlink socket tell in words why it refused something (NETLINK_EXT_ACK, Linux 4.12).
pub fn ask_for_words(socket: &std::os::fd::OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        // SAFETY: an int of the size that is told, which lives through the call.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_NETLINK,
                option,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if done < 0 {
            return Err(last());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Counts, set_channels, set_indirection, set_rings};
    use rustix::io::Errno;

    #[test]
    fn what_is_not_there_is_not_set() {
        for nic in ["no-such-nic", "a-name-that-is-too-long", ""] {
            assert_eq!(set_channels(nic, Counts::default()), Err(Errno::NODEV), "{nic}");
            assert_eq!(set_rings(nic, Counts::default()), Err(Errno::NODEV), "{nic}");
            assert_eq!(set_indirection(nic, &[]), Err(Errno::NODEV), "{nic}");
        }
    }
}
