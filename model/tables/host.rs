//! The machine as a whole: who it is, its load, the settings that rules read.

use crate::table::table;

table! {
    /// Who the machine is: one row.
    Host = 1 "host" {
        /// Host name.
        name: Text = 1 (Fact, None, "proc/sys/kernel/hostname"),
        /// `Linux 6.1.0-18-amd64`.
        kernel: Text = 2 (Fact, None, "proc/sys/kernel/osrelease"),
        /// Machine type as uname prints it.
        arch: Text = 3 (Fact, None, "uname"),
        /// Changes at every boot.
        boot_id: Text = 4 (Id, None, "proc/sys/kernel/random/boot_id"),
        /// Seconds since boot.
        uptime_seconds: Num = 5 (Gauge, Seconds, "proc/uptime"),
        /// 1 inside a container.
        in_container: Num = 6 (Fact, None, "proc/1/cgroup"),
        /// Distribution.
        os: Text = 7 (Fact, None, "etc/os-release"),
        /// Model name of the first CPU.
        cpu_model: Text = 8 (Fact, None, "proc/cpuinfo"),
        /// Hypervisor or `none`.
        virtualization: Text = 9 (Fact, None, "sys/class/dmi/id/sys_vendor"),
        /// Bytes of a page.
        page_bytes: Num = 10 (Fact, Bytes, "sysconf"),
        /// User sessions; none if neither logind nor utmp lists them.
        users: Num = 11 (Gauge, Count, "run/systemd/sessions"),
        /// The clock source in use: `tsc`, `hpet`, `kvm-clock`.
        clock_source: Text = 12 (Fact, None, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        /// Those that the kernel offers, with blanks between.
        clock_sources: Text = 13 (Fact, None, "sys/devices/system/clocksource/clocksource0/available_clocksource"),
    }
}

table! {
    /// Counters of the whole machine: one row.
    Load = 2 "load" {
        /// Context switches since boot.
        context_switches: Num = 1 (Counter, Count, "proc/stat"),
        /// Forks since boot.
        forks: Num = 2 (Counter, Count, "proc/stat"),
        /// Runnable tasks now.
        running: Num = 3 (Gauge, Count, "proc/stat"),
        /// Tasks in uninterruptible sleep now.
        blocked: Num = 4 (Gauge, Count, "proc/stat"),
        /// Interrupts served since boot, all kinds.
        interrupts: Num = 5 (Counter, Count, "proc/stat"),
        /// Load averages times 100 over 1 minute.
        load1: Num = 6 (Gauge, Permyriad, "proc/loadavg"),
        /// Over 5 minutes.
        load5: Num = 7 (Gauge, Permyriad, "proc/loadavg"),
        /// Over 15 minutes.
        load15: Num = 8 (Gauge, Permyriad, "proc/loadavg"),
        /// Tasks on the machine, hidden ones included.
        tasks: Num = 9 (Gauge, Count, "proc/loadavg"),
    }
}

table! {
    /// Settings that rules read, by name: `vm.zone_reclaim_mode`.
    Sysctls = 3 "sysctls" {
        /// Its name with dots.
        name: Text = 1 (Id, None, "proc/sys"),
        /// Its text, trimmed.
        value: Text = 2 (Fact, None, "proc/sys"),
    }
}
