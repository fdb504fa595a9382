//! What the program says of a fix that helps, on a machine that has its host to itself: `improved` in each round, with an
//! interval.

use super::memory::REFAULT;
use super::{cpu, disk, placement};
use crate::scenario::{Expected, Improves, PLAIN, Scenario, Step};

/// No samples: only the verdicts count.
const JUDGED: Scenario = Scenario { expected: Expected::Nothing, seconds: 330, ..PLAIN };

const ROUNDS: Improves = Improves { id: "", options: "", load: ":", rounds: 3 };

pub(super) const CHANNELS: Scenario = Scenario {
    name: "verdict-channels",
    proves: "F-CHAN from one channel to four is judged improved",
    inject: "ethtool -L eth0 combined 1; firewall 3000; busy_flood 60",
    clean: "no_flood; no_firewall; ethtool -L eth0 combined 4",
    network: true,
    steps: &[Step::Improves(Improves {
        id: "NIC-01/nic%3Aeth0/F-CHAN",
        options: "--set combined=4",
        load: "link_up; flood 32 $packets 180",
        ..ROUNDS
    })],
    ..JUDGED
};

pub(super) const AFFINITY: Scenario = Scenario {
    name: "verdict-affinity",
    proves: "F-AFF is judged improved where Erlang nodes share the first CPUs",
    inject: placement::ERLANG.inject,
    clean: placement::ERLANG.clean,
    steps: &[Step::Improves(Improves { id: "BEAM-01/cpu%3A0/F-AFF", ..ROUNDS })],
    ..JUDGED
};

pub(super) const PAGE_CACHE: Scenario = Scenario {
    name: "verdict-page-cache",
    proves: "F-LIMIT is judged improved for a group that reads its page cache again and again",
    inject: REFAULT.inject,
    clean: REFAULT.clean,
    steps: &[Step::Improves(Improves { id: "MEM-02/cgroup%3A%2Fweb/F-LIMIT", options: "--set limit=256M", ..ROUNDS })],
    ..JUDGED
};

pub(super) const QUOTA: Scenario = Scenario {
    name: "verdict-quota",
    proves: "F-CPUQUOTA is judged improved for a throttled group",
    inject: cpu::QUOTA.inject,
    clean: cpu::QUOTA.clean,
    steps: &[Step::Improves(Improves { id: "CPU-05/cgroup%3A%2Fjob/F-CPUQUOTA", options: "--set cores=3", ..ROUNDS })],
    ..JUDGED
};

pub(super) const WRITER: Scenario = Scenario {
    name: "verdict-shared-disk",
    proves: "F-IOMAX on one of two writers of a disk is judged improved",
    // A held writer's page of the inode table stays locked: on one file system the other one waits for it.
    inject: "slow_disk_halves; group queue; group search
        in_group queue /test/tool sync /slow/1/queue; for file in 1 2 3 4; do
            in_group search bash -c \"while :; do dd if=/dev/zero of=/slow/2/$file bs=64k count=16 conv=notrunc oflag=direct status=none; done\"
        done; sleep 3",
    clean: "stop; no_slow_disk_halves; no_group queue search",
    steps: &[Step::Improves(Improves {
        id: "IO-02/disk%3Avdd/F-IOMAX",
        options: "--set group=/search --set iops=2",
        ..ROUNDS
    })],
    ..JUDGED
};

pub(super) const LIMIT: Scenario = Scenario {
    name: "verdict-io-limit",
    proves: "F-IORAISE is judged improved for a program under its group's I/O limit",
    inject: disk::THROTTLED.inject,
    clean: disk::THROTTLED.clean,
    steps: &[Step::Improves(Improves { id: "IO-08/cgroup%3A%2Fjob/F-IORAISE", options: "--set bps=8M", ..ROUNDS })],
    ..JUDGED
};
