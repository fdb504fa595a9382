//! Memory of the machine from `/proc/meminfo` and `/proc/vmstat`.

use crate::files::read;
use crate::pick::{Form, Picked};
use crate::root::Kept;
use crate::{CALM_NS, Collector, Cx};
use topotop_model::tables::memory::Memory;
use topotop_model::{Draft, Reason, State, Table};

/// Reads `/proc/meminfo` and `/proc/vmstat`.
#[derive(Debug, Default)]
pub(crate) struct MemoryCollector {
    meminfo: Option<Kept>,
    vmstat: Option<Kept>,
}

/// How many keys are picked from each file.
const MEMINFO: usize = 21;
const VMSTAT: usize = 23;

impl Collector for MemoryCollector {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn calm_period_ns(&self) -> u64 {
        CALM_NS
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.memory.begin(cx.now_ns);
        let slot = draft.memory.data_mut().only();
        let known_page = draft.host.data().first().and_then(|row| draft.host.data().page_bytes.value(row));
        let meminfo = read(&mut self.meminfo, "proc/meminfo", cx).map(|()| meminfo(cx.buf));
        let vmstat = read(&mut self.vmstat, "proc/vmstat", cx).map(|()| vmstat(cx.buf));
        if meminfo.is_err() && vmstat.is_err() {
            draft.memory.state = State::Missing;
        }
        let free = meminfo.as_ref().ok().and_then(|picked| picked.get(FREE_BYTES));
        let pages = vmstat.as_ref().ok().and_then(|picked| picked.get(FREE_PAGES));
        let page_bytes = known_page.or_else(|| page_size(free?, pages?));
        let gaps = &mut draft.memory.gaps;
        for (path, outcome) in [("proc/meminfo", meminfo.as_ref().map(bad)), ("proc/vmstat", vmstat.as_ref().map(bad))]
        {
            match outcome {
                Ok(0) => {}
                Ok(bad) => gaps.add_many(path, Reason::Malformed, "", bad),
                Err(&reason) => gaps.add(path, reason, ""),
            }
        }
        if meminfo.as_ref().is_ok_and(|picked| picked.bad == 0 && picked.get(AVAILABLE_BYTES).is_none()) {
            gaps.add("proc/meminfo MemAvailable", Reason::NotFound, "Linux 3.14");
        }
        let table = draft.memory.data_mut();
        table.page_bytes.set_or_clear(slot, page_bytes);
        put_meminfo(&meminfo.unwrap_or_else(|_| self::meminfo(b"")), table, slot);
        put_vmstat(&vmstat.unwrap_or_else(|_| self::vmstat(b"")), table, slot, page_bytes);
    }
}

fn bad<const N: usize>(picked: &Picked<N>) -> u64 {
    picked.bad
}

const FREE_BYTES: usize = 1;
const AVAILABLE_BYTES: usize = 2;

fn meminfo(bytes: &[u8]) -> Picked<MEMINFO> {
    Picked::new(bytes, |key| {
        let index = match key {
            b"MemTotal" => 0,
            b"MemFree" => FREE_BYTES,
            b"MemAvailable" => AVAILABLE_BYTES,
            b"Buffers" => 3,
            b"Cached" => 4,
            b"AnonPages" => 5,
            b"Shmem" => 6,
            b"SReclaimable" => 7,
            b"SUnreclaim" => 8,
            b"Dirty" => 9,
            b"Writeback" => 10,
            b"Unevictable" => 11,
            b"SwapTotal" => 12,
            b"SwapFree" => 13,
            b"Inactive(file)" => 14,
            b"PageTables" => 15,
            b"Hugepagesize" => 16,
            b"Zswap" => 19,
            b"Zswapped" => 20,
            b"HugePages_Total" => return Some((17, Form::Plain)),
            b"HugePages_Free" => return Some((18, Form::Plain)),
            _ => return None,
        };
        Some((index, Form::Kilobytes))
    })
}

