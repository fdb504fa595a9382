//! The lines of mountinfo and of the older mounts file, as far as they are about block devices.

use super::stats::device;
use crate::mountinfo::{Mount, unescaped};
use crate::parse::{fields, lines, whole_lines};

/// Something mounted from a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    /// The device number; none where the file system has one of its own (btrfs) or the file has none.
    pub(super) dev: Option<u64>,
    /// Where.
    pub(super) path: Vec<u8>,
    /// File system.
    pub(super) fs: Vec<u8>,
    /// What it is mounted from.
    pub(super) source: Vec<u8>,
}

/// The mounts of `/proc/PID/mountinfo`, later ones hiding earlier ones of the same place, and how many lines were
/// damaged.
pub(super) fn mountinfo(bytes: &[u8]) -> (Vec<Mounted>, u64) {
    each(bytes, |line| {
        let mount = Mount::parse(line)?;
        let (major, minor) = mount.dev;
        let dev = if major == 0 { None } else { Some(device(major, minor)?) };
        Some(Mounted { dev, path: mount.point, fs: mount.fs, source: mount.source })
    })
}

/// The mounts of `/proc/mounts`, which has no device numbers.
pub(super) fn mounts(bytes: &[u8]) -> (Vec<Mounted>, u64) {
    each(bytes, |line| {
        let mut parts = fields(line);
        let (source, path, fs) = (parts.next()?, parts.next()?, parts.next()?);
        parts.next()?;
        Some(Mounted { dev: None, path: unescaped(path), fs: unescaped(fs), source: unescaped(source) })
    })
}

fn each(bytes: &[u8], parse: impl Fn(&[u8]) -> Option<Mounted>) -> (Vec<Mounted>, u64) {
    let (bytes, cut) = whole_lines(bytes);
    let mut bad = u64::from(cut);
    let mut all: Vec<Mounted> = Vec::new();
    let mut at: std::collections::HashMap<Vec<u8>, usize> = std::collections::HashMap::new();
    for line in lines(bytes) {
        let Some(mounted) = parse(line) else {
            bad += 1;
            continue;
        };
        if let Some(hidden) = at.get(&mounted.path).and_then(|&index| all.get_mut(index)) {
            *hidden = mounted;
        } else {
            at.insert(mounted.path.clone(), all.len());
            all.push(mounted);
        }
    }
    all.retain(|mounted| mounted.dev.is_some() || mounted.source.starts_with(b"/dev/"));
    (all, bad)
}

#[cfg(test)]
mod tests {
    use super::{device, mountinfo, mounts};
    use proptest::prelude::*;

    #[test]
    fn takes_block_devices_only() {
        let text = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n\
            27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n\
            30 27 0:40 /sub /data\\040one rw master:2 propagate_from:3 - btrfs /dev/sdb2 rw\n\
            31 27 8:17 / /old rw - ext4 /dev/sdb1 rw\n32 27 8:33 / /old rw - xfs /dev/sdc1 rw\n33 x\n34 27 8:1";
        let (all, bad) = mountinfo(text);
        assert_eq!(bad, 2);
        let reported: Vec<_> =
            all.iter().map(|m| (m.dev, String::from_utf8_lossy(&m.path), String::from_utf8_lossy(&m.fs))).collect();
        assert_eq!(
            reported,
            [
                (device(254, 1), "/".into(), "ext4".into()),
                (None, "/data one".into(), "btrfs".into()),
                (device(8, 33), "/old".into(), "xfs".into()),
            ]
        );
    }

    #[test]
    fn takes_the_older_file() {
        let (all, bad) = mounts(b"rootfs / rootfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\nx\n");
        assert_eq!((all.len(), bad), (1, 1));
        assert_eq!(all.first().map(|m| m.source.as_slice()), Some(&b"/dev/sda1"[..]));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (mountinfo(&bytes), mounts(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_names(cut in 0usize..120) {
            let whole = b"27 1 254:1 / /a/b rw - ext4 /dev/root rw\n28 1 254:2 / /c/d rw - ext4 /dev/vda2 rw\n";
            for mounted in mountinfo(&whole[..cut.min(whole.len())]).0 {
                let path = mounted.path.as_slice();
                prop_assert_eq!(path, if mounted.dev == device(254, 1) { b"/a/b" } else { b"/c/d" });
            }
        }
    }
}
