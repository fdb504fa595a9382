//! Lines of `/proc/PID/mountinfo` (proc(5)): a line that is not as the kernel prints it costs that line only.

use crate::parse::number;
use procfs::process::MountInfo;
use std::collections::HashMap;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device number as (major, minor).
    pub(crate) dev: (u64, u64),
    /// The directory of its file system that is mounted.
    pub(crate) root: Vec<u8>,
    /// Where.
    pub(crate) point: Vec<u8>,
    /// File system.
    pub(crate) fs: Vec<u8>,
    /// What it is mounted from.
    pub(crate) source: Vec<u8>,
    options: HashMap<String, Option<String>>,
}

impl Mount {
    /// The mount of one line; none when it is damaged or not UTF-8.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let info = MountInfo::from_line(std::str::from_utf8(line).ok()?).ok()?;
        let (major, minor) = info.majmin.split_once(':')?;
        Some(Self {
            dev: (number(major.as_bytes())?, number(minor.as_bytes())?),
            root: unescaped(info.root.as_bytes()),
            point: unescaped(info.mount_point.as_os_str().as_encoded_bytes()),
            fs: unescaped(info.fs_type.as_bytes()),
            source: unescaped(info.mount_source.unwrap_or_default().as_bytes()),
            options: info.super_options,
        })
    }

    /// The names of its file system's own options.
    pub(crate) fn options(&self) -> impl Iterator<Item = &str> {
        self.options.keys().map(String::as_str)
    }
}

/// Where a line's mount is, and its file system: what a path leads through.
pub(crate) fn point_and_kind(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut fields = crate::parse::fields(line);
    let point = fields.nth(4)?;
    // A number of optional fields, then a dash.
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some((unescaped(point), kind))
}

/// A field without its octal escapes: the kernel writes blanks, tabs, newlines and backslashes as `\040`.
pub(crate) fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let code = match (byte, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { tail.get(3..).unwrap_or_default() } else { tail };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Mount, point_and_kind, unescaped};
    use proptest::prelude::*;

    #[test]
    fn takes_what_the_kernel_prints() {
        let line = b"30 27 0:40 /sub /data\\040one rw,noatime master:2 propagate_from:3 - cgroup cg rw,cpu,cpuacct";
        let mount = Mount::parse(line).expect("a mount");
        assert_eq!(
            (mount.dev, mount.root.as_slice(), mount.point.as_slice()),
            ((0, 40), &b"/sub"[..], &b"/data one"[..])
        );
        assert!(mount.options().any(|name| name == "cpuacct"));
        for damaged in [&b"33 x"[..], b"34 27 8:1", b"30 27 0:40 / / rw -", b"\xff\xfe"] {
            assert_eq!(Mount::parse(damaged), None);
            assert_eq!(point_and_kind(damaged), None);
        }
        assert_eq!(Mount::parse(b"30 27 a:b / / rw - ext4 /dev/sda rw"), None);
        assert_eq!(point_and_kind(line), Some((b"/data one".to_vec(), &b"cgroup"[..])));
        assert_eq!(unescaped(b"a\\134b\\9"), b"a\\b\\9");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (Mount::parse(&bytes), point_and_kind(&bytes));
            prop_assert!(unescaped(&bytes).len() <= bytes.len());
        }
    }
}
