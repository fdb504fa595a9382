//! The worker's side: facts that do not change, and those that take rtnl.

use super::place::{Found, Place, find, place};
use super::queues::{self, Queue};
use super::statistics::{self, Statistics};
use crate::Root;
use crate::files::{Files, note, parse_list};
use crate::live::{Channels, Live, Qdisc, Xdp};
use crate::parse::{number, signed, text};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::sync::Arc;
use topotop_model::{Gaps, IdSet, Known, Reason};

/// What to read.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Everything, of every interface: those of sysfs and these, which /proc/net/dev has.
    Everything(Vec<String>),
    /// The drivers' own counters of these, and shapers where there are any.
    Counters(Vec<String>, bool),
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// When the drivers' counters were read (CLOCK_MONOTONIC).
    pub(super) at_ns: u64,
    /// Processor time that it took.
    pub(super) spent_ns: u64,
    /// Everything about every interface; none when only counters were requested.
    pub(super) nics: Option<Vec<Nic>>,
    /// The drivers' counters by interface.
    pub(super) statistics: Vec<(String, Statistics)>,
    /// What shapes interfaces; none where it was not requested or the kernel does not tell.
    pub(super) shapers: Option<Vec<Qdisc>>,
    /// Programs at interfaces; none where they were not requested or the kernel does not tell.
    pub(super) programs: Option<Vec<Xdp>>,
    /// What could not be read, when everything was requested.
    pub(super) gaps: Gaps,
}

/// An interface, without its counters.
#[derive(Debug, Default)]
pub(super) struct Nic {
    pub(super) name: String,
    pub(super) ifindex: Option<u64>,
    pub(super) kind: &'static str,
    pub(super) driver: Option<String>,
    pub(super) bus_info: Option<String>,
    pub(super) node: Known<u64>,
    pub(super) carrier: Known<u64>,
    pub(super) speed: Known<u64>,
    pub(super) lower: Option<String>,
    pub(super) master: Option<String>,
    pub(super) channels: Known<Channels>,
    pub(super) rings: Known<Channels>,
    /// Entries of the RSS indirection table by queue.
    pub(super) indirection: Option<BTreeMap<u32, u64>>,
    pub(super) local_cpus: Option<IdSet>,
    pub(super) mtu: Option<u64>,
    pub(super) operstate: Option<String>,
    pub(super) address: Option<String>,
    pub(super) pci: Option<String>,
    pub(super) virtio: Option<String>,
    pub(super) msi_irqs: Option<IdSet>,
    pub(super) vfs: Option<u64>,
    pub(super) port: Option<String>,
    pub(super) queues: Vec<Queue>,
    /// Counters of sysfs in the order of /proc/net/dev, for where that cannot be read.
    pub(super) counters: Option<[Option<u64>; super::dev::COLUMNS]>,
}

/// Answers jobs.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) root: Arc<Root>,
    pub(super) live: Arc<dyn Live>,
    pub(super) buf: Vec<u8>,
}

impl Asker {
    /// Does a job.
    pub(super) fn answer(&mut self, job: Job) -> Answer {
        let started = clock_gettime(ClockId::ThreadCPUTime);
        let mut answer = Answer { at_ns: self.root.monotonic_ns(), ..Answer::default() };
        let names = match job {
            Job::Counters(names, shaped) => {
                answer.shapers = shaped.then(|| self.live.shapers().ok()).flatten();
                names
            }
            Job::Everything(names) => {
                answer.shapers = self.live.shapers().ok();
                answer.programs = self.live.programs().ok();
                let nics = self.everything(names, &mut answer.gaps);
                let names = nics.iter().filter(|nic| counts(nic)).map(|nic| nic.name.clone()).collect();
                answer.nics = Some(nics);
                names
            }
        };
        for name in names {
            if let Ok(list) = self.live.statistics(&name) {
                answer.statistics.push((name, statistics::sort(&list)));
            }
        }
        answer.spent_ns = nanoseconds(clock_gettime(ClockId::ThreadCPUTime) - started);
        answer
    }

