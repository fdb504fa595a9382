//! Driver settings of network interfaces (SIOCETHTOOL). Every call takes rtnl and may wait for it.
#![expect(unsafe_code, reason = "no library wraps SIOCETHTOOL")]

use super::last_errno;
use crate::root::reason;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use topotop_model::Reason;

const SIOCETHTOOL: u64 = 0x8946;
const GDRVINFO: u32 = 0x03;
const GRINGPARAM: u32 = 0x10;
const SRINGPARAM: u32 = 0x11;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GRXFHINDIR: u32 = 0x38;
const SRXFHINDIR: u32 = 0x39;
const GCHANNELS: u32 = 0x3c;
const SCHANNELS: u32 = 0x3d;
/// The string set of statistics (ETH_SS_STATS).
const STATS: u32 = 1;
/// Bytes of one name (ETH_GSTRING_LEN).
const NAME: usize = 32;
/// Statistics that are taken at most; the widest drivers have some ten thousand.
const MAX_STATS: usize = 1 << 16;
/// Entries of an indirection table that are taken at most; cards have some hundred, the widest four thousand.
const MAX_INDIRECTION: usize = 1 << 16;

/// Driver of an interface (ETHTOOL_GDRVINFO).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub driver: String,
    /// Bus address.
    pub bus_info: String,
}

/// Channels or ring entries as (now, at most); a kind that the driver lacks has a maximum of zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Receive-only.
    pub rx: (u32, u32),
    /// Send-only.
    pub tx: (u32, u32),
    /// Link interrupts and the like.
    pub other: (u32, u32),
    /// Both directions.
    pub combined: (u32, u32),
}

/// Driver of an interface.
pub fn driver(nic: &str) -> Result<Driver, Reason> {
    // Whoever asks looks at everything anew.
    names().remove(nic);
    let mut info = [0u32; 49];
    call(nic, GDRVINFO, &mut info).map_err(reason)?;
    let bytes: Vec<u8> = info.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let field = |at: usize| bytes.get(at..at + NAME).map(string).unwrap_or_default();
    Ok(Driver { driver: field(4), bus_info: field(4 + 3 * NAME) })
}

/// Channels of an interface.
pub fn channels(nic: &str) -> Result<Channels, Reason> {
    let mut words = [0u32; 9];
    call(nic, GCHANNELS, &mut words).map_err(reason)?;
    let [_, max_rx, max_tx, max_other, max_combined, rx, tx, other, combined] = words;
    Ok(Channels { rx: (rx, max_rx), tx: (tx, max_tx), other: (other, max_other), combined: (combined, max_combined) })
}

/// Ring entries of an interface.
pub fn rings(nic: &str) -> Result<Channels, Reason> {
    let mut words = [0u32; 9];
    call(nic, GRINGPARAM, &mut words).map_err(reason)?;
    let [_, max_rx, _, _, max_tx, rx, _, _, tx] = words;
    Ok(Channels { rx: (rx, max_rx), tx: (tx, max_tx), ..Channels::default() })
}

/// The receive queue of each entry of the RSS indirection table (struct ethtool_rxfh_indir).
pub fn indirection(nic: &str) -> Result<Vec<u32>, Reason> {
    // A size of zero asks for the size.
    let mut words = [0u32; 2];
    call(nic, GRXFHINDIR, &mut words).map_err(reason)?;
    let [_, count] = words;
    let count = count as usize;
    if count == 0 || count > MAX_INDIRECTION {
        return Err(Reason::NotSupported);
    }
    let mut table = Guarded::new(8 + count * 4).map_err(reason)?;
    table.put(0, GRXFHINDIR);
    table.put(4, count as u32);
    table.call(nic).map_err(reason)?;
    let entries = table.bytes().get(8..8 + count * 4).unwrap_or_default().chunks_exact(4);
    Ok(entries.map(|bytes| word(bytes, 0)).collect())
}

/// Counts to set; none stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Receive only.
    pub rx: Option<u32>,
    /// Transmit only.
    pub tx: Option<u32>,
    /// Both; rings have none.
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

/// Sets how many entries the rings of an interface have (struct ethtool_ringparam).
pub fn set_rings(nic: &str, counts: Counts) -> Result<(), Errno> {
    let mut words = [0u32; 9];
    call(nic, GRINGPARAM, &mut words)?;
    let [.., rx, _, _, tx] = &mut words;
    *rx = counts.rx.unwrap_or(*rx);
    *tx = counts.tx.unwrap_or(*tx);
    call(nic, SRINGPARAM, &mut words)
}

/// Sets the receive queue of each entry of the RSS indirection table; an empty table restores the driver's default.
pub fn set_indirection(nic: &str, table: &[u32]) -> Result<(), Errno> {
    if table.len() > MAX_INDIRECTION {
        return Err(Errno::INVAL);
    }
    let mut words = vec![SRXFHINDIR, table.len() as u32];
    words.extend_from_slice(table);
    call(nic, SRXFHINDIR, &mut words)
}

/// Names of the drivers' counters by interface, from one reading of its driver to the next.
static NAMES: Mutex<BTreeMap<String, Names>> = Mutex::new(BTreeMap::new());

type Names = Arc<[String]>;

fn names() -> MutexGuard<'static, BTreeMap<String, Names>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The driver's own counters.
pub fn statistics(nic: &str) -> Result<Vec<(String, u64)>, Reason> {
    let known = names().get(nic).cloned();
    if let Some(known) = known {
        if let Ok(values) = values(nic, known.len()) {
            return Ok(known.iter().cloned().zip(values).collect());
        }
        names().remove(nic);
    }
    let read: Names = read_names(nic)?.into();
    let values = values(nic, read.len())?;
    names().insert(nic.to_owned(), Arc::clone(&read));
    Ok(read.iter().cloned().zip(values).collect())
}

