//! The files below `topotop/` in a captured tree that hold what the kernel answered, written and read here.

use super::{Channels, Driver, Live, Space};
use crate::parse::{fields, lines, number, text, whole_lines};
use std::fmt::Write as _;
use std::path::PathBuf;
use topotop_model::tables::{disks::Mounts, nics::Nics};
use topotop_model::{Reason, Table};

/// Where the shapers of interfaces are.
pub(super) const SHAPERS: &str = "topotop/qdiscs";
/// Where programs at interfaces are.
pub(super) const PROGRAMS: &str = "topotop/xdp";

/// Where a file of an interface is.
pub(super) fn nic_path(nic: &str, kind: &str) -> String {
    format!("topotop/nic/{nic}/{kind}")
}

/// Where the file of a mount point is: `/var/lib` is `topotop/space/%2Fvar%2Flib`.
pub(crate) fn space_path(mount: &str) -> String {
    let mut path = "topotop/space/".to_owned();
    for &byte in mount.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            path.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

/// A file of a captured tree.
pub(crate) type File = (PathBuf, Vec<u8>);

/// What the kernel reports about interfaces, as files.
pub(crate) fn capture_nics(live: &dyn Live, table: &Nics) -> Vec<File> {
    let mut files = Vec::new();
    let mut add = |nic: &str, kind: &str, text: Option<String>| {
        files.extend(text.map(|text| (nic_path(nic, kind).into(), text.into_bytes())));
    };
    for nic in table.rows().iter().filter_map(|slot| table.name.get(slot)) {
        let driver = live.driver(nic).ok();
        add(nic, "driver", driver.map(|Driver { driver, bus_info }| format!("{driver}\n{bus_info}\n")));
        add(nic, "channels", live.channels(nic).ok().map(|channels| print_channels(&channels)));
        add(nic, "rings", live.rings(nic).ok().map(|rings| print_channels(&rings)));
        add(nic, "indirection", live.indirection(nic).ok().map(|table| print_indirection(&table)));
        let statistics = live.statistics(nic).ok();
        add(nic, "statistics", statistics.map(|list| print_statistics(&list)));
    }
    let shapers = live.shapers().unwrap_or_default();
    if !shapers.is_empty() {
        files.push((SHAPERS.into(), crate::sys::qdisc::print(&shapers).into_bytes()));
    }
    let programs = live.programs().unwrap_or_default();
    if !programs.is_empty() {
        files.push((PROGRAMS.into(), crate::sys::xdp::print(&programs).into_bytes()));
    }
    files
}

/// What the kernel reports about mounted file systems: contents of files by mount point.
pub(crate) fn capture_space(live: &dyn Live, table: &Mounts) -> Vec<(String, Vec<u8>)> {
    let mounts = table.rows().iter().filter_map(|slot| table.path.get(slot));
    mounts
        .filter_map(|mount| {
            let space = live.space(mount).ok()?;
            let Space { total_bytes, free_bytes, inodes_total, inodes_free, used_bytes } = space;
            let used = used_bytes.map(|used| format!(" {used}")).unwrap_or_default();
            let text = format!("{total_bytes} {free_bytes} {inodes_total} {inodes_free}{used}\n");
            Some((String::from(&**mount), text.into_bytes()))
        })
        .collect()
}

pub(super) fn print_channels(channels: &Channels) -> String {
    let Channels { rx, tx, other, combined } = channels;
    let line = |name: &str, pair: &(u32, u32)| format!("{name} {} {}\n", pair.0, pair.1);
    [line("rx", rx), line("tx", tx), line("other", other), line("combined", combined)].concat()
}

pub(super) fn parse_channels(bytes: &[u8]) -> Result<Channels, Reason> {
    let mut channels = Channels::default();
    let mut left = 4;
    for line in lines(whole_lines(bytes).0) {
        let mut parts = fields(line);
        let cell = match parts.next() {
            Some(b"rx") => &mut channels.rx,
            Some(b"tx") => &mut channels.tx,
            Some(b"other") => &mut channels.other,
            Some(b"combined") => &mut channels.combined,
            _ => return Err(Reason::Malformed),
        };
        let mut value = || parts.next().and_then(number).and_then(|value| u32::try_from(value).ok());
        *cell = value().zip(value()).ok_or(Reason::Malformed)?;
        left -= 1;
    }
    if left == 0 { Ok(channels) } else { Err(Reason::Malformed) }
}

/// The queues in one line, as the table has them.
fn print_indirection(table: &[u32]) -> String {
    let queues: Vec<String> = table.iter().map(ToString::to_string).collect();
    queues.join(" ") + "\n"
}

pub(super) fn parse_indirection(bytes: &[u8]) -> Result<Vec<u32>, Reason> {
    let (whole, cut) = whole_lines(bytes);
    let queue = |field: &[u8]| number(field).and_then(|queue| u32::try_from(queue).ok());
    let table: Option<Vec<u32>> = lines(whole).flat_map(fields).map(queue).collect();
    table.filter(|table| !cut && !table.is_empty()).ok_or(Reason::Malformed)
}

pub(super) fn parse_driver(bytes: &[u8]) -> Result<Driver, Reason> {
    let (whole, cut) = whole_lines(bytes);
    let mut lines = whole.split(|&byte| byte == b'\n');
    match (lines.next(), lines.next()) {
        (Some(driver), Some(bus)) if !cut && !driver.is_empty() => {
            Ok(Driver { driver: text(driver).into_owned(), bus_info: text(bus).into_owned() })
        }
        _ => Err(Reason::Malformed),
    }
}

fn print_statistics(list: &[(String, u64)]) -> String {
    let mut out = String::new();
    for (name, value) in list {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{value} {name}");
    }
    out
}

pub(super) fn parse_statistics(bytes: &[u8]) -> Vec<(String, u64)> {
    let pair = |line: &[u8]| {
        let at = line.iter().position(|&byte| byte == b' ')?;
        let (value, name) = line.split_at_checked(at)?;
        Some((text(name.get(1..)?).into_owned(), number(value)?))
    };
    lines(whole_lines(bytes).0).filter_map(pair).collect()
}

pub(super) fn parse_space(bytes: &[u8]) -> Result<Space, Reason> {
    let line = whole_lines(bytes).0.trim_ascii_end();
    let values: Option<Vec<u64>> = fields(line).map(number).collect();
    match values.as_deref() {
        Some(&[total_bytes, free_bytes, inodes_total, inodes_free, ref used @ ..]) if used.len() <= 1 => {
            Ok(Space { total_bytes, free_bytes, inodes_total, inodes_free, used_bytes: used.first().copied() })
        }
        _ => Err(Reason::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        parse_channels, parse_driver, parse_indirection, parse_space, parse_statistics, print_channels,
        print_indirection, space_path,
    };
    use crate::live::Channels;
    use proptest::prelude::*;

    #[test]
    fn reads_what_it_writes() {
        let channels = Channels { rx: (0, 0), tx: (1, 2), other: (1, 1), combined: (4, 8) };
        assert_eq!(parse_channels(print_channels(&channels).as_bytes()), Ok(channels));
        assert!(parse_channels(b"rx 1 2\n").is_err(), "three kinds are lacking");
        assert_eq!(parse_driver(b"ixgbe\n0000:3b:00.0\n").map(|driver| driver.bus_info).as_deref(), Ok("0000:3b:00.0"));
        assert_eq!(parse_statistics(b"12 rx queue 0 packets\n7 cut"), [("rx queue 0 packets".to_owned(), 12)]);
        assert_eq!(parse_indirection(print_indirection(&[0, 1, 0]).as_bytes()), Ok(vec![0, 1, 0]));
        assert!(parse_indirection(b"0 1 2").is_err() && parse_indirection(b"0 x\n").is_err());
        assert_eq!(parse_space(b"100 40 9 3\n").map(|space| space.free_bytes), Ok(40));
        assert_eq!(parse_space(b"100 40 9 3 50\n").map(|space| space.used_bytes), Ok(Some(50)));
        assert!(parse_space(b"100 40 9 3").is_err() && parse_space(b"100 40 9 3 5 6\n").is_err());
        assert_eq!(space_path("/a b/../c"), "topotop/space/%2Fa%20b%2F..%2Fc");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (parse_channels(&bytes), parse_driver(&bytes), parse_statistics(&bytes), parse_space(&bytes));
            let _ = parse_indirection(&bytes);
        }
    }
}