    fn everything(&mut self, names: Vec<String>, gaps: &mut Gaps) -> Vec<Nic> {
        let found = find(&self.root);
        if let Err(reason) = found {
            gaps.add("sys/class/net", reason, "");
        }
        let found = found.unwrap_or_default();
        let alone: Vec<String> =
            names.into_iter().filter(|name| !found.iter().any(|found| found.name == *name)).collect();
        let mut nics: Vec<Nic> = found.into_iter().map(|found| self.nic(found, gaps)).collect();
        nics.extend(alone.into_iter().map(|name| Nic {
            kind: if name == "lo" { "loopback" } else { "" },
            name,
            ..Nic::default()
        }));
        nics
    }

    fn nic(&mut self, found: Found, gaps: &mut Gaps) -> Nic {
        let Found { name, dir } = found;
        let place = place(&self.root, &dir);
        let mut nic = Nic { name, pci: place.pci.clone(), virtio: place.virtio.clone(), ..Nic::default() };
        let mut files = Files::over(&self.root, &mut self.buf);
        link_level(&mut files, &dir, &mut nic, gaps);
        nic.kind = kind(&mut files, &dir, &nic.name, &place);
        device_level(&mut files, &dir, &place, &mut nic, gaps);
        nic.queues = queues::read(&mut files, &dir, gaps);
        if nic.kind != "loopback" {
            self.driver(&mut nic, gaps);
        }
        nic
    }

    /// What the driver answers.
    fn driver(&self, nic: &mut Nic, gaps: &mut Gaps) {
        match self.live.driver(&nic.name) {
            Ok(driver) => (nic.driver, nic.bus_info) = (Some(driver.driver), Some(driver.bus_info)),
            Err(reason) if nic.driver.is_none() => missing(gaps, nic, "ETHTOOL_GDRVINFO", reason),
            Err(_) => {}
        }
        nic.bus_info = nic.bus_info.take().or_else(|| nic.pci.clone());
        let answers =
            [("ETHTOOL_GCHANNELS", self.live.channels(&nic.name)), ("ETHTOOL_GRINGPARAM", self.live.rings(&nic.name))];
        let [channels, rings] = answers.map(|(pattern, answer)| match answer {
            Ok(channels) => Known::Value(channels),
            Err(Reason::NotSupported) => Known::None,
            Err(reason) => {
                missing(gaps, nic, pattern, reason);
                Known::Missing
            }
        });
        (nic.channels, nic.rings) = (channels, rings);
        // Many drivers have none: no gap, other than for channels.
        nic.indirection = self.live.indirection(&nic.name).ok().map(|table| {
            let mut entries = BTreeMap::new();
            for queue in table {
                *entries.entry(queue).or_default() += 1;
            }
            entries
        });
    }
}

/// A driver's silence matters for interfaces with hardware behind them.
fn missing(gaps: &mut Gaps, nic: &Nic, pattern: &str, reason: Reason) {
    if nic.kind == "physical" && reason != Reason::Vanished {
        gaps.add(
            pattern,
            reason,
            if reason == Reason::NotFound { topotop_model::locale::needs::CAPTURE.english() } else { "" },
        );
    }
}

/// Only drivers of hardware count by queue.
fn counts(nic: &Nic) -> bool {
    nic.kind == "physical"
}