fn put_meminfo(picked: &Picked<MEMINFO>, table: &mut Memory, slot: usize) {
    let columns = [
        &mut table.total_bytes,
        &mut table.free_bytes,
        &mut table.available_bytes,
        &mut table.buffers_bytes,
        &mut table.cached_bytes,
        &mut table.anon_bytes,
        &mut table.shmem_bytes,
        &mut table.slab_reclaimable_bytes,
        &mut table.slab_unreclaimable_bytes,
        &mut table.dirty_bytes,
        &mut table.writeback_bytes,
        &mut table.unevictable_bytes,
        &mut table.swap_total_bytes,
        &mut table.swap_free_bytes,
        &mut table.inactive_file_bytes,
        &mut table.page_tables_bytes,
        &mut table.huge_page_bytes,
        &mut table.huge_pages_total,
        &mut table.huge_pages_free,
        &mut table.zswap_bytes,
        &mut table.zswapped_bytes,
    ];
    for (index, column) in columns.into_iter().enumerate() {
        column.set_or_clear(slot, picked.get(index));
    }
}

const DIRTY_THRESHOLD: usize = 17;
const BACKGROUND_THRESHOLD: usize = 18;
const FREE_PAGES: usize = 19;
/// Pages into zswap, out of it, and from it to the swap device.
const ZSWAP: [usize; 3] = [20, 21, 22];

/// Counters by zone (`allocstall_normal`, before Linux 4.8 `pgscan_direct_dma32`) are added up.
fn vmstat(bytes: &[u8]) -> Picked<VMSTAT> {
    Picked::new(bytes, |key| {
        let index = match key {
            b"pgscan_direct_throttle" => return None,
            b"allocstall" => 0,
            b"pgscan_kswapd" => 1,
            b"pgscan_direct" => 2,
            b"pgsteal_kswapd" => 3,
            b"pgsteal_direct" => 4,
            b"pswpin" => 5,
            b"pswpout" => 6,
            b"pgmajfault" => 7,
            b"oom_kill" => 8,
            // One number for file pages alone before Linux 5.9.
            b"workingset_refault_file" | b"workingset_refault" => 9,
            b"numa_hint_faults" => 10,
            b"numa_hint_faults_local" => 11,
            b"numa_pages_migrated" => 12,
            b"pgmigrate_success" => 13,
            b"zone_reclaim_success" => 14,
            b"zone_reclaim_failed" => 15,
            b"compact_stall" => 16,
            b"nr_dirty_threshold" => DIRTY_THRESHOLD,
            b"nr_dirty_background_threshold" => BACKGROUND_THRESHOLD,
            b"nr_free_pages" => FREE_PAGES,
            b"zswpin" => ZSWAP[0],
            b"zswpout" => ZSWAP[1],
            b"zswpwb" => ZSWAP[2],
            key => return zone_part(key).map(|index| (index, Form::Part)),
        };
        Some((index, Form::Plain))
    })
}

fn zone_part(key: &[u8]) -> Option<usize> {
    let sums: [&[u8]; 5] =
        [b"allocstall_", b"pgscan_kswapd_", b"pgscan_direct_", b"pgsteal_kswapd_", b"pgsteal_direct_"];
    sums.iter().position(|prefix| key.starts_with(prefix))
}

fn put_vmstat(picked: &Picked<VMSTAT>, table: &mut Memory, slot: usize, page_bytes: Option<u64>) {
    let columns = [
        &mut table.allocstall,
        &mut table.pgscan_kswapd,
        &mut table.pgscan_direct,
        &mut table.pgsteal_kswapd,
        &mut table.pgsteal_direct,
        &mut table.pswpin,
        &mut table.pswpout,
        &mut table.pgmajfault,
        &mut table.oom_kill,
        &mut table.workingset_refault_file,
        &mut table.numa_hint_faults,
        &mut table.numa_hint_faults_local,
        &mut table.numa_pages_migrated,
        &mut table.pgmigrate_success,
        &mut table.zone_reclaim_success,
        &mut table.zone_reclaim_failed,
        &mut table.compact_stall,
    ];
    for (index, column) in columns.into_iter().enumerate() {
        column.set_or_clear(slot, picked.get(index));
    }
    for (column, index) in [&mut table.zswpin, &mut table.zswpout, &mut table.zswpwb].into_iter().zip(ZSWAP) {
        column.set_or_clear(slot, picked.get(index));
    }
    let bytes = |index| picked.get(index)?.checked_mul(page_bytes?);
    table.dirty_threshold_bytes.set_or_clear(slot, bytes(DIRTY_THRESHOLD));
    table.dirty_background_threshold_bytes.set_or_clear(slot, bytes(BACKGROUND_THRESHOLD));
}

