//! Synthetic trees through both collectors.

use super::{DisksCollector, MountsCollector};
use crate::live::{Captured, Live};
use crate::testing::put as write;
use crate::{Collector, Cx, Demand, Root};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use topotop_model::{Draft, Known, Reason, Table};

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let row = "1 2 3 4 5 6 7 8 9 10 11";
    write(
        at,
        "proc/diskstats",
        format!(
            "8 0 sda {row}\n8 1 sda1 {row}\n8 2 sda2 {row}\n253 0 dm-0 {row}\n7 0 loop0 {row}\n104 0 cciss/c0d0 {row}\n"
        ),
    );
    write(
        at,
        "proc/1/mountinfo",
        "20 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw\n\
        21 20 8:1 / /boot rw - ext4 /dev/sda1 rw\n22 20 253:0 /srv /srv rw - ext4 /dev/mapper/vg-root rw\n\
        23 20 0:50 / /data rw - btrfs /dev/mapper/vg-root rw\n24 20 0:51 / /net rw - nfs server:/x rw\n",
    );
    write(at, "topotop/space/%2F", "1000 400 10 4\n");
    write(at, "topotop/space/%2Fboot", "500 100 5 1\n");
    let device = "sys/devices/pci0000:00/0000:00:04.0";
    let disk = format!("{device}/virtio1/block/sda");
    write(at, format!("{device}/numa_node"), "1\n");
    write(at, format!("{disk}/size"), "100\n");
    write(at, format!("{disk}/sda1/size"), "40\n");
    write(at, format!("{disk}/queue/rotational"), "0\n");
    write(at, format!("{disk}/queue/scheduler"), "[mq-deadline] none\n");
    write(at, format!("{disk}/device/model"), "Some Disk  \n");
    write(at, "sys/devices/virtual/block/dm-0/dm/name", "vg-root\n");
    write(at, "sys/devices/virtual/block/dm-0/slaves/sda2/size", "x\n");
    write(at, "sys/devices/virtual/block/loop0/loop/backing_file", "/srv/x.img\n");
    std::fs::create_dir_all(at.join("sys/block")).expect("made");
    symlink(format!("../../{disk}"), at.join("sys/block/sda")).expect("linked");
    symlink("../devices/virtual/block/dm-0", at.join("sys/block/dm-0")).expect("linked");
    symlink("../devices/virtual/block/loop0", at.join("sys/block/loop0")).expect("linked");
    std::fs::remove_file(at.join("sys/block/sda")).expect("removed");
    symlink(format!("../../{disk}"), at.join("sys/block/sda")).expect("linked");
    dir
}

fn collect(dir: &Path) -> Draft {
    let root = Arc::new(Root::at(dir).expect("opened"));
    let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
    let demand = Demand { complete: true, ..Demand::default() };
    let (mut draft, mut buf) = (Draft::default(), Vec::new());
    let (mut disks, mut mounts) = (DisksCollector::default(), MountsCollector::default());
    let mut cx = Cx { root: &root, live: &live, now_ns: 1, demand: &demand, buf: &mut buf };
    disks.collect(&mut cx, &mut draft);
    mounts.collect(&mut cx, &mut draft);
    draft
}

#[test]
fn joins_counters_facts_and_mounts() {
    let dir = tree();
    let draft = collect(dir.path());
    let disks = draft.disks.data();
    let slot =
        |name: &str| disks.rows().iter().find(|&slot| *disks.name.or_empty(slot) == *name).expect("a row of that name");
    let text = |column: &topotop_model::Text, name| column.get(slot(name)).map(ToString::to_string);
    let kinds = ["sda", "sda1", "sda2", "dm-0", "loop0", "cciss/c0d0"].map(|name| text(&disks.kind, name));
    assert_eq!(kinds.map(Option::unwrap_or_default), ["disk", "partition", "partition", "dm", "loop", "disk"]);
    assert_eq!(text(&disks.parent, "sda2").as_deref(), Some("sda"));
    assert_eq!(text(&disks.lower, "dm-0").as_deref(), Some("sda2"));
    assert_eq!(text(&disks.lower, "loop0").as_deref(), Some("/srv/x.img"));
    assert_eq!(text(&disks.model, "sda").as_deref(), Some("Some Disk"));
    assert_eq!(text(&disks.scheduler, "sda").as_deref(), Some("mq-deadline"));
    assert_eq!(disks.node.get(slot("sda")), Known::Value(1), "of the PCI function above");
    assert_eq!(disks.node.get(slot("dm-0")), Known::None);
    assert_eq!(disks.node.get(slot("cciss/c0d0")), Known::Missing);
    assert_eq!(disks.size_bytes.value(slot("sda1")), Some(40 * 512));
    assert_eq!(disks.write_bytes.value(slot("sda")), Some(7 * 512));
    assert!(draft.disks.gaps.is_empty(), "{:?}", draft.disks.gaps);
}

#[test]
fn knows_how_full_mounts_are() {
    let dir = tree();
    let draft = collect(dir.path());
    let mounts = draft.mounts.data();
    let rows: Vec<_> = mounts
        .rows()
        .iter()
        .map(|slot| (mounts.path.or_empty(slot).to_string(), mounts.dev.value(slot), mounts.free_bytes.value(slot)))
        .collect();
    let root = Some(253 << 20);
    assert_eq!(
        rows,
        [
            ("/".to_owned(), root, Some(400)),
            ("/boot".to_owned(), Some((8 << 20) | 1), Some(100)),
            ("/srv".to_owned(), root, Some(400)),
            ("/data".to_owned(), root, Some(400)),
        ]
    );
}

#[test]
fn says_what_is_missing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let draft = collect(dir.path());
    let reasons: Vec<_> = draft.disks.gaps.iter().chain(&draft.mounts.gaps).map(|gap| gap.reason).collect();
    assert_eq!(reasons, [Reason::NotFound, Reason::NotFound]);
    assert!(draft.disks.value().is_none() && draft.mounts.value().is_none());
}

#[test]
fn a_device_that_takes_a_number_over_is_another_row() {
    let dir = tree();
    let row = "1 2 3 4 5 6 7 8 9 10 11";
    let root = Arc::new(Root::at(dir.path()).expect("opened"));
    let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
    let (demand, mut draft, mut buf) = (Demand::default(), Draft::default(), Vec::new());
    let mut disks = DisksCollector::default();
    let mut serials = Vec::new();
    for (now_ns, text) in
        [format!("8 0 sda {row}\n"), format!("8 16 sda {row}\n"), format!("8 16 sda {row}\n")].into_iter().enumerate()
    {
        std::fs::write(dir.path().join("proc/diskstats"), text).expect("written");
        let mut cx = Cx { root: &root, live: &live, now_ns: now_ns as u64 + 1, demand: &demand, buf: &mut buf };
        disks.collect(&mut cx, &mut draft);
        let table = draft.disks.data();
        assert_eq!(table.rows().len(), 1);
        serials.push(table.rows().serial(table.first().expect("a row")));
    }
    assert!(serials[0] != serials[1] && serials[1] == serials[2]);
}