fn kind(files: &mut Files<'_>, dir: &str, name: &str, place: &Place) -> &'static str {
    /// ARPHRD_LOOPBACK
    const LOOPBACK: u64 = 772;
    let loopback = files.bytes(&format!("{dir}/type")).ok().and_then(number) == Some(LOOPBACK) || name == "lo";
    match place.is_virtual {
        _ if loopback => "loopback",
        Some(true) => "virtual",
        Some(false) => "physical",
        None if files.root.exists(format!("{dir}/device")) => "physical",
        None => "",
    }
}

fn link_level(files: &mut Files<'_>, dir: &str, nic: &mut Nic, gaps: &mut Gaps) {
    let word = |files: &mut Files<'_>, file: &str| {
        files.bytes(&format!("{dir}/{file}")).ok().filter(|bytes| !bytes.is_empty()).map(|b| text(b).into_owned())
    };
    nic.ifindex =
        files.number(&format!("{dir}/ifindex"), "sys/class/net/*/ifindex", gaps).filter(|&id| id <= MAX_INDEX);
    nic.mtu = files.number(&format!("{dir}/mtu"), "sys/class/net/*/mtu", gaps);
    nic.operstate = word(files, "operstate");
    nic.address = word(files, "address");
    // Most interfaces have no name of a port: the file answers EOPNOTSUPP.
    nic.port = Some(word(files, "phys_port_name").unwrap_or_default());
    nic.carrier = asked(files, &format!("{dir}/carrier"), "sys/class/net/*/carrier", gaps, |value| {
        matches!(value, 0 | 1).then_some(Known::Value(value as u64))
    });
    nic.speed = asked(files, &format!("{dir}/speed"), "sys/class/net/*/speed", gaps, |value| {
        // -1, also as an unsigned number, means that the driver does not know.
        Some(if value > 0 && value < i64::from(u32::MAX) { Known::Value(value as u64) } else { Known::None })
    });
    nic.master = match files.root.link(format!("{dir}/master")) {
        Ok(target) => target.file_name().and_then(|name| name.to_str()).map(str::to_owned),
        Err(Reason::NotFound) if nic.ifindex.is_some() => Some(String::new()),
        Err(_) => None,
    };
    let lower = files.root.names(dir).ok().map(|names| {
        let lower: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("lower_")).collect();
        lower.join(" ")
    });
    nic.lower = lower.filter(|lower| nic.ifindex.is_some() || !lower.is_empty());
    let counter =
        |files: &mut Files<'_>, file: &str| files.bytes(&format!("{dir}/statistics/{file}")).ok().and_then(number);
    if counter(files, "rx_bytes").is_some() {
        nic.counters = Some(COUNTERS.map(|names| {
            let mut values = names.split(' ').filter(|name| !name.is_empty()).map(|name| counter(files, name));
            values.try_fold(0u64, |sum, value| sum.checked_add(value?)).filter(|_| !names.is_empty())
        }));
    }
}

/// ifindex is an int.
const MAX_INDEX: u64 = i32::MAX as u64;

/// The files of `statistics` that make up each number of /proc/net/dev (dev_seq_printf_stats).
const COUNTERS: [&str; super::dev::COLUMNS] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped rx_missed_errors",
    "rx_fifo_errors",
    "",
    "",
    "",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "",
    "",
    "",
    "",
];

/// A signed number of a file that answers EINVAL while the interface is down.
fn asked(
    files: &mut Files<'_>,
    path: &str,
    pattern: &str,
    gaps: &mut Gaps,
    take: impl FnOnce(i64) -> Option<Known<u64>>,
) -> Known<u64> {
    let value = match files.bytes(path) {
        // A capture holds empty files where reading failed.
        Ok([]) => return Known::Missing,
        Ok(bytes) => signed(bytes).and_then(take),
        Err(Reason::NotSupported) => Some(Known::None),
        Err(reason) => {
            note(gaps, pattern, reason);
            return Known::Missing;
        }
    };
    if value.is_none() {
        gaps.add(pattern, Reason::Malformed, "");
    }
    value.unwrap_or_default()
}

fn device_level(files: &mut Files<'_>, dir: &str, place: &Place, nic: &mut Nic, gaps: &mut Gaps) {
    if matches!(nic.kind, "virtual" | "loopback") {
        return;
    }
    let device = place.device.clone().unwrap_or_else(|| format!("{dir}/device"));
    let name = |files: &Files<'_>, path: String| {
        let target = files.root.link(path).ok()?;
        target.file_name().map(|name| text(name.as_encoded_bytes()).into_owned())
    };
    nic.driver = name(files, format!("{dir}/device/driver")).or_else(|| name(files, format!("{device}/driver")));
    nic.bus_info = place.pci.clone().or_else(|| name(files, format!("{dir}/device")));
    nic.node = files.id(&format!("{device}/numa_node"), "sys/class/net/*/device/numa_node", gaps);
    nic.local_cpus = files.root.read(format!("{device}/local_cpulist"), files.buffer()).ok().and_then(|()| {
        let set = parse_list(files.buffer());
        if set.is_none() {
            gaps.add("sys/class/net/*/device/local_cpulist", Reason::Malformed, "");
        }
        set
    });
    // Functions that cannot have virtual ones lack the file.
    nic.vfs = files.bytes(&format!("{device}/sriov_numvfs")).ok().and_then(number);
    nic.msi_irqs = match files.root.list(format!("{device}/msi_irqs")) {
        Ok(names) => {
            let ids = names.iter().filter_map(|name| u32::try_from(number(name.as_encoded_bytes())?).ok());
            Some(IdSet::from_ids(ids))
        }
        Err(reason) => {
            note(gaps, "sys/class/net/*/device/msi_irqs", reason);
            None
        }
    };
}

fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}