/// The page size behind a number of pages and of bytes that were read one after the other: the nearest size that
/// Linux has.
fn page_size(free_bytes: u64, free_pages: u64) -> Option<u64> {
    let ratio = free_bytes.checked_div(free_pages)?;
    [4096, 8192, 16384, 65536].into_iter().find(|&size| ratio > size / 4 * 3 && ratio < size / 4 * 5)
}

#[cfg(test)]
mod tests {
    use super::{MEMINFO, meminfo, page_size, put_meminfo, put_vmstat, vmstat};
    use proptest::prelude::*;
    use topotop_model::Table;
    use topotop_model::tables::memory::Memory;

    fn parsed(meminfo_text: &[u8], vmstat_text: &[u8], page: Option<u64>) -> Memory {
        let mut table = Memory::default();
        let slot = table.only();
        put_meminfo(&meminfo(meminfo_text), &mut table, slot);
        put_vmstat(&vmstat(vmstat_text), &mut table, slot, page);
        table
    }

    #[test]
    fn takes_what_recent_kernels_print() {
        let table = parsed(
            b"MemTotal:  100 kB\nMemFree:  50 kB\nMemAvailable:  60 kB\nInactive(file):  7 kB\nHugePages_Total:  3\n\
              Hugepagesize:  2048 kB\nZswap:  3 kB\nZswapped:  9 kB\nWritebackTmp:  9 kB\nSwapTotal:  0 kB\n",
            b"nr_free_pages 12\nallocstall_dma 1\nallocstall_normal 2\npgscan_direct 5\npgscan_direct_throttle 99\n\
              nr_dirty_threshold 4\noom_kill 2\nzswpin 31\nzswpout 32\nzswpwb 1\n",
            Some(4096),
        );
        assert_eq!(table.total_bytes.value(0), Some(102_400));
        assert_eq!(table.inactive_file_bytes.value(0), Some(7168));
        assert_eq!(table.huge_pages_total.value(0), Some(3));
        assert_eq!(table.huge_page_bytes.value(0), Some(2 << 20));
        assert_eq!(table.swap_total_bytes.value(0), Some(0));
        assert!(table.writeback_bytes.get(0).is_missing());
        assert_eq!(table.allocstall.value(0), Some(3));
        assert_eq!(table.pgscan_direct.value(0), Some(5));
        assert_eq!(table.dirty_threshold_bytes.value(0), Some(16384));
        assert_eq!(table.oom_kill.value(0), Some(2));
        assert_eq!((table.zswap_bytes.value(0), table.zswapped_bytes.value(0)), (Some(3072), Some(9216)));
        assert_eq!(
            [&table.zswpin, &table.zswpout, &table.zswpwb].map(|pages| pages.value(0)),
            [Some(31), Some(32), Some(1)]
        );
    }

    #[test]
    fn takes_what_old_kernels_print() {
        let table = parsed(
            b"        total:    used:    free:\nMem:  1 2 3\nMemTotal:  4 kB\n",
            b"pgscan_kswapd_dma 1\npgscan_kswapd_normal 2\nallocstall 7\nworkingset_refault 8\n",
            None,
        );
        assert_eq!(table.total_bytes.value(0), Some(4096));
        assert_eq!(table.pgscan_kswapd.value(0), Some(3));
        assert_eq!(table.allocstall.value(0), Some(7));
        assert_eq!(table.workingset_refault_file.value(0), Some(8));
        assert!(table.dirty_threshold_bytes.get(0).is_missing());
    }

    #[test]
    fn finds_the_page_size() {
        assert_eq!(page_size(1_000 * 4096 + 8192, 1_000), Some(4096));
        assert_eq!(page_size(1_000 * 65536, 1_001), Some(65536));
        assert_eq!(page_size(0, 0), None);
        assert_eq!(page_size(1, 1_000), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(one: Vec<u8>, other: Vec<u8>, page in any::<Option<u64>>()) {
            parsed(&one, &other, page);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..70) {
            let whole = b"MemTotal:  1234567 kB\nMemFree:   234567 kB\nCached:    34567 kB\n";
            let picked = meminfo(&whole[..cut.min(whole.len())]);
            for (index, value) in [(0, 1_234_567), (1, 234_567), (4, 34567)] {
                prop_assert!(picked.get(index).is_none_or(|bytes| bytes == value * 1024));
            }
            prop_assert!((5..MEMINFO).all(|index| picked.get(index).is_none()));
        }
    }
}