/// The counters, if their number is `count`.
fn values(nic: &str, count: usize) -> Result<Vec<u64>, Reason> {
    let mut values = Guarded::new(8 + count * 8).map_err(reason)?;
    values.put(0, GSTATS);
    values.put(4, count as u32);
    values.call(nic).map_err(reason)?;
    if word(values.bytes(), 4) as usize != count {
        return Err(Reason::Vanished);
    }
    let numbers = values.bytes().get(8..8 + count * 8).unwrap_or_default().chunks_exact(8);
    Ok(numbers.map(|bytes| bytes.try_into().map_or(0, u64::from_ne_bytes)).collect())
}

fn read_names(nic: &str) -> Result<Vec<String>, Reason> {
    // cmd, reserved, mask (64 bits), count
    let mut set = [0u32, 0, 0, 0, 0, 0];
    let mask = (1u64 << STATS).to_ne_bytes();
    let (low, high) = mask.split_at(4);
    for (cell, half) in set.iter_mut().skip(2).zip([low, high]) {
        *cell = word(half, 0);
    }
    call(nic, GSSET_INFO, &mut set).map_err(reason)?;
    let [.., count, _] = set;
    let count = count as usize;
    if count == 0 || count > MAX_STATS {
        return Err(Reason::NotSupported);
    }
    let mut names = Guarded::new(12 + count * NAME).map_err(reason)?;
    names.put(0, GSTRINGS);
    names.put(4, STATS);
    names.put(8, count as u32);
    names.call(nic).map_err(reason)?;
    if word(names.bytes(), 8) as usize != count {
        return Err(Reason::Vanished);
    }
    let names = names.bytes().get(12..12 + count * NAME).unwrap_or_default().chunks_exact(NAME);
    Ok(names.map(string).collect())
}

/// The text up to the first NUL.
fn string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    topotop_model::text::from_bytes(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_ne_bytes)
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
    // SAFETY: each of these commands reads and writes a structure of a size that is fixed or in its second word,
    // which `words` holds.
    unsafe { ioctl(nic, words.as_mut_ptr().cast()) }
}

/// # Safety
/// `data` points at the whole structure that its command reads and writes.
unsafe fn ioctl(nic: &str, data: *mut libc::c_void) -> Result<(), Errno> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], data, rest: [0; 16] };
    let name = request.name.get_mut(..nic.len()).filter(|_| nic.len() < libc::IFNAMSIZ).ok_or(Errno::NODEV)?;
    name.copy_from_slice(nic.as_bytes());
    let socket = socket()?;
    // SAFETY: the request lives through the call and the caller answers for what it points at.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Any socket will do: the requests are not about it.
fn socket() -> Result<&'static OwnedFd, Errno> {
    static SOCKET: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(socket) = SOCKET.get() {
        return Ok(socket);
    }
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    Ok(SOCKET.get_or_init(|| socket))
}

/// Memory that ends at an inaccessible page: names and counters are written by the count that the driver has at that
/// moment, which may have grown since it was asked for; then the call fails instead of writing beyond.
struct Guarded {
    start: *mut u8,
    mapped: usize,
    len: usize,
}

impl Guarded {
    fn new(len: usize) -> Result<Self, Errno> {
        let page = rustix::param::page_size();
        let usable = len.next_multiple_of(page);
        let mapped = usable + page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(last_errno());
        }
        let region = Self { start: start.cast(), mapped, len };
        // SAFETY: the first `usable` bytes of that mapping.
        let opened = unsafe { libc::mprotect(start, usable, libc::PROT_READ | libc::PROT_WRITE) };
        if opened < 0 { Err(last_errno()) } else { Ok(region) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, readable, zeroed or written by the kernel, and borrowed from self.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    fn put(&mut self, at: usize, value: u32) {
        // SAFETY: mapped, writable and borrowed mutably from self.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start, self.len) };
        if let Some(cell) = bytes.get_mut(at..at + 4) {
            cell.copy_from_slice(&value.to_ne_bytes());
        }
    }

    fn call(&mut self, nic: &str) -> Result<(), Errno> {
        // SAFETY: what the kernel writes beyond this memory hits the inaccessible page and fails the call.
        unsafe { ioctl(nic, self.start.cast()) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nothing borrows any more.
        unsafe { libc::munmap(self.start.cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, set_channels, set_indirection, set_rings};
    use rustix::io::Errno;
    use topotop_model::Reason;

    #[test]
    fn unknown_interfaces_are_not_set() {
        for nic in ["no-such-nic", "a-name-that-is-too-long", ""] {
            assert_eq!(set_channels(nic, Counts::default()), Err(Errno::NODEV), "{nic}");
            assert_eq!(set_rings(nic, Counts::default()), Err(Errno::NODEV), "{nic}");
            assert_eq!(set_indirection(nic, &[]), Err(Errno::NODEV), "{nic}");
        }
    }

    #[test]
    fn unknown_interfaces_are_errors() {
        assert!(super::driver("nothing-there").is_err());
        assert_eq!(super::channels("a-name-that-is-too-long"), Err(Reason::Vanished));
        assert!(super::statistics("lo").is_err());
        assert!(super::indirection("lo").is_err());
    }

    #[test]
    fn guarded_memory_is_as_long_as_asked() {
        let mut region = super::Guarded::new(5000).unwrap_or_else(|_| panic!("no memory"));
        region.put(4996, 7);
        assert_eq!(super::word(region.bytes(), 4996), 7);
        assert_eq!(region.bytes().len(), 5000);
    }
}
