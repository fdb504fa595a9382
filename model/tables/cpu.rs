//! Where each CPU's time went.

use crate::table::table;

table! {
    /// Time by CPU since boot, in ticks of 1/100 s; iowait and idle may step back.
    CpuTimes = 20 "cpu_times" {
        /// The CPU.
        cpu: Num = 1 (Id, None, "proc/stat"),
        /// User mode, guests included.
        user: Num = 2 (Counter, Ticks, "proc/stat"),
        /// User mode with a positive nice value.
        nice: Num = 3 (Counter, Ticks, "proc/stat"),
        /// Kernel mode.
        system: Num = 4 (Counter, Ticks, "proc/stat"),
        /// Nothing to run.
        idle: Num = 5 (Counter, Ticks, "proc/stat"),
        /// Nothing to run and a task of it waits for a disk; unreliable.
        iowait: Num = 6 (Counter, Ticks, "proc/stat"),
        /// Hard interrupts.
        irq: Num = 7 (Counter, Ticks, "proc/stat"),
        /// Soft interrupts.
        softirq: Num = 8 (Counter, Ticks, "proc/stat"),
        /// Taken by the hypervisor.
        steal: Num = 9 (Counter, Ticks, "proc/stat"),
        /// Virtual CPUs; counted in user as well.
        guest: Num = 10 (Counter, Ticks, "proc/stat"),
        /// Niced virtual CPUs; counted in nice as well.
        guest_nice: Num = 11 (Counter, Ticks, "proc/stat"),
        /// Clock now.
        khz: Num = 12 (Gauge, Kilohertz, "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"),
        /// Times its core was slowed down because it was too hot, since boot; read now and then.
        throttles: Num = 13 (Counter, Count, "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count"),
        /// Times its package was slowed down because it was too hot, since boot: of the first CPU of each package.
        package_throttles: Num = 14 (Counter, Count, "sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count"),
        /// Time that its core was slowed down, since boot; the kernel adds to it when it ends (Linux 5.8).
        throttled_ms: Num = 15 (Counter, Milliseconds, "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_total_time_ms"),
        /// The same of its package: of the first CPU of each package.
        package_throttled_ms: Num = 16 (Counter, Milliseconds, "sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_total_time_ms"),
        /// Time that tasks waited in its run queue (CONFIG_SCHEDSTATS).
        run_delay_ns: Num = 20 (Counter, Nanoseconds, "proc/schedstat"),
    }
}
