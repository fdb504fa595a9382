//! A disk that serves twenty requests a second or a few more, and who waits for it.

use crate::scenario::{APPLY, Apply, Expected, FINDING, Finding, KEYS, Keys, PLAIN, Refuse, Rights, Scenario, Step};

/// Two services that want every write on the disk.
pub(super) const TWO_WRITERS: Finding = Finding {
    rule: "IO-02",
    subject: "disk:vd",
    texts: &[("writers", "/queue "), ("writers", "/search "), ("mounts", "/slow")],
    groups: &["IO-01"],
    beside: &["IO-03", "IO-04"],
    ..FINDING
};

const WEIGHT: &str = "IO-02/disk%3Avdd/F-IOWEIGHT";
const SEARCH: &str = "--set group=/search";

/// A weight in a group.
const WEIGHED: Apply = Apply { id: WEIGHT, options: SEARCH, state: "group_state search", ..APPLY };

/// F-IOMAX is refused below its floor, F-IOWEIGHT where nothing honours it.
const REFUSED: Refuse =
    Refuse { name: "", id: "", options: "", rights: Rights::Root, state: "group_state search", says: &[] };

pub(super) const SHARED: Scenario = Scenario {
    name: "shared-disk",
    proves: "IO-02 names two writers of one disk; F-IOMAX, F-IONICE and F-IOWEIGHT (BFQ, cost controller) hold one back and release it",
    seconds: 230,
    inject: "slow_disk; group queue; group search
        in_group queue /test/tool sync /slow/queue; in_group search /test/tool sync /slow/search; sleep 3",
    clean: "stop; no_slow_disk; no_group queue search",
    expected: Expected::Finding(TWO_WRITERS),
    steps: &[
        // Loads the scheduler first: its control files appear in the groups.
        Step::Shell("slow_disk_by bfq; slow_disk_by none"),
        Step::Keys(Keys {
            rule: "IO-02",
            fix: "F-IOMAX",
            set: "group=/search iops=2",
            state: "group_state search",
            journal: &["wiops=2"],
            ..KEYS
        }),
        Step::Refuse(Refuse { name: "floor", id: "IO-02/disk%3Avdd/F-IOMAX", says: &["100 writes/s"], ..REFUSED }),
        Step::Apply(Apply {
            name: "iomax",
            id: "IO-02/disk%3Avdd/F-IOMAX",
            options: "--set group=/search --set iops=2",
            state: "group_state search",
            sets: &["wiops=2"],
            ..APPLY
        }),
        Step::Refuse(Refuse { name: "unhonoured", id: WEIGHT, options: SEARCH, says: &["none"], ..REFUSED }),
        Step::Shell("slow_disk_by mq-deadline"),
        Step::Apply(Apply {
            name: "ionice",
            id: "IO-02/disk%3Avdd/F-IONICE",
            options: SEARCH,
            state: "priorities search",
            sets: &["idle"],
            ..APPLY
        }),
        Step::Shell("slow_disk_by bfq"),
        Step::Refuse(Refuse {
            name: "nobody",
            id: WEIGHT,
            options: SEARCH,
            rights: Rights::Nobody,
            says: &["root"],
            ..REFUSED
        }),
        Step::Apply(Apply { name: "bfq", sets: &["io.bfq.weight default 50"], ..WEIGHED }),
        Step::Shell("slow_disk_by none; slow_disk_cost 1"),
        Step::Apply(Apply { name: "cost", sets: &["io.weight default 50"], ..WEIGHED }),
        Step::Shell("slow_disk_cost 0"),
    ],
    ..PLAIN
};

pub(super) const SHARED_BUSY: Scenario = Scenario {
    name: "shared-disk-busy-cpus",
    proves: "IO-02 finds the same while every CPU is busy, so that no CPU ever waits idle for a disk",
    seconds: 40,
    inject: "slow_disk; group queue; group search
        in_group queue /test/tool sync /slow/queue; in_group search /test/tool sync /slow/search
        bg nice /test/tool burn 7; sleep 3",
    steps: &[],
    ..SHARED
};

pub(super) const THROTTLED: Scenario = Scenario {
    name: "io-limit",
    proves: "IO-08 finds a program that its group's I/O limit holds back; F-IORAISE raises and restores it",
    seconds: 60,
    inject: "data; group job \"io.max=$(cat /sys/block/vdc/dev) wbps=2000000\"
        in_group job bash -c 'while :; do dd if=/dev/zero of=/data/throttled bs=256k count=64 conv=notrunc oflag=direct status=none; done'; sleep 3",
    clean: "stop; no_group job; no_data",
    expected: Expected::Finding(Finding {
        rule: "IO-08",
        subject: "cgroup:/job",
        texts: &[("disk", "vdc"), ("throttled_io", "writes")],
        numbers: &[("limit", 2e6, 2e6), ("wait", 0.5, 1.0)],
        beside: &["IO-03"],
        ..FINDING
    }),
    steps: &[Step::Apply(Apply {
        id: "IO-08/cgroup%3A%2Fjob/F-IORAISE",
        options: "--set bps=8M",
        state: "group_state job",
        sets: &["wbps=8388608"],
        ..APPLY
    })],
    ..PLAIN
};
