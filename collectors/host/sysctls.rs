//! Settings below /proc/sys, and parameters of zswap, that rules read and that a plan has to mention.

use crate::files::{Files, note};
use crate::parse::text;
use crate::rights::{self, Needs};
use crate::{Collector, Cx};
use topotop_model::{Draft, Gaps, Reason, Slots, State};

/// Their names. Many exist on some kernels only: those that are not there have no row.
const NAMES: [&str; 75] = [
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.hung_task_timeout_secs",
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "kernel.numa_balancing_promote_rate_limit_MBps",
    "kernel.perf_cpu_time_max_percent",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.sched_energy_aware",
    "kernel.sched_latency_ns",
    "kernel.sched_migration_cost_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_rt_period_us",
    "kernel.sched_rt_runtime_us",
    "kernel.sched_schedstats",
    "kernel.sched_wakeup_granularity_ns",
    "kernel.task_delayacct",
    "kernel.threads-max",
    "kernel.timer_migration",
    "kernel.yama.ptrace_scope",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.flow_limit_table_len",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "vm.cache_limit_mbytes",
    "vm.cache_reclaim_enable",
    "vm.cache_reclaim_s",
    "vm.cache_reclaim_weight",
    "vm.compaction_proactiveness",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.numa_stat",
    "vm.overcommit_memory",
    "vm.pagecache_limit_async",
    "vm.pagecache_limit_global",
    "vm.pagecache_limit_ignore_dirty",
    "vm.pagecache_limit_mb",
    "vm.pagecache_limit_ratio",
    "vm.pagecache_limit_reclaim_ratio",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.watermark_boost_factor",
    "vm.watermark_scale_factor",
    "vm.zone_reclaim_mode",
    "zswap.compressor",
    "zswap.enabled",
    "zswap.max_pool_percent",
];

/// The module whose parameters are among them.
const ZSWAP: &str = "zswap.";

/// The longest value that is kept.
const MAX_VALUE: usize = 256;

/// Reads them.
#[derive(Debug, Default)]
pub(crate) struct SysctlsCollector {
    slots: Slots<&'static str>,
}

impl Collector for SysctlsCollector {
    fn name(&self) -> &'static str {
        "sysctls"
    }

    fn period_ns(&self) -> u64 {
        30_000_000_000
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let now_ns = cx.now_ns;
        let section = &mut draft.sysctls;
        let mut files = Files::new(cx);
        let mut gaps = Gaps::default();
        let mut changed = section.state == State::NotCollected;
        let mut rows = 0;
        self.slots.begin();
        let mut path = String::new();
        for name in NAMES {
            path.clear();
            if let Some(parameter) = name.strip_prefix(ZSWAP) {
                path.push_str("sys/module/zswap/parameters/");
                path.push_str(parameter);
            } else {
                path.push_str("proc/sys/");
                path.extend(name.chars().map(|c| if c == '.' { '/' } else { c }));
            }
            match files.bytes(&path).map(value) {
                Ok(Some(value)) => {
                    let (slot, new) = self.slots.slot(section.data_mut(), &name);
                    let table = section.data_mut();
                    changed |= new || table.value.get(slot).is_none_or(|old| **old != *value);
                    table.name.set(slot, name);
                    table.value.set(slot, &value);
                    rows += 1;
                }
                Ok(None) => gaps.add(&path, Reason::Malformed, ""),
                Err(Reason::PermissionDenied) => {
                    gaps.add(&path, Reason::PermissionDenied, &rights::needs(files.root, Needs::Files));
                }
                Err(reason) => note(&mut gaps, &path, reason),
            }
        }
        self.slots.finish(section.data_mut(), |_, _| changed = true);
        if rows == 0 && gaps.is_empty() {
            gaps.add("proc/sys/*", Reason::NotFound, "");
        }
        // Settings that stayed as they were stay the same generation.
        if changed || gaps != section.gaps {
            section.begin(now_ns);
            section.gaps = gaps;
            section.state = if rows == 0 { State::Missing } else { State::Read };
        }
    }
}

/// The value with single blanks; none when it is no setting.
fn value(bytes: &[u8]) -> Option<String> {
    if bytes.len() > MAX_VALUE || bytes.contains(&b'\n') {
        return None;
    }
    Some(text(bytes).split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::{NAMES, value};
    use proptest::prelude::*;

    #[test]
    fn values_have_single_blanks() {
        assert_eq!(value(b"32768\t60999").as_deref(), Some("32768 60999"));
        assert_eq!(value(b"1\n2"), None);
        assert!(NAMES.is_sorted());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = value(&bytes);
        }
    }
}
